import type { Database } from '#lib/stores/postgres/database.ts'

/** An open session with its account, which is open too. */
export interface SessionRow {
  session_id: string
  last_seen_at: Date
  password_at: Date | null
  account_id: string
  organisation_id: string
  role: 'person' | 'manager' | 'auditor' | 'admin'
  must_change_password: boolean
  /** Ids of the person's agents, sorted. */
  agents: string[]
}

const selectSession = `SELECT s.id AS session_id, s.last_seen_at, s.password_at, a.id AS account_id, a.organisation_id, a.role::text AS role,
    a.must_change_password, ARRAY(SELECT g.id FROM agent_owners g WHERE g.owner_id = a.id ORDER BY g.id) AS agents
  FROM sessions s JOIN accounts a ON a.id = s.account_id
  WHERE s.id = $1 AND s.revoked_at IS NULL AND s.expires_at > $2 AND a.deactivated_at IS NULL`

/** Finds an open session. Read for every request of a person: one indexed query. */
export async function findOpenSession(db: Database, id: string, now: Date): Promise<SessionRow | undefined> {
  const [row] = await db.query<SessionRow & Record<string, unknown>>('session-caller', selectSession, [id, now])
  return row
}

export const noteSessionSeen = (db: Database, id: string, now: Date): Promise<unknown> =>
  db.query('session-seen', 'UPDATE sessions SET last_seen_at = $2 WHERE id = $1 AND last_seen_at < $2', [id, now])
