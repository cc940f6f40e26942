import { z } from 'zod'
import { evidenceLines, evidenceProblems, findingStates } from '#lib/kernel/evidence.ts'
import { operation, time } from '#lib/kernel/operation.ts'

export const CheckView = z
  .strictObject({
    name: z.string().meta({ description: '`<domain>.<what>`' }),
    state: z.enum([...findingStates, 'unknown']).meta({
      description:
        'holds: the check ran and found no problem; attention: somebody should look at this; fails: the check found a violation; not_applicable: nothing exists here to check; unknown: the check could not run, see `fault`',
    }),
    numbers: z.record(z.string(), z.number()),
    times: z.record(z.string(), time().nullable()),
    facts: z.record(z.string(), z.string()),
    page: z.string().nullable().meta({ description: 'The console page that shows the checked records' }),
    problems: z
      .array(
        z.strictObject({
          problem: z.enum(evidenceProblems),
          count: z.number().int(),
          page: z.string().nullable().meta({ description: 'The console page that lists exactly these records' }),
        }),
      )
      .meta({ description: 'Why the result is `attention` or `fails`, for checks that count records' }),
    took_ms: z.number().int(),
    fault: z.enum(['too_slow', 'unavailable', 'error']).nullable(),
  })
  .meta({ id: 'ComplianceCheck' })
export type CheckView = z.output<typeof CheckView>

export const LineView = z
  .strictObject({
    line: z.enum(evidenceLines),
    state: CheckView.shape.state.meta({ description: 'The worst result among its checks' }),
    checks: z.array(CheckView),
  })
  .meta({ id: 'ComplianceLine' })
export type LineView = z.output<typeof LineView>

export const readCompliance = operation({
  id: 'readCompliance',
  method: 'get',
  path: '/api/admin/compliance',
  summary: 'Run the data protection checks against the stores',
  description:
    'Each line is one or more checks that run against the stores during the request. Nothing is cached. A check that fails to run or takes too long returns `unknown` and does not affect the others. Returns counts, times and API terms; no content.',
  permission: 'compliance:audit',
  audit: { resourceType: 'compliance' },
  output: z.strictObject({
    data: z.strictObject({ asked_at: time(), took_ms: z.number().int(), lines: z.array(LineView) }),
  }),
})
