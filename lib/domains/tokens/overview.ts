import { profileOf } from '#lib/domains/agents/queries.ts'
import type { Actor } from '#lib/kernel/context.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { listTokens, readSelf } from './contract.ts'
import { isOwn } from './lifecycle.ts'
import {
  countInState,
  pageOfTokens,
  refusalsBeforeRevocations,
  type TokenOverviewRow,
  tokenById,
} from './repository.ts'
import { isValidState, tierLimits, tokenScopesInOrder, tokenStateOf } from './rules.ts'

const iso = (at: Date | null): string | null => at?.toISOString() ?? null
export const tokenView = (row: TokenOverviewRow, now: Date) => ({
  id: row.id,
  agent_id: row.agent_id,
  key_prefix: row.prefix,
  name: row.name,
  scopes: tokenScopesInOrder(row.scopes),
  created_at: row.created_at.toISOString(),
  expires_at: iso(row.expires_at),
  last_used_at: iso(row.last_used_at),
  revoked_at: iso(row.revoked_at),
  revoked_reason: row.revoked_reason,
  issued_by_admin: row.issued_by_admin,
  issued_by_token_id: row.issued_by_token_id,
  state: tokenStateOf({ expiresAt: row.expires_at, revokedAt: row.revoked_at, revokedReason: row.revoked_reason }, now),
})
/** Limits of a tier; an enterprise agent's own limits take precedence. */
const limitsOf = (tier: keyof typeof tierLimits, reads?: number | null, writes?: number | null) => {
  const limits = tierLimits[tier]
  return {
    reads_per_minute: reads ?? limits.reads,
    writes_per_minute: writes ?? limits.writes,
    batch: limits.batch,
    unit_bytes: limits.unitBytes,
    exports_per_day: limits.exportsPerDay,
    tokens: limits.tokens,
  }
}

/** The refused requests that caused each automatic revocation, without network addresses: a later owner must not see an earlier user's address. */
async function refusalsOf(db: Database, tokens: readonly (TokenOverviewRow & { limit_key: string })[]) {
  const stopped = tokens.flatMap(({ id, limit_key, revoked_at, revoked_reason }) =>
    revoked_at && revoked_reason === 'rate_limit' ? [{ id, limit_key, revoked_at }] : [],
  )
  const found = new Map<string, { at: string; class: 'read' | 'write'; limit: number; consumed: number }[]>()
  if (stopped.length === 0) return found
  const rows = await refusalsBeforeRevocations(db, {
    tokens: stopped.map(({ id }) => id),
    limit_keys: stopped.map(({ limit_key }) => limit_key),
    times: stopped.map(({ revoked_at }) => revoked_at),
  })
  for (const { token_id, at, ...refusal } of rows)
    found.set(token_id, [...(found.get(token_id) ?? []), { at: at.toISOString(), ...refusal }])
  return found
}

/** A caller who is not an agent has no token. */
const selfOfPerson = (actor: Actor) => ({
  agent_id: null,
  account_id: actor.accountId ?? null,
  name: null,
  tier: null,
  scopes: [],
  organisation_id: actor.organisationId ?? null,
  limits: limitsOf('pro'),
  token: null,
  consent: null,
  restricted_at: null,
  owner_claimed: false,
})

/** Views of an actor's own tokens. */
export function tokenOverview(db: Database) {
  return {
    me: read(readSelf, async ({ actor, now }) => {
      if (actor.kind !== 'agent') return { body: { data: selfOfPerson(actor) }, resourceId: actor.id }
      const [profile, [row]] = await Promise.all([profileOf(db, actor.id), tokenById(db, { id: actor.tokenId ?? '' })])
      // The token was purged or erased during this request.
      if (!profile || !row) throw new Problem('token_invalid', 'This token no longer exists.')
      const { agent_id, scopes, revoked_at: _, revoked_reason: __, state: ___, ...token } = tokenView(row, now)
      return {
        body: {
          data: {
            agent_id,
            account_id: null,
            name: profile.name,
            tier: profile.tier,
            scopes,
            organisation_id: profile.organisationId,
            limits: limitsOf(profile.tier, profile.readsPerMinute, profile.writesPerMinute),
            token,
            consent: {
              lawful_basis: profile.lawfulBasis,
              policy_version: profile.noticeVersion,
              given_at: iso(profile.consentAt),
              via: profile.consentVia,
              withdrawn_at: iso(profile.consentWithdrawnAt),
            },
            restricted_at: iso(profile.restrictedAt),
            owner_claimed: profile.ownerId !== null,
          },
        },
        resourceId: actor.id,
      }
    }),

    list: read(listTokens, async ({ actor, now }, { query: { agent_id, state, q, cursor, limit } }) => {
      let agents = actor.agents
      if (agent_id !== undefined) {
        const agent = await profileOf(db, agent_id)
        if (!agent || !(actor.isAdmin || isOwn(actor, agent)))
          throw new Problem('not_found', 'This agent does not exist, or you do not manage it.')
        agents = [agent.id]
      }
      const after = parseCursor(cursor)
      const text = q ?? null
      const position = { after_at: after?.at ?? null, after_id: after?.id ?? null }
      const [found, [count]] = await Promise.all([
        pageOfTokens(db, { agents, text, now, ...position, limit: limit + 1 }, state ?? 'any'),
        countInState(db, { agents, text, now }, state ?? 'any'),
      ])
      const { shown, page } = pageOf(found, limit, count?.n ?? 0, ({ created_at, id }) => ({ at: created_at, id }))
      const refusals = await refusalsOf(db, shown)
      return {
        body: {
          data: shown.map((row) => {
            const view = tokenView(row, now)
            const isSuspended = row.is_suspended && isValidState(view.state)
            return { ...view, is_suspended: isSuspended, refusals: refusals.get(row.id) ?? [] }
          }),
          ...page,
        },
        resourceId: agent_id ?? actor.id,
        details: { count: shown.length },
      }
    }),
  }
}
