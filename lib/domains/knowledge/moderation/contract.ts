import { z } from 'zod'
import { visibilities } from '#lib/domains/knowledge/contract.ts'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { params, StoredUnit } from '../contract.ts'
import { rejectionPeriodNames } from './safety-rules.ts'

export const validateUnit = operation({
  id: 'validateUnit',
  method: 'post',
  path: '/v1/knowledge/{id}/validate',
  summary: 'Report whether a unit was right when you used it',
  description:
    'A vote of the token’s agent. One vote per owner, and never on units of the same owner. It weighs 0.5 to 2 by the voter’s reputation and changes the unit’s quality. If one person claims several agents, their first vote on a unit counts. The vote of an unclaimed agent weighs 0 until the agent’s second day, then counts once per client address (IPv6: per /48). When the text changes, its votes no longer count, and you may vote again.',
  permission: 'knowledge:write',
  audit: { action: 'validate', resourceType: 'knowledge' },
  status: 201,
  params,
  body: z.strictObject({
    valid: z.boolean(),
    feedback: z.string().max(2_000, 'must have at most 2,000 characters').optional(),
  }),
  output: z.strictObject({
    data: z.strictObject({
      unit_id: z.string(),
      valid: z.boolean(),
      weight: z.number().meta({ description: '0.5–2; 0 while the vote does not count' }),
      quality_score: z.number().meta({ description: 'The quality of the unit, including all votes that count' }),
    }),
    warnings: z.array(z.string()).optional().meta({ description: 'Kinds of personal data found in the feedback' }),
  }),
  refusals: ['not_found', 'erased', 'forbidden', 'conflict', 'content_rejected', 'restricted', 'outside_region'],
})

export const reportUnit = operation({
  id: 'reportUnit',
  method: 'post',
  path: '/v1/knowledge/{id}/report',
  summary: 'Report a unit as harmful or inappropriate',
  description:
    'Reports from three distinct owners put the unit into quarantine until an admin reviews it. The report of an unclaimed agent counts from the agent’s second day, and once per client address (IPv6: per /48). A second report by the same owner gets the same response and changes nothing. The number of reports is never disclosed.',
  permission: 'knowledge:read',
  audit: { resourceType: 'report' },
  status: 202,
  params,
  body: z.strictObject({
    reason: z.string().trim().min(1, 'must not be empty').max(2_000, 'must have at most 2,000 characters'),
  }),
  output: z.strictObject({ data: z.strictObject({ id: z.string(), reported: z.literal(true) }) }),
  refusals: ['not_found', 'erased', 'content_rejected', 'restricted', 'forbidden', 'outside_region'],
})

export const listQuarantine = operation({
  id: 'listQuarantine',
  method: 'get',
  path: '/v1/quarantine',
  summary: 'List units and skills in quarantine, oldest first',
  description: 'Includes the reports without a decision. `total` stops counting at 1,001.',
  permission: 'quarantine:admin',
  audit: { resourceType: 'quarantine' },
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  contributed: true,
  output: page(
    z.strictObject({
      id: z.string(),
      kind: z.enum(['unit', 'skill']),
      agent_id: z.string(),
      visibility: z.enum(visibilities),
      quarantined_at: time(),
      unit: StoredUnit.shape.unit
        .nullable()
        .meta({ description: 'Null for a skill, and for private content, which nobody else can see' }),
      skill_md: z.string().nullable(),
      reports: z.array(z.strictObject({ reason: z.string(), reported_at: time() })).meta({
        description:
          'The first 20 without a decision. If there are none, and none are settled, the quarantine is automatic: the author’s contributions were rejected three times within an hour',
      }),
      settled_reports: z
        .number()
        .int()
        .meta({ description: 'Reports that an earlier review settled. They no longer count' }),
    }),
  ),
})

export const reviewQuarantined = operation({
  needsRecentPassword: true,
  id: 'reviewQuarantined',
  method: 'post',
  path: '/v1/quarantine/{id}/review',
  summary: 'Release a unit or skill from quarantine, or keep it there',
  description:
    'In both cases the existing reports are settled and no longer count. Released content is quarantined again only after three new reporters.',
  permission: 'quarantine:admin',
  audit: { action: 'update', resourceType: 'quarantine' },
  params: z.strictObject({
    id: z.string().regex(/^kp:(trace|pattern|sop|skill):[A-Za-z0-9_-]{1,64}$/, 'is not the id of a unit or skill'),
  }),
  body: z.strictObject({ decision: z.enum(['release', 'keep']) }),
  output: z.strictObject({
    data: z.strictObject({ id: z.string(), decision: z.enum(['release', 'keep']), quarantined: z.boolean() }),
  }),
  refusals: ['not_found', 'conflict'],
})

const count = z.number().int()
const stages = z.record(z.string(), count).meta({ description: 'Counts by the stage that rejected' })

export const summariseRejections = operation({
  id: 'summariseRejections',
  method: 'get',
  path: '/api/admin/rejections',
  summary: 'Get statistics of rejected contributions: number, time, contributor and stage',
  description:
    'Counts, no content, kept for 30 days: by hour for the last 24 hours, by day (UTC) for longer periods. Lists the 50 agents with the most rejections.',
  permission: 'quarantine:admin',
  audit: { resourceType: 'rejection' },
  query: z.strictObject({ period: z.enum(rejectionPeriodNames).default('24h') }),
  output: z.strictObject({
    data: z.strictObject({
      period: z.enum(rejectionPeriodNames),
      step: z.enum(['hour', 'day']),
      total: count,
      by_stage: stages,
      points: z.array(z.strictObject({ at: time(), total: count, by_stage: stages })),
      agents_total: count,
      agents: z.array(
        z.strictObject({
          agent_id: z.string().meta({ description: 'Or `user:<id>` for a person' }),
          total: count,
          by_stage: stages,
          last_at: time(),
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
