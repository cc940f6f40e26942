import { pageOf, parseCursor, type TimeCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { listAgents, listRevocations, readAgentUse, summariseTokens } from './admin-contract.ts'
import { columns, type TokenOverviewRow, tokenView } from './overview.ts'
import { refusalRetention, refusalWindow, type TierName, tierLimits } from './rules.ts'
import { startOf, sumOf, type Use, type UsePoint, usagePointsOf, usePeriods } from './usage-rules.ts'

/** Agent columns of the admin token list; `lib/app.ts` provides them. */
interface ListedAgent {
  id: string
  name: string | null
  tier: TierName
  readsPerMinute: number | null
  writesPerMinute: number | null
  isOwned: boolean
  organisationId: string
  organisationName: string
  restrictedAt: Date | null
  suspendedAt: Date | null
  createdAt: Date
}
interface AgentFilter {
  beginning?: string | undefined
  tier?: TierName | undefined
}
export interface TokenAdminPorts {
  agents: {
    page(filter: AgentFilter, after: TimeCursor | undefined, limit: number): Promise<ListedAgent[]>
    count(filter: AgentFilter, most: number): Promise<number>
    one(id: string): Promise<ListedAgent | undefined>
    total(): Promise<number>
  }
  /** Number of active tokens per agent id. */
  inUse(agents: readonly string[], now: Date): Promise<ReadonlyMap<string, number>>
}

/** Totals stop counting at this number. */
const mostCounted = 1_001
const mostTokens = 100
const week = 7 * 86_400_000

const isActive = (now: string): string => `revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})`
const sums = 'sum(u.reads)::float8 AS reads, sum(u.writes)::float8 AS writes, sum(u.refused)::float8 AS refused'

const selectRevoked = `SELECT t.id, t.prefix, t.agent_id, t.revoked_at, coalesce((
      SELECT json_agg(json_build_object('at', f.at, 'token_id', f.token_id, 'class', f.request_class, 'limit', f."limit",
        'consumed', f.consumed, 'ip', f.ip) ORDER BY f.at, f.id)
      FROM rate_limit_refusals f WHERE f.limit_key = t.limit_key AND f.at <= t.revoked_at
        AND f.at > t.revoked_at - ${refusalWindow} * interval '1 ms'), '[]') AS evidence
  FROM tokens t WHERE t.revoked_reason = 'rate_limit' AND t.revoked_at IS NOT NULL AND ($1::text IS NULL OR t.agent_id = $1)
    AND ($2::timestamptz IS NULL OR (t.revoked_at, t.id) < ($2, $3))
  ORDER BY t.revoked_at DESC, t.id DESC LIMIT $4`

interface RevokedRow {
  id: string
  prefix: string
  agent_id: string
  revoked_at: Date
  evidence: { at: string; token_id: string; class: 'read' | 'write'; limit: number; consumed: number; ip: string }[]
}

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
  owner_claimed: agent.isOwned,
  restricted_at: agent.restrictedAt?.toISOString() ?? null,
  suspended_at: agent.suspendedAt?.toISOString() ?? null,
  created_at: agent.createdAt.toISOString(),
  active_tokens: activeTokens,
})
const none: Use = { reads: 0, writes: 0, refused: 0 }

