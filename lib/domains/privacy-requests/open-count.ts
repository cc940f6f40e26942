import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** Returns true when a request about the person is stored, open or closed. */
export const isOnFile = async (tx: Transaction, accountId: string): Promise<boolean> =>
  (await tx.privacyRequest.count({ where: { accountId } })) > 0

/** Counts the open requests about the person or one of their agents. */
export const openRequestsOf =
  (db: Database) =>
  async (accountId: string): Promise<number> => {
    const [row] = await db.query<{ n: number }>(
      'open-requests-of',
      `SELECT count(*)::int AS n FROM privacy_requests r WHERE r.closed_at IS NULL
         AND (r.account_id = $1 OR r.agent_id IN (SELECT id FROM agent_owners WHERE owner_id = $1))`,
      [accountId],
    )
    return row?.n ?? 0
  }

/** Counts all requests, open and closed. */
export const countRequests = (tx: Transaction): Promise<number> => tx.privacyRequest.count()
