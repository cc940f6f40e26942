import { z } from 'zod'
import { agentListing, agentOf, profileOf } from '#lib/domains/agents/queries.ts'
import type { Actor, Context, MutationContext, Transaction } from '#lib/kernel/context.ts'
import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import { hashOf } from '#lib/kernel/ids.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import {
  findToken,
  listAgents,
  listRevocations,
  listTokens,
  readAgentUse,
  readSelf,
  summariseTokens,
} from './contract.ts'
import { isTokenKey } from './keys.ts'
import { endOfAdminToken, isOwn, issueToken, tokenGrant, tokenManagement } from './lifecycle.ts'
import { refusalRecorder, revokeAdminTokens } from './lineage.ts'
import { tokenDataSource, tokenExporters } from './personal-data.ts'
import type { TokenPorts } from './ports.ts'
import {
  activeSuccessor,
  activeTokensOfAgents,
  agentsOfTokens,
  countActiveDescendants,
  countInState,
  countLimiterRevocations,
  countOfAgent,
  countRefusals,
  countsOfAllTokens,
  deleteExpiredBatch,
  newestOfAgent,
  pageOfLimiterRevocations,
  pageOfTokens,
  refusalsBeforeRevocations,
  type TokenOverviewRow,
  tokenById,
  tokenByPrefix,
  usageByToken,
  usageOfAgents,
  usageOfAllTokens,
} from './repository.ts'
import {
  endedTokenRetention,
  isValidState,
  refusalRetention,
  startOf,
  sumOf,
  type TokenScope,
  tierLimits,
  tokenScopesInOrder,
  tokenStateOf,
  type Use,
  type UsePoint,
  usagePointsOf,
  usageRetention,
  usePeriods,
} from './rules.ts'
import { tokenUse } from './usage.ts'

