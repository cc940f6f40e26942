import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { rejectionPeriodNames } from './safety-rules.ts'

const count = z.number().int()
const when = z.iso.datetime()
const stages = z.record(z.string(), count).meta({ description: 'Counts by the stage that rejected' })

export const summariseRejections = operation({
  id: 'summariseRejections',
  method: 'get',
  path: '/api/admin/rejections',
  summary: 'Get statistics of rejected contributions: number, time, contributor and stage',
  description:
    'Counts, no content, kept for 30 days: by hour for the last 24 hours, by day (UTC) for longer periods. Lists the 50 agents with the most rejections.',
  permission: 'quarantine:admin',
  audit: { action: 'read', resourceType: 'rejection' },
  limit: 'read',
  status: 200,
  query: z.strictObject({ period: z.enum(rejectionPeriodNames).default('24h') }),
  output: z.strictObject({
    data: z.strictObject({
      period: z.enum(rejectionPeriodNames),
      step: z.enum(['hour', 'day']),
      total: count,
      by_stage: stages,
      points: z.array(z.strictObject({ at: when, total: count, by_stage: stages })),
      agents_total: count,
      agents: z.array(
        z.strictObject({
          agent_id: z.string().meta({ description: 'Or `user:<id>` for a person' }),
          total: count,
          by_stage: stages,
          last_at: when,
          last_hour: count.meta({ description: 'Rejections that count towards quarantine' }),
          standing: z.enum(['quiet', 'near', 'held']).meta({
            description:
              '`near`: after one more rejection within the hour, its next contribution is quarantined; `held`: its next contribution is quarantined',
          }),
        }),
      ),
      threshold: count.meta({ description: 'This many within an hour quarantine the next contribution' }),
    }),
  }),
})
