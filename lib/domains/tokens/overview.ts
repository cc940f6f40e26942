import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { listTokens, readSelf } from './contract.ts'
import { isOwn } from './grant.ts'
import type { TokenPorts } from './ports.ts'
import {
  inState,
  refusalsToRevoke,
  refusalWindow,
  type TokenScope,
  tierLimits,
  tokenScopesInOrder,
  tokenStateOf,
  type tokenStates,
} from './rules.ts'

export interface TokenOverviewRow {
  id: string
  agent_id: string
  prefix: string
  name: string | null
  scopes: TokenScope[]
  created_at: Date
  expires_at: Date | null
  last_used_at: Date | null
  revoked_at: Date | null
  revoked_reason: string | null
  issued_by_admin: boolean
  issued_by_token_id: string | null
}
export const columns =
  'id, agent_id, prefix, name, scopes, created_at, expires_at, last_used_at, revoked_at, revoked_reason, issued_by_admin, issued_by_token_id'
/** Condition for tokens of the agents `$1`, optionally only those in the given state at `$2`. */
const ownTokens = (state: (typeof tokenStates)[number] | undefined): string =>
  `agent_id = ANY($1::text[]) AND $2::timestamptz IS NOT NULL${state === undefined ? '' : ` AND ${inState(state, '$2')}`}`
const selectPage = (where: string): string => `SELECT ${columns}, limit_key FROM tokens
  WHERE ${where} AND ($3::timestamptz IS NULL OR (created_at, id) < ($3, $4))
  ORDER BY created_at DESC, id DESC LIMIT $5`
/** Refusals that caused the revocation: those with the same limit key within the hour before it. */
const selectRefusals = `SELECT t.id AS token_id, f.at, f.request_class AS class, f."limit", f.consumed
  FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS t(id, limit_key, revoked_at)
  CROSS JOIN LATERAL (SELECT * FROM rate_limit_refusals r
    WHERE r.limit_key = t.limit_key AND r.at <= t.revoked_at AND r.at > t.revoked_at - make_interval(secs => $4)
    ORDER BY r.at DESC, r.id LIMIT ${refusalsToRevoke}) AS f ORDER BY f.at, f.id`

interface RefusalRow {
  token_id: string
  at: Date
  class: 'read' | 'write'
  limit: number
  consumed: number
}

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

/** Views of an actor's own tokens. */
export function tokenOverview(db: Database, { profileOf }: Pick<TokenPorts, 'profileOf'>) {
  /** Refusals behind each automatic revocation, without network addresses: a later owner must not see an earlier user's address. */
  async function refusalsOf(tokens: readonly (TokenOverviewRow & { limit_key: string })[]) {
    const stopped = tokens.flatMap(({ id, limit_key, revoked_at, revoked_reason }) =>
      revoked_at && revoked_reason === 'rate_limit' ? [{ id, limit_key, revoked_at }] : [],
    )
    const found = new Map<string, { at: string; class: RefusalRow['class']; limit: number; consumed: number }[]>()
    if (stopped.length === 0) return found
    const rows = await db.query<RefusalRow>('token-refusals', selectRefusals, [
      stopped.map(({ id }) => id),
      stopped.map(({ limit_key }) => limit_key),
      stopped.map(({ revoked_at }) => revoked_at),
      refusalWindow / 1_000,
    ])
    for (const { token_id, at, ...refusal } of rows)
      found.set(token_id, [...(found.get(token_id) ?? []), { at: at.toISOString(), ...refusal }])
    return found
  }

  return {
    me: read(readSelf, async ({ actor, now }) => {
      if (actor.kind !== 'agent')
        return {
          body: {
            data: {
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
            },
          },
          resourceId: actor.id,
        }
      const [profile, [row]] = await Promise.all([
        profileOf(actor.id),
        db.query<TokenOverviewRow>('token-own', `SELECT ${columns} FROM tokens WHERE id = $1`, [actor.tokenId]),
      ])
      // The token was purged or erased during this request.
      if (!profile || !row) throw new Problem('token_invalid', 'No such token.')
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

    list: read(listTokens, async ({ actor, now }, { query: { agent_id, state, cursor, limit } }) => {
      let agents = actor.agents
      if (agent_id !== undefined) {
        const agent = await profileOf(agent_id)
        if (!agent || !(actor.isAdmin || isOwn(actor, agent)))
          throw new Problem('not_found', 'There is no such agent, or it is not yours.')
        agents = [agent.id]
      }
      const after = parseCursor(cursor)
      const where = ownTokens(state)
      const [found, [count]] = await Promise.all([
        db.query<TokenOverviewRow & { limit_key: string }>(`token-page-${state ?? 'any'}`, selectPage(where), [
          agents,
          now,
          after?.at ?? null,
          after?.id ?? null,
          limit + 1,
        ]),
        db.query<{ n: number }>(
          `token-count-${state ?? 'any'}`,
          `SELECT count(*)::int AS n FROM tokens WHERE ${where}`,
          [agents, now],
        ),
      ])
      const { shown, page } = pageOf(found, limit, count?.n ?? 0, ({ created_at, id }) => ({ at: created_at, id }))
      const refusals = await refusalsOf(shown)
      return {
        body: {
          data: shown.map((row) => ({ ...tokenView(row, now), refusals: refusals.get(row.id) ?? [] })),
          ...page,
        },
        resourceId: agent_id ?? actor.id,
        details: { count: shown.length },
      }
    }),
  }
}
