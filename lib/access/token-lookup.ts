import { noteFirstUse } from '#lib/domains/agents/status.ts'
import { isTokenKey } from '#lib/domains/tokens/keys.ts'
import { noteFirstTokenUse, noteTokenUses, type TokenLookupRow, tokensByHash } from '#lib/domains/tokens/usage.ts'
import type { Clock } from '#lib/kernel/clock.ts'
import { hashOf } from '#lib/kernel/code-hash.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { sharedQuestion } from '#lib/kernel/shared-query.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** How long uses are collected before they are written, in milliseconds. */
const usesEvery = 2_000

export interface TokenLookup {
  /**
   * The token's current row in the database. A suspended token is also rejected, except for operations that show or cancel the pending
   * erasure: an agent without an owner has no other way. @throws the matching 401 problem
   */
  find(key: string, operation: Pick<OperationShape, 'isOpenToSuspended'>): Promise<TokenLookupRow>
  /** Writes the uses collected so far. */
  flushUses(): Promise<void>
  close(): Promise<void>
}

/**
 * Finds tokens. Every request queries the database, so that a revoked token is rejected on the next request on every replica. Requests
 * that arrive during a query share the next one.
 */
export function tokenLookup(db: Database, clock: Clock): TokenLookup {
  const lookUp = sharedQuestion<Buffer, TokenLookupRow | undefined>(async (hashes) => {
    const rows = await tokensByHash(db, hashes)
    const byHash = new Map(rows.map((row) => [row.hash.toString('latin1'), row]))
    return hashes.map((hash) => byHash.get(hash.toString('latin1')))
  })
  let uses = new Map<string, Date>()
  const timer = setInterval(() => void flushUses().catch(() => {}), usesEvery).unref()

  async function flushUses(): Promise<void> {
    if (uses.size === 0) return
    const written = uses
    uses = new Map()
    await noteTokenUses(db, written)
  }

  /**
   * Writes the first use immediately: agents that never used a token are purged, so a crash must not lose it. The agent comes first: after
   * a crash in between, the token still has no use, and its next request repeats both.
   */
  async function firstUse(row: TokenLookupRow, now: Date): Promise<void> {
    const isStored = (await noteFirstUse(db, row.agent_id, now)) && (await noteFirstTokenUse(db, row.id, now))
    if (!isStored) throw unknown()
  }

  const unknown = () =>
    new Problem('token_invalid', {
      detail: 'This token does not exist. Check the key, or create a new token.',
      headers: challenge('invalid_token'),
    })

  return {
    flushUses,
    async find(key, { isOpenToSuspended }) {
      if (!isTokenKey(key))
        throw new Problem('token_invalid', {
          detail: 'The key is not a valid KnowledgePulse token: a character is missing or wrong. Copy it again.',
          headers: challenge('invalid_token'),
        })
      const row = await lookUp(hashOf(key))
      const now = clock.now()
      if (!row) throw unknown()
      if (row.revoked_at)
        throw new Problem('token_revoked', {
          detail: 'Use another token, or register a new agent.',
          headers: challenge('invalid_token'),
        })
      if (row.expires_at && row.expires_at <= now)
        throw new Problem('token_expired', {
          detail: 'Create a new token with another token of the agent, or ask its owner for one.',
          headers: challenge('invalid_token'),
        })
      if (row.suspended_at && !isOpenToSuspended)
        throw new Problem('token_suspended', {
          detail:
            'The erasure of this agent was requested, so its tokens are suspended. During the grace period, the erasure can be cancelled. If the agent requested it, send POST /api/privacy/requests/{id}/cancel with this token (GET /api/privacy/requests returns the id). If its owner requested it, the owner can cancel it in the console or with the link in the email.',
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
