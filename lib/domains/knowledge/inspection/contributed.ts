import type { Database } from '#lib/stores/postgres/database.ts'
import { contributionsOf } from './repository.ts'

/** Number of units and skills, and reputation, of each agent; counting stops at `bound`. */
export const contributedBy = (db: Database) => async (agents: readonly string[], bound: number) =>
  new Map((await contributionsOf(db, { agents, bound })).map(({ id, ...counts }) => [id, counts]))
