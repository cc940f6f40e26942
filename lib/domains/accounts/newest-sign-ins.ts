import type { Database } from '#lib/stores/postgres/database.ts'

export interface SignInSeen {
  at: Date
  browser: string
  isCurrent: boolean
}

/** Returns when and with which browser a person signed in last, newest first, as far as sessions are retained. */
export const newestSignIns = (db: Database, accountId: string, sessionId: string | undefined): Promise<SignInSeen[]> =>
  db.query<SignInSeen>(
    'newest-sign-ins',
    `SELECT created_at AS at, user_agent AS browser, id = coalesce($2, '') AS "isCurrent"
     FROM sessions WHERE account_id = $1 ORDER BY created_at DESC, id DESC LIMIT 3`,
    [accountId, sessionId ?? null],
  )
