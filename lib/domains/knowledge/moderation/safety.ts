import { rejectionsToQuarantine, rejectionWindow } from '#lib/domains/knowledge/rules.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { summariseRejections } from './safety-contract.ts'
import { rejectionPeriods, rejectionPointsOf, rejectionStatusOf } from './safety-rules.ts'

const mostAgents = 50

const byPoint = `SELECT floor((extract(epoch FROM at) * 1000 - $2::float8) / $3::float8)::int AS point, stage, count(*)::int AS n
  FROM content_rejections WHERE at >= $1 AND at <= $4 GROUP BY 1, 2`
const byAgent = `SELECT agent_id, sum(n)::int AS total, sum(lately)::int AS lately, max(last_at) AS last_at,
    json_object_agg(stage, n ORDER BY stage) AS by_stage, count(*) OVER ()::int AS agents
  FROM (SELECT agent_id, stage, count(*)::int AS n, count(*) FILTER (WHERE at > $2)::int AS lately, max(at) AS last_at
    FROM content_rejections WHERE at >= $1 AND at <= $3 GROUP BY agent_id, stage) AS staged
  GROUP BY agent_id ORDER BY sum(lately) DESC, sum(n) DESC, agent_id LIMIT ${mostAgents}`

interface AgentRow {
  agent_id: string
  total: number
  lately: number
  last_at: Date
  by_stage: Record<string, number>
  agents: number
}

/** Admin views of content safety, apart from the quarantine list. */
export const safetyService = (db: Database) => ({
  rejections: read(summariseRejections, async ({ now }, { query: { period } }) => {
    const starts = rejectionPointsOf(period, now)
    const since = starts[0] ?? now
    const { step } = rejectionPeriods[period]
    const [counted, agents] = await Promise.all([
      db.query<{ point: number; stage: string; n: number }>('rejections-by-point', byPoint, [
        since,
        since.getTime(),
        step,
        now,
      ]),
      db.query<AgentRow>('rejections-by-agent', byAgent, [since, new Date(now.getTime() - rejectionWindow), now]),
    ])
    const sums: Record<string, number> = {}
    const points = starts.map((at) => ({ at: at.toISOString(), total: 0, by_stage: {} as Record<string, number> }))
    for (const { point, stage, n } of counted) {
      sums[stage] = (sums[stage] ?? 0) + n
      const into = points[point]
      if (!into) continue
      into.total += n
      into.by_stage[stage] = n
    }
    return {
      body: {
        data: {
          period,
          step: step === 3_600_000 ? ('hour' as const) : ('day' as const),
          total: Object.values(sums).reduce((sum, n) => sum + n, 0),
          by_stage: sums,
          points,
          agents_total: agents[0]?.agents ?? 0,
          agents: agents.map(({ agent_id, total, lately, last_at, by_stage }) => ({
            agent_id,
            total,
            by_stage,
            last_at: last_at.toISOString(),
            last_hour: lately,
            standing: rejectionStatusOf(lately),
          })),
          threshold: rejectionsToQuarantine,
        },
      },
      resourceId: 'summary',
      details: { period },
    }
  }),
})
