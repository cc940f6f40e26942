import type { RetainedRecord } from '#lib/kernel/data-source.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { adminChanges } from '#lib/stores/postgres/admin-changes.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type StoresServiceDeps, storesService } from './service.ts'

/** Who declared that a store contains no data. */
const retainedStoreRecords = (db: Database): RetainedRecord[] => [
  adminChanges(db, {
    name: 'stores.acts',
    what: 'stores that you retired',
    table: 'known_stores',
    by: ['retired_by'],
    at: 'retired_at',
  }),
]

export const storesData = (db: Database): PersonalData => ({ retainedRecords: retainedStoreRecords(db) })

/** Connected stores and their regions. */
export const storesModule = (deps: StoresServiceDeps) => ({ useCases: { residency: storesService(deps) } })
