import type { Database } from '#lib/stores/postgres/database.ts'

/** How many requests about the person, or about an agent of theirs, are open. */
export const openRequestsOf =
  (db: Database) =>
  async (accountId: string): Promise<number> => {
    const [row] = await db.query<{ n: number }>(
      'open-requests-of',
      `SELECT count(*)::int AS n FROM privacy_requests r WHERE r.closed_at IS NULL
         AND (r.account_id = $1 OR r.agent_id IN (SELECT id FROM agents WHERE owner_id = $1))`,
      [accountId],
    )
    return row?.n ?? 0
  }