/** Admin views of all tokens: totals, usage, and tokens that the rate limiter revoked. */
export function tokenAdmin(db: Database, { agents, inUse }: TokenAdminPorts) {
  async function requestsOf(ids: readonly string[], since: Date): Promise<Map<string, UsePoint[]>> {
    const rows = await db.query<UsePoint & { agent_id: string }>(
      'agents-use',
      `SELECT t.agent_id, u.hour AS at, ${sums} FROM tokens t JOIN token_usage u ON u.token_id = t.id AND u.hour >= $2
       WHERE t.agent_id = ANY($1::text[]) GROUP BY t.agent_id, u.hour`,
      [ids, since],
    )
    return Map.groupBy(rows, ({ agent_id }) => agent_id)
  }

  return {
    agents: read(listAgents, async ({ now }, { query: { q, tier, cursor, limit } }) => {
      const filter = { beginning: q, tier }
      const [found, total] = await Promise.all([
        agents.page(filter, parseCursor(cursor), limit + 1),
        agents.count(filter, mostCounted),
      ])
      const { shown, page } = pageOf(found, limit, total, ({ createdAt, id }) => ({ at: createdAt, id }))
      const ids = shown.map(({ id }) => id)
      const [active, use] = await Promise.all([inUse(ids, now), requestsOf(ids, startOf('7d', now))])
      return {
        body: {
          data: shown.map((agent) => {
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
          }),
          ...page,
        },
        resourceId: 'list',
        details: { count: shown.length },
      }
    }),

    agent: read(readAgentUse, async ({ now }, { params: { id }, query: { period } }) => {
      const agent = await agents.one(id)
      if (!agent) throw new Problem('not_found', 'There is no such agent.')
      const since = startOf(period, now)
      const [active, use, tokens, ofTokens, [counted]] = await Promise.all([
        inUse([id], now),
        requestsOf([id], since),
        db.query<TokenOverviewRow>(
          'agent-tokens',
          `SELECT ${columns} FROM tokens WHERE agent_id = $1 ORDER BY created_at DESC, id DESC LIMIT ${mostTokens}`,
          [id],
        ),
        db.query<Use & { token_id: string }>(
          'agent-tokens-use',
          `SELECT u.token_id, ${sums} FROM tokens t JOIN token_usage u ON u.token_id = t.id AND u.hour >= $2
           WHERE t.agent_id = $1 GROUP BY u.token_id`,
          [id, since],
        ),
        db.query<{ n: number }>('agent-tokens-count', 'SELECT count(*)::int AS n FROM tokens WHERE agent_id = $1', [
          id,
        ]),
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
    }),

    summary: read(summariseTokens, async ({ now }) => {
      const [total, [tokens], [use]] = await Promise.all([
        agents.total(),
        db.query<{ active: number; agents: number; revoked: number }>(
          'tokens-summary',
          `SELECT count(*) FILTER (WHERE ${isActive('$1')})::int AS active,
             count(DISTINCT agent_id) FILTER (WHERE ${isActive('$1')})::int AS agents,
             count(*) FILTER (WHERE revoked_reason = 'rate_limit' AND revoked_at > $2)::int AS revoked
           FROM tokens`,
          [now, new Date(now.getTime() - week)],
        ),
        db.query<Use>(
          'tokens-summary-use',
          `SELECT coalesce(sum(reads), 0)::float8 AS reads, coalesce(sum(writes), 0)::float8 AS writes,
             coalesce(sum(refused), 0)::float8 AS refused FROM token_usage WHERE hour >= $1`,
          [startOf('24h', now)],
        ),
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
    }),

    revocations: read(listRevocations, async (_ctx, { query: { agent_id, cursor, limit } }) => {
      const after = parseCursor(cursor)
      const [records, [count]] = await Promise.all([
        db.query<RevokedRow>('tokens-auto-revoked', selectRevoked, [
          agent_id ?? null,
          after?.at ?? null,
          after?.id ?? null,
          limit + 1,
        ]),
        db.query<{ n: number }>(
          'tokens-auto-revoked-count',
          "SELECT count(*)::int AS n FROM tokens WHERE revoked_reason = 'rate_limit' AND revoked_at IS NOT NULL AND ($1::text IS NULL OR agent_id = $1)",
          [agent_id ?? null],
        ),
      ])
      const { shown, page } = pageOf(records, limit, count?.n ?? 0, ({ revoked_at, id }) => ({ at: revoked_at, id }))
      return {
        body: {
          data: shown.map(({ id, prefix, agent_id: agentId, revoked_at, evidence }) => ({
            token_id: id,
            key_prefix: prefix,
            agent_id: agentId,
            revoked_at: revoked_at.toISOString(),
            evidence: evidence.map(({ at, ...refusal }) => ({ at: new Date(at).toISOString(), ...refusal })),
            evidence_until: new Date(revoked_at.getTime() + refusalRetention).toISOString(),
          })),
          ...page,
        },
        resourceId: agent_id ?? 'list',
        details: { count: shown.length },
      }
    }),
  }
}
