import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { storesKept } from './kept.ts'
import { type StoresParts, storesService } from './service.ts'

export const storesData = (db: Database): PersonalData => ({ retainedRecords: storesKept(db) })

/** Connected stores and their regions. */
export const storesModule = (deps: StoresParts) => ({ useCases: { residency: storesService(deps) } })