const tokenView = (row: TokenOverviewRow, now: Date) => ({
  id: row.id,
  agent_id: row.agent_id,
  key_prefix: row.prefix,
  name: row.name,
  scopes: tokenScopesInOrder(row.scopes),
  created_at: row.created_at,
  expires_at: row.expires_at,
  last_used_at: row.last_used_at,
  revoked_at: row.revoked_at,
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
  const found = new Map<string, { at: Date; class: 'read' | 'write'; limit: number; consumed: number }[]>()
  if (stopped.length === 0) return found
  const rows = await refusalsBeforeRevocations(db, {
    tokens: stopped.map(({ id }) => id),
    limit_keys: stopped.map(({ limit_key }) => limit_key),
    times: stopped.map(({ revoked_at }) => revoked_at),
  })
  for (const { token_id, at, ...refusal } of rows)
    found.set(token_id, [...(found.get(token_id) ?? []), { at, ...refusal }])
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
function tokenOverview(db: Database) {
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
              given_at: profile.consentAt,
              via: profile.consentVia,
              withdrawn_at: profile.consentWithdrawnAt,
            },
            restricted_at: profile.restrictedAt,
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

/** Tokens: issuing, authentication, scopes, rotation and revocation. */
export function tokensService(db: Database, ports: TokenPorts) {
  const grant = tokenGrant(issueToken, ports.requireApproval)
  return {
    ...tokenOverview(db),
    ...tokenManagement({ ...ports, grant }),
    issue: issueToken,
    grant,
    endOfAdminToken,
    keepRefusal: refusalRecorder(db, ports.pipeline),
    use: tokenUse(db, ports.pipeline.clock),

    /**
     * Returns the agent and scopes of an active key, or null for any other text. Does not reveal which token it is. A token that an admin
     * issued for somebody else does not show that its bearer is the agent.
     */
    async bearerOf(tx: Transaction, key: string, now: Date): Promise<{ agentId: string; scopes: TokenScope[] } | null> {
      if (!isTokenKey(key)) return null
      const token = await tx.token.findFirst({
        where: {
          hash: hashOf(key),
          revokedAt: null,
          issuedByAdmin: false,
          OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
        },
        select: { agentId: true, scopes: true },
      })
      return token && { agentId: token.agentId, scopes: tokenScopesInOrder(token.scopes) }
    },
    /**
     * The owner of the agents changed how they sign in, perhaps because somebody else used a session: from now on, the existing tokens do not
     * prove that the owner agrees. Locks each agent first, so that a token that is being created does not escape. Where sessions end as well,
     * they end before: a session that is creating an agent or token is locked until that is stored.
     */
    async requireOwner(tx: Transaction, agents: readonly string[]): Promise<void> {
      for (const id of [...agents].sort()) await agentOf(tx, id, { lock: true })
      await tx.token.updateMany({
        where: { agentId: { in: [...agents] }, revokedAt: null },
        data: { ownerConfirms: true },
      })
    },
    /** See {@link revokeAdminTokens}. */
    revokeAdmin: (
      { tx, actor, ip, now }: MutationContext,
      of: Parameters<typeof revokeAdminTokens>[2],
      reason: 'owner_role' | 'owner_closed',
    ): Promise<number> => revokeAdminTokens(tx, ports.pipeline.auditWithin, of, { reason, now, actorId: actor.id, ip }),
    /** Number of active tokens per agent id. */
    async inUse(agents: readonly string[], now: Date): Promise<ReadonlyMap<string, number>> {
      const counted = await activeTokensOfAgents(db, { agents, now })
      return new Map(counted.map(({ agent_id, n }) => [agent_id, n]))
    },
    /** Union of the scopes of the agent's active tokens. */
    async scopesInUse(tx: Transaction, agentId: string, now: Date): Promise<TokenScope[]> {
      const tokens = await tx.token.findMany({
        where: { agentId, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
        select: { scopes: true },
      })
      return tokenScopesInOrder(tokens.flatMap(({ scopes }) => scopes))
    },
  }
}

type Agents = ReturnType<typeof agentListing>
type ListedAgent = NonNullable<Awaited<ReturnType<Agents['one']>>>

/** Totals stop counting at this number. */
const maxCounted = 1_001
const maxTokens = 100
const week = 7 * 86_400_000

const ownerOf = ({ ownerId, ownerName }: ListedAgent) =>
  ownerId !== null && ownerName !== null ? { account_id: ownerId, name: ownerName } : null

const about = (agent: ListedAgent, activeTokens: number) => ({
  agent_id: agent.id,
  name: agent.name,
  tier: agent.tier,
  limits: {
    reads_per_minute: agent.readsPerMinute ?? tierLimits[agent.tier].reads,
    writes_per_minute: agent.writesPerMinute ?? tierLimits[agent.tier].writes,
  },
  custom_limits:
    agent.readsPerMinute === null && agent.writesPerMinute === null
      ? null
      : { reads_per_minute: agent.readsPerMinute, writes_per_minute: agent.writesPerMinute },
  organisation: { id: agent.organisationId, name: agent.organisationName },
  owner_claimed: agent.ownerId !== null,
  owner: ownerOf(agent),
  restricted_at: agent.restrictedAt,
  suspended_at: agent.suspendedAt,
  created_at: agent.createdAt,
  active_tokens: activeTokens,
})
const none: Use = { reads: 0, writes: 0, refused: 0 }

/** Number of active tokens per agent id. */
type ActiveTokens = (agents: readonly string[], now: Date) => Promise<ReadonlyMap<string, number>>

async function usageOf(db: Database, agents: readonly string[], since: Date): Promise<Map<string, UsePoint[]>> {
  return Map.groupBy(await usageOfAgents(db, { agents, since }), ({ agent_id }) => agent_id)
}

const agentList = (db: Database, agents: Agents, inUse: ActiveTokens) =>
  read(listAgents, async ({ now }, { query: { q, tier, cursor, limit } }) => {
    const ofTokens = q === undefined ? [] : await agentsOfTokens(db, { text: q, max: maxCounted })
    const filter = { text: q, also: ofTokens.map(({ agent_id }) => agent_id), tier }
    const [found, total] = await Promise.all([
      agents.page(filter, parseCursor(cursor), limit + 1),
      agents.count(filter, maxCounted),
    ])
    const { shown, page } = pageOf(found, limit, total, ({ createdAt, id }) => ({ at: createdAt, id }))
    const ids = shown.map(({ id }) => id)
    const [active, use] = await Promise.all([inUse(ids, now), usageOf(db, ids, startOf('7d', now))])
    const data = shown.map((agent) => {
      const rows = use.get(agent.id) ?? []
      const hours = usagePointsOf('24h', rows, now)
      return {
        ...about(agent, active.get(agent.id) ?? 0),
        use: {
          last_24h: sumOf(hours),
          last_7d: sumOf(usagePointsOf('7d', rows, now)),
          hours: hours.map(({ reads, writes }) => reads + writes),
        },
      }
    })
    return { body: { data, ...page }, resourceId: 'list', details: { count: shown.length } }
  })

const agentUse = (db: Database, agents: Agents, inUse: ActiveTokens) =>
  read(readAgentUse, async ({ now }, { params: { id }, query: { period } }) => {
    const agent = await agents.one(id)
    if (!agent) throw new Problem('not_found', 'This agent does not exist.')
    const since = startOf(period, now)
    const [active, use, tokens, ofTokens, [counted]] = await Promise.all([
      inUse([id], now),
      usageOf(db, [id], since),
      newestOfAgent(db, { agent: id, limit: maxTokens }),
      usageByToken(db, { agent: id, since }),
      countOfAgent(db, { agent: id }),
    ])
    const byToken = new Map(ofTokens.map(({ token_id, ...sum }) => [token_id, sum]))
    const points = usagePointsOf(period, use.get(id) ?? [], now)
    return {
      body: {
        data: {
          ...about(agent, active.get(id) ?? 0),
          tokens: tokens.map((token) => ({ ...tokenView(token, now), use: byToken.get(token.id) ?? none })),
          tokens_total: counted?.n ?? 0,
          tokens_allowed: tierLimits[agent.tier].tokens,
          use: {
            period,
            step: usePeriods[period].step === 3_600_000 ? ('hour' as const) : ('day' as const),
            total: sumOf(points),
            points,
          },
        },
      },
      resourceId: id,
      details: { tokens: tokens.length },
    }
  })

const tokenLookup = (db: Database, agents: Agents) =>
  read(findToken, async ({ now }, { query: { key_prefix } }) => {
    const [token] = await tokenByPrefix(db, { prefix: key_prefix })
    const agent = token && (await agents.one(token.agent_id))
    if (!agent) throw new Problem('not_found', 'No token begins with these characters.')
    const [[descendants], [successor]] = await Promise.all([
      countActiveDescendants(db, { token: token.id, now }),
      activeSuccessor(db, { token: token.id, now }),
    ])
    return {
      body: {
        data: {
          ...tokenView(token, now),
          agent: { name: agent.name, owner: ownerOf(agent) },
          active_descendants: descendants?.n ?? 0,
          active_successor: successor?.prefix ?? null,
        },
      },
      resourceId: token.id,
    }
  })

const totals = (db: Database, agents: Agents) =>
  read(summariseTokens, async ({ now }) => {
    const [total, [tokens], [use]] = await Promise.all([
      agents.total(),
      countsOfAllTokens(db, { now, since: new Date(now.getTime() - week) }),
      usageOfAllTokens(db, { since: startOf('24h', now) }),
    ])
    return {
      body: {
        data: {
          agents: total,
          active_tokens: tokens?.active ?? 0,
          agents_with_tokens: tokens?.agents ?? 0,
          auto_revoked_7d: tokens?.revoked ?? 0,
          use_24h: use ?? none,
        },
      },
      resourceId: 'summary',
    }
  })

const limiterRevocations = (db: Database) =>
  read(listRevocations, async (_ctx, { query: { agent_id, cursor, limit } }) => {
    const after = parseCursor(cursor)
    const agent = agent_id ?? null
    const [records, [count]] = await Promise.all([
      pageOfLimiterRevocations(db, {
        agent,
        after_at: after?.at ?? null,
        after_id: after?.id ?? null,
        limit: limit + 1,
      }),
      countLimiterRevocations(db, { agent, since: null }),
    ])
    const { shown, page } = pageOf(records, limit, count?.n ?? 0, ({ revoked_at, id }) => ({ at: revoked_at, id }))
    const data = shown.map(({ id, prefix, agent_id: agentId, revoked_at, evidence }) => ({
      token_id: id,
      key_prefix: prefix,
      agent_id: agentId,
      revoked_at,
      evidence: evidence.map(({ at, ...refusal }) => ({ at: new Date(at), ...refusal })),
      evidence_until: new Date(revoked_at.getTime() + refusalRetention),
    }))
    return { body: { data, ...page }, resourceId: agent_id ?? 'list', details: { count: shown.length } }
  })

/** Admin views of all tokens: totals, usage, and tokens that the rate limiter revoked. */
function tokenAdmin(db: Database, inUse: ActiveTokens) {
  const agents = agentListing(db)
  return {
    agents: agentList(db, agents, inUse),
    agent: agentUse(db, agents, inUse),
    lookup: tokenLookup(db, agents),
    summary: totals(db, agents),
    revocations: limiterRevocations(db),
  }
}

export const tokensData = (db: Database, gate: Parameters<typeof tokenDataSource>[1]): PersonalData => ({
  dataSources: [tokenDataSource(db, gate)],
  exporters: tokenExporters(db),
})

/** Revokes the tokens with scope `admin` of an account that is being erased. */
export const adminTokenEnd =
  ({ clock, auditWithin }: TokenPorts['pipeline']) =>
  (tx: Transaction, accountId: string): Promise<number> =>
    revokeAdminTokens(
      tx,
      auditWithin,
      { accountId, agents: [] },
      { reason: 'owner_closed', now: clock.now(), actorId: 'system:erasure', ip: '' },
    )

/** Tolerance in milliseconds: the purge job runs hourly. */
const slack = 2 * 3_600_000

/** Data minimisation: network addresses of refused requests are deleted when their retention ends. */
const tokensEvidence = (): EvidenceCheck[] => [
  {
    line: 'minimisation',
    name: 'tokens.refusals',
    page: null,
    async ask(query, now) {
      const [row] = await countRefusals(query, { before: new Date(now.getTime() - refusalRetention - slack) })
      const { kept = 0, late = 0 } = row ?? {}
      return { state: failsIf(late > 0), numbers: { kept, late } }
    },
  },
]

const batch = 1_000

/** Runs batches, each in its own transaction, until one is not full. */
async function inBatches(ctx: Context, run: (tx: Transaction) => Promise<number>): Promise<void> {
  while ((await ctx.pipeline.transaction(run)) === batch);
}

/** Jobs that delete expired data. `purgeWindows` deletes rate limit windows that have ended. */
const tokensJobs = ({ purgeWindows }: { purgeWindows(): Promise<number> }) => [
  job({
    name: 'tokens.purge',
    payload: z.unknown(),
    cron: '23 * * * *',
    async run(ctx) {
      const before = (retention: number) => new Date(ctx.now.getTime() - retention)
      await inBatches(ctx, (tx) =>
        deleteExpiredBatch(tx, { before: before(refusalRetention), limit: batch }, 'refusals'),
      )
      await inBatches(ctx, (tx) => deleteExpiredBatch(tx, { before: before(usageRetention), limit: batch }, 'usage'))
      await inBatches(ctx, async (tx) => {
        const count = await deleteExpiredBatch(tx, { before: before(endedTokenRetention), limit: batch }, 'ended')
        if (count > 0)
          await ctx.pipeline.auditWithin(tx, {
            action: 'delete',
            actorId: ctx.actor.id,
            resourceType: 'token',
            resourceId: 'ended',
            at: ctx.now,
            ip: '',
            details: { count },
          })
        return count
      })
      await purgeWindows()
    },
  }),
]

/** API tokens, their use, and the tiers of agents. */
export function tokensModule({
  db,
  purgeWindows,
  ...ports
}: TokenPorts & {
  db: Database
  /** Deletes expired rate-limit windows and returns how many. */
  purgeWindows(): Promise<number>
}) {
  const tokens = tokensService(db, ports)
  return {
    useCases: { tokens, tiers: tokenAdmin(db, tokens.inUse) },
    jobs: tokensJobs({ purgeWindows }),
    checks: tokensEvidence(),
  }
}
