import type { PersonalData } from '#lib/kernel/module.ts'
import type { RecordDeletion } from '#lib/kernel/purging.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { heldVersionDataSource } from './data-source.ts'
import { heldVersionExporters, heldVersionPersonExporters } from './exporters.ts'
import { holdsJobs } from './jobs.ts'
import { retainedHolds } from './retained-records.ts'
import { type HoldsServiceDeps, holdsService } from './service.ts'

export const holdsData = (db: Database): PersonalData => ({
  dataSources: [heldVersionDataSource(db)],
  exporters: heldVersionExporters(db),
  personExporters: heldVersionPersonExporters(db),
  retainedRecords: retainedHolds(db),
})

/** Legal holds. */
export const holdsModule = (deps: HoldsServiceDeps & { recordDeletion: RecordDeletion }) => ({
  useCases: { holds: holdsService(deps) },
  jobs: holdsJobs(deps),
})
