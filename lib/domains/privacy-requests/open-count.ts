import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { countOpenRequests } from './repository.ts'

/** Returns true when a request about the person is stored, open or closed. */
export const isOnFile = async (tx: Transaction, accountId: string): Promise<boolean> =>
  (await tx.privacyRequest.count({ where: { accountId } })) > 0

/** Counts the open requests about the person or one of their agents. */
export const openRequestsOf =
  (db: Database) =>
  async (accountId: string): Promise<number> => {
    const [row] = await countOpenRequests(db, { account: accountId })
    return row?.n ?? 0
  }

/** Counts all requests, open and closed. */
export const countRequests = (tx: Transaction): Promise<number> => tx.privacyRequest.count()
