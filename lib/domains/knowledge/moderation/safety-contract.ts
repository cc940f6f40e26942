import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { rejectionPeriodNames } from './safety-rules.ts'

const count = z.number().int()
const when = z.iso.datetime()
const stages = z.record(z.string(), count).meta({ description: 'Counts by the stage that refused' })

export const summariseRejections = operation({
  id: 'summariseRejections',
  method: 'get',
  path: '/api/admin/rejections',
  summary: 'Contributions that were refused for their content: how many, when, whose, at which stage',
  description:
    'Counts, never content. They are kept for 30 days. By the hour over 24 hours, by the day (UTC) beyond. The 50 agents with most are named.',
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
          last_hour: count.meta({ description: 'What counts towards the quarantine' }),
          standing: z.enum(['quiet', 'near', 'held']).meta({
            description:
              '`near`: one more within the hour, and what it contributes next waits for review; `held`: it waits',
          }),
        }),
      ),
      threshold: count.meta({ description: 'So many within an hour put what comes next into quarantine' }),
    }),
  }),
})
