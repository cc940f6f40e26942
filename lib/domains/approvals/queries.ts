import type { Database } from '#lib/stores/postgres/database.ts'
import { countWaitingFor } from './repository.ts'

/** The number of proposals that the admin can decide. */
export const waitingProposals = async (db: Database, account: string, now: Date): Promise<number> =>
  (await countWaitingFor(db, { account, now }))[0]?.n ?? 0
