import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { TierName } from './rules.ts'

/** A token with the state and the limits of its agent. */
export interface TokenLookupRow {
  id: string
  agent_id: string
  limit_key: string
  scopes: string[]
  expires_at: Date | null
  revoked_at: Date | null
  last_used_at: Date | null
  organisation_id: string
  tier: TierName
  reads_per_minute: number | null
  writes_per_minute: number | null
  restricted_at: Date | null
  /** Set while an erasure of its agent is pending. */
  suspended_at: Date | null
  /** The agent's status, set by its owner. */
  status: 'active' | 'paused' | 'dead'
  region: string | null
  /** Keyed hash of the network, for an unclaimed agent of the free tier. */
  network: string | null
  /** Whether such an agent counts in its network's window. */
  shares_window: boolean
}

const selectTokens = `SELECT t.hash, t.id, t.agent_id, t.limit_key, t.scopes, t.expires_at, t.revoked_at, t.last_used_at,
    a.organisation_id, a.tier, a.reads_per_minute, a.writes_per_minute, a.restricted_at, a.suspended_at, a.status, a.region,
    CASE WHEN a.owner_id IS NULL AND a.tier = 'free' THEN encode(a.network, 'hex') END AS network, a.shares_window
  FROM tokens t JOIN agent_states a ON a.id = t.agent_id WHERE t.hash = ANY($1::bytea[])`

/** Finds tokens by the SHA-256 of their raw keys, also revoked and expired ones. Read for every request of an agent: one indexed query. */
export const tokensByHash = (db: Database, hashes: readonly Buffer[]): Promise<(TokenLookupRow & { hash: Buffer })[]> =>
  db.query<TokenLookupRow & { hash: Buffer }>('token-lookup', selectTokens, [hashes])

/** Records the last use of tokens by id. Writes in the same order on every replica, which prevents deadlocks between two of them. */
export async function noteTokenUses(db: Database, uses: ReadonlyMap<string, Date>): Promise<void> {
  const ids = [...uses.keys()].sort()
  await db.query(
    'token-uses',
    'UPDATE tokens t SET last_used_at = u.at FROM unnest($1::text[], $2::timestamptz[]) AS u(id, at) WHERE t.id = u.id AND (t.last_used_at IS NULL OR t.last_used_at < u.at)',
    [ids, ids.map((id) => uses.get(id))],
  )
}

/** Records a token's first use. Returns false if the token was deleted. */
export async function noteFirstTokenUse(db: Database, id: string, now: Date): Promise<boolean> {
  const rows = await db.query('token-first-use', 'UPDATE tokens SET last_used_at = $2 WHERE id = $1 RETURNING id', [
    id,
    now,
  ])
  return rows.length > 0
}

/** Number of all tokens, also revoked and expired ones. */
export const countTokens = (tx: Transaction): Promise<number> => tx.token.count()
