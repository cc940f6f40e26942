import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import {
  heldVersionDataSource,
  heldVersionExporters,
  heldVersionPersonExporters,
  retainedHolds,
} from './personal-data.ts'
import { holdsJobs, holdsService } from './service.ts'

export const holdsData = (db: Database): PersonalData => ({
  dataSources: [heldVersionDataSource(db)],
  exporters: heldVersionExporters(db),
  personExporters: heldVersionPersonExporters(db),
  retainedRecords: retainedHolds(db),
})

/** Legal holds. */
export const holdsModule = (deps: Parameters<typeof holdsService>[0]) => ({
  useCases: { holds: holdsService(deps) },
  jobs: holdsJobs(),
})
