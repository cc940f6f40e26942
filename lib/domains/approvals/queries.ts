import type { Database } from '#lib/stores/postgres/database.ts'
import { countWaitingFor, waitingFor } from './repository.ts'

/** The number of proposals that the admin can decide. */
export const waitingProposals = async (db: Database, account: string, now: Date): Promise<number> =>
  (await countWaitingFor(db, { account, now }))[0]?.n ?? 0

/** The proposals that the admin can decide, oldest first. */
export const listWaitingProposals = (db: Database, account: string, now: Date, limit: number) =>
  waitingFor(db, { account, now, limit })
