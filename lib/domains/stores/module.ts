import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { retainedStoreRecords } from './retained-records.ts'
import { type StoresServiceDeps, storesService } from './service.ts'

export const storesData = (db: Database): PersonalData => ({ retainedRecords: retainedStoreRecords(db) })

/** Connected stores and their regions. */
export const storesModule = (deps: StoresServiceDeps) => ({ useCases: { residency: storesService(deps) } })
