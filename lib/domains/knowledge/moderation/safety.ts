import { rejectionsToQuarantine, rejectionWindow } from '#lib/domains/knowledge/rules.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { rejectionsByAgent, rejectionsByPoint } from './repository.ts'
import { summariseRejections } from './safety-contract.ts'
import { rejectionPeriods, rejectionPointsOf, rejectionStatusOf } from './safety-rules.ts'

/** Admin views of content safety, apart from the quarantine list. */
export const safetyService = (db: Database) => ({
  rejections: read(summariseRejections, async ({ now }, { query: { period } }) => {
    const starts = rejectionPointsOf(period, now)
    const since = starts[0] ?? now
    const { step } = rejectionPeriods[period]
    const [counted, agents] = await Promise.all([
      rejectionsByPoint(db, { since, until: now, step }),
      rejectionsByAgent(db, { since, recent: new Date(now.getTime() - rejectionWindow), until: now }),
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
