import { agentListing, agentOf } from '#lib/domains/agents/queries.ts'
import { hashOf } from '#lib/kernel/code-hash.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { findToken, listAgents, listRevocations, readAgentUse, summariseTokens } from './contract.ts'
import { isTokenKey } from './keys.ts'
import { endOfAdminToken, issueToken, tokenGrant, tokenManagement } from './lifecycle.ts'
import { lockFamilies, refusalRecorder, revokeDescendants } from './lineage.ts'
import { tokenOverview, tokenView } from './overview.ts'
import type { TokenPorts } from './ports.ts'
import {
  activeSuccessor,
  activeTokensOfAgents,
  agentsOfTokens,
  countActiveDescendants,
  countLimiterRevocations,
  countOfAgent,
  countsOfAllTokens,
  newestOfAgent,
  pageOfLimiterRevocations,
  tokenByPrefix,
  usageByToken,
  usageOfAgents,
  usageOfAllTokens,
} from './repository.ts'
import { refusalRetention, type TokenScope, tierLimits, tokenScopesInOrder } from './rules.ts'
import { tokenUse } from './usage.ts'
import { startOf, sumOf, type Use, type UsePoint, usagePointsOf, usePeriods } from './usage-rules.ts'

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
     * Revokes all active tokens of the agents that have the scope, and those created with them; returns how many. Locks each agent first,
     * so that a concurrent rotation cannot create a token that escapes.
     */
    async revokeScoped(
      { tx, actor, ip, now }: MutationContext,
      agents: readonly string[],
      scope: TokenScope,
      reason: 'owner_role' | 'owner_closed',
    ): Promise<number> {
      for (const id of [...agents].sort()) await agentOf(tx, id, { lock: true })
      const scoped = await tx.token.findMany({
        where: {
          agentId: { in: [...agents] },
          scopes: { has: scope },
          revokedAt: null,
          OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
        },
        select: { id: true },
      })
      const ids = scoped.map(({ id }) => id)
      const family = await lockFamilies(tx, ids, now)
      const revoked = await tx.token.updateManyAndReturn({
        where: { id: { in: ids }, revokedAt: null },
        data: { revokedAt: now, revokedReason: reason },
        select: { id: true, agentId: true },
      })
      await ports.pipeline.auditWithin(
        tx,
        ...revoked.map(({ id, agentId }) => ({
          action: 'update' as const,
          actorId: actor.id,
          resourceType: 'token',
          resourceId: id,
          at: now,
          ip,
          details: { agent_id: agentId, reason, fields: ['revoked_at'] },
        })),
      )
      const { auditWithin } = ports.pipeline
      const descendants = await revokeDescendants(tx, auditWithin, family, { now, actorId: actor.id, ip })
      return revoked.length + descendants.length
    },
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
  restricted_at: agent.restrictedAt?.toISOString() ?? null,
  suspended_at: agent.suspendedAt?.toISOString() ?? null,
  created_at: agent.createdAt.toISOString(),
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
    const ofTokens = q === undefined ? [] : await agentsOfTokens(db, { text: q, most: maxCounted })
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
            points: points.map(({ at, ...sum }) => ({ at: at.toISOString(), ...sum })),
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
      revoked_at: revoked_at.toISOString(),
      evidence: evidence.map(({ at, ...refusal }) => ({ at: new Date(at).toISOString(), ...refusal })),
      evidence_until: new Date(revoked_at.getTime() + refusalRetention).toISOString(),
    }))
    return { body: { data, ...page }, resourceId: agent_id ?? 'list', details: { count: shown.length } }
  })

/** Admin views of all tokens: totals, usage, and tokens that the rate limiter revoked. */
export function tokenAdmin(db: Database, inUse: ActiveTokens) {
  const agents = agentListing(db)
  return {
    agents: agentList(db, agents, inUse),
    agent: agentUse(db, agents, inUse),
    lookup: tokenLookup(db, agents),
    summary: totals(db, agents),
    revocations: limiterRevocations(db),
  }
}
