import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { holdsKept } from './kept.ts'
import { type HoldsParts, holdsService } from './service.ts'

export const holdsData = (db: Database): PersonalData => ({ retainedRecords: holdsKept(db) })

/** Legal holds. */
export const holdsModule = (deps: HoldsParts) => ({ useCases: { holds: holdsService(deps) } })
