import { isKey } from '#lib/domains/tokens/rules.ts'
import type { Clock } from '#lib/kernel/clock.ts'
import { hashOf } from '#lib/kernel/code-hash.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { sharedQuestion } from '#lib/kernel/shared-question.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { TokenRow } from './actor.ts'

const selectTokens = `SELECT t.hash, t.id, t.agent_id, t.limit_key, t.scopes, t.expires_at, t.revoked_at, t.last_used_at,
    a.organisation_id, a.tier, a.reads_per_minute, a.writes_per_minute, a.restricted_at, a.suspended_at, a.status, a.region,
    CASE WHEN a.owner_id IS NULL AND a.tier = 'free' THEN encode(a.network, 'hex') END AS network, a.shares_window
  FROM tokens t JOIN agents a ON a.id = t.agent_id WHERE t.hash = ANY($1::bytea[])`

/** How long uses are collected before they are written, in milliseconds. */
const usesEvery = 2_000

export interface TokenLookup {
  /**
   * The token's current row in the database. A suspended token is also rejected, except for operations that show or cancel the pending
   * erasure: an agent without an owner has no other way. @throws the matching 401 problem
   */
  find(key: string, operation: Pick<OperationShape, 'isOpenToSuspended'>): Promise<TokenRow>
  /** Writes the uses collected so far. */
  flushUses(): Promise<void>
  close(): Promise<void>
}

/**
 * Finds tokens. Every request queries the database, so that a revoked token is rejected on the next request on every replica. Requests
 * that arrive during a query share the next one.
 */
export function tokenLookup(db: Database, clock: Clock): TokenLookup {
  const lookUp = sharedQuestion<Buffer, TokenRow | undefined>(async (hashes) => {
    const rows = await db.query<TokenRow & { hash: Buffer }>('token-lookup', selectTokens, [hashes])
    const byHash = new Map(rows.map((row) => [row.hash.toString('latin1'), row]))
    return hashes.map((hash) => byHash.get(hash.toString('latin1')))
  })
  let uses = new Map<string, Date>()
  const timer = setInterval(() => void flushUses().catch(() => {}), usesEvery).unref()

  async function flushUses(): Promise<void> {
    if (uses.size === 0) return
    const written = uses
    // The same order on every replica prevents deadlocks between two that write the same rows.
    const ids = [...written.keys()].sort()
    uses = new Map()
    await db.query(
      'token-uses',
      'UPDATE tokens t SET last_used_at = u.at FROM unnest($1::text[], $2::timestamptz[]) AS u(id, at) WHERE t.id = u.id AND (t.last_used_at IS NULL OR t.last_used_at < u.at)',
      [ids, ids.map((id) => written.get(id))],
    )
  }

  /** Writes the first use immediately: agents that never used a token are purged, so a crash must not lose it. */
  async function firstUse(row: TokenRow, now: Date): Promise<void> {
    const rows = await db.query(
      'token-first-use',
      `WITH agent AS (UPDATE agents SET first_used_at = coalesce(first_used_at, $2) WHERE id = $3 RETURNING id)
       UPDATE tokens t SET last_used_at = $2 FROM agent WHERE t.id = $1 RETURNING t.id`,
      [row.id, now, row.agent_id],
    )
    if (rows.length === 0) throw unknown()
  }

  const unknown = () => new Problem('token_invalid', { detail: 'No such token.', headers: challenge('invalid_token') })

  return {
    flushUses,
    async find(key, { isOpenToSuspended }) {
      if (!isKey(key))
        throw new Problem('token_invalid', {
          detail: 'This is not a KnowledgePulse token (a character is missing or wrong).',
          headers: challenge('invalid_token'),
        })
      const row = await lookUp(hashOf(key))
      const now = clock.now()
      if (!row) throw unknown()
      if (row.revoked_at)
        throw new Problem('token_revoked', {
          detail: 'Use another token, or register.',
          headers: challenge('invalid_token'),
        })
      if (row.expires_at && row.expires_at <= now)
        throw new Problem('token_expired', {
          detail: 'Create one with another token of the agent, or ask its owner.',
          headers: challenge('invalid_token'),
        })
      if (row.suspended_at && !isOpenToSuspended)
        throw new Problem('token_suspended', {
          detail:
            'The erasure of its agent was asked for, so nothing is done with it. While the grace runs it can be cancelled: where the agent asked itself, by POST /api/privacy/requests/{id}/cancel with this token (GET /api/privacy/requests has the id); where its owner asked, by them, when signed in or by the link in the letter.',
          headers: challenge('invalid_token'),
        })
      if (row.last_used_at === null) await firstUse(row, now)
      else uses.set(row.id, now)
      return row
    },
    async close() {
      clearInterval(timer)
      await flushUses()
    },
  }
}

/** RFC 6750 §3 challenge. */
export const challenge = (error?: string): Record<string, string> => ({
  'WWW-Authenticate': `Bearer realm="KnowledgePulse"${error ? `, error="${error}"` : ''}`,
})
