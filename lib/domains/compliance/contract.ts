import { z } from 'zod'
import { evidenceLines, findingStates } from '#lib/kernel/evidence.ts'
import { operation } from '#lib/kernel/operation.ts'

const when = z.iso.datetime()

export const CheckView = z
  .strictObject({
    name: z.string().meta({ description: '`<domain>.<what>`' }),
    state: z.enum([...findingStates, 'unknown']).meta({
      description:
        'holds: looked, and found nothing against it; attention: somebody should look; fails: it is not so; not_applicable: there is nothing here that it could be about; unknown: it could not be asked, see `fault`',
    }),
    numbers: z.record(z.string(), z.number()),
    times: z.record(z.string(), when.nullable()),
    facts: z.record(z.string(), z.string()),
    page: z.string().nullable().meta({ description: 'The page of the console that shows more of it' }),
    took_ms: z.number().int(),
    fault: z.enum(['too_slow', 'unavailable', 'error']).nullable(),
  })
  .meta({ id: 'ComplianceCheck' })
export type CheckView = z.output<typeof CheckView>

export const LineView = z
  .strictObject({
    line: z.enum(evidenceLines),
    state: CheckView.shape.state.meta({ description: 'The worst of its checks' }),
    checks: z.array(CheckView),
  })
  .meta({ id: 'ComplianceLine' })
export type LineView = z.output<typeof LineView>

export const readCompliance = operation({
  id: 'readCompliance',
  method: 'get',
  path: '/api/admin/compliance',
  summary: 'Whether each promise of data protection holds, asked of the stores now',
  description:
    'Each line is one question or more, put to the stores while the answer is awaited; nothing in it is fixed or remembered. A question that takes too long or fails is `unknown` and leaves the others be. Counts, times and words of the API’s own; no content.',
  permission: 'compliance:audit',
  audit: { action: 'read', resourceType: 'compliance' },
  limit: 'read',
  status: 200,
  output: z.strictObject({
    data: z.strictObject({ asked_at: when, took_ms: z.number().int(), lines: z.array(LineView) }),
  }),
})
