import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'

const when = z.iso.datetime()
const count = z.number().int()
const days = z.number().nullable()
const month = z
  .string()
  .regex(/^20\d\d-(0[1-9]|1[0-2])$/, 'must be a month like 2026-01')
  .optional()
  .meta({ description: 'In UTC; the last complete month if omitted' })

const MonthlyReport = z
  .strictObject({
    month: z.string(),
    from: when,
    until: when.meta({ description: 'The end of the month, or now' }),
    requests: z.strictObject({
      received: count,
      closed: count,
      answered: count.meta({ description: 'Closed and not cancelled' }),
      refused: count,
      on_time: count.meta({ description: 'Answered within the legal deadline' }),
      median_days: days.meta({ description: 'From receipt to the answer, of requests that staff worked on' }),
      longest_days: days,
      open: count.meta({ description: 'At the end' }),
      late: count.meta({ description: 'Open and past the legal deadline at the end' }),
      failed: count.meta({ description: 'With a failed part in the month' }),
      kinds: z.array(z.strictObject({ kind: z.string(), received: count, done: count, refused: count })),
    }),
    deletions: z
      .array(z.strictObject({ from: when, count }))
      .meta({ description: 'With a receipt, by week from the first day' }),
    verified: z.strictObject({
      receipts: count.meta({ description: 'Signed receipts' }),
      failed: count.meta({ description: 'Deletions begun in the month that are failed now' }),
      late_writes: count.meta({ description: 'Found and deleted by the search a day later' }),
      readings: count.meta({ description: 'Complete readings of every connected store' }),
      attestations: count,
      places_erased: count,
      places_left: count,
    }),
    holds: z.strictObject({ set: count, ended: count, in_force: count }),
  })
  .meta({ id: 'MonthlyReport' })
export type MonthlyReport = z.output<typeof MonthlyReport>

const shared = { permission: 'console:audit' } as const
export const readReport = operation({
  ...shared,
  id: 'readReport',
  method: 'get',
  path: '/api/admin/report',
  summary: 'Get the data protection report of a month',
  audit: { resourceType: 'report' },
  query: z.strictObject({ month }),
  output: z.strictObject({ data: MonthlyReport }),
})

export const exportReport = operation({
  ...shared,
  id: 'exportReport',
  method: 'get',
  path: '/api/admin/report/export',
  summary: 'Download the data protection report of a month as CSV or PDF',
  audit: { action: 'export', resourceType: 'report' },
  query: z.strictObject({ month, format: z.enum(['csv', 'pdf']).default('csv') }),
  output: z.string(),
  produces: ['text/csv', 'application/pdf'],
})
