import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { retainedHolds } from './retained-records.ts'
import { type HoldsServiceDeps, holdsService } from './service.ts'

export const holdsData = (db: Database): PersonalData => ({ retainedRecords: retainedHolds(db) })

/** Legal holds. */
export const holdsModule = (deps: HoldsServiceDeps) => ({ useCases: { holds: holdsService(deps) } })
