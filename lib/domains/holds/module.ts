import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import {
  heldVersionDataSource,
  heldVersionExporters,
  heldVersionPersonExporters,
  retainedHolds,
  type SealedVersionColumn,
} from './personal-data.ts'
import { holdsJobs, holdsService } from './service.ts'

export const holdsData = ({
  db,
  sealed,
}: {
  db: Database
  /** The columns of all domains whose values are stored sealed. */
  sealed: readonly SealedVersionColumn[]
}): PersonalData => ({
  dataSources: [heldVersionDataSource(db, sealed)],
  exporters: heldVersionExporters({ db, sealed }),
  personExporters: heldVersionPersonExporters({ db, sealed }),
  retainedRecords: retainedHolds(db),
})

/** Legal holds. */
export const holdsModule = (deps: Parameters<typeof holdsService>[0]) => ({
  useCases: { holds: holdsService(deps) },
  jobs: holdsJobs(),
})
