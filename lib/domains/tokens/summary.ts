import type { Database } from '#lib/stores/postgres/database.ts'

export interface TokenSummary {
  active: number
  /** Active tokens that expire before the requested time. */
  expiring: number
  nextExpiry: Date | null
  lastUsedAt: Date | null
}

/** Summarizes the active tokens of these agents. */
export async function tokenSummary(
  db: Database,
  agents: readonly string[],
  { now, until }: { now: Date; until: Date },
): Promise<TokenSummary> {
  const [row] = await db.query<TokenSummary>(
    'tokens-at-a-glance',
    `SELECT count(*)::int AS active, (count(*) FILTER (WHERE expires_at <= $3))::int AS expiring,
       min(expires_at) AS "nextExpiry", max(last_used_at) AS "lastUsedAt"
     FROM tokens WHERE agent_id = ANY($1::text[]) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
    [agents, now, until],
  )
  return row ?? { active: 0, expiring: 0, nextExpiry: null, lastUsedAt: null }
}

/** Counts tokens revoked by the rate limiter after `since`. */
export async function revokedByLimits(db: Database, since: Date): Promise<number> {
  const [row] = await db.query<{ n: number }>(
    'tokens-revoked-by-limits',
    `SELECT count(*)::int AS n FROM tokens WHERE revoked_at IS NOT NULL AND revoked_at > $1 AND revoked_reason = 'rate_limit'`,
    [since],
  )
  return row?.n ?? 0
}
