import { z } from 'zod'
import { AuditAct } from '#lib/domains/audit/contract.ts'
import { operation } from '#lib/kernel/operation.ts'
import { setupSteps, trendWeeks } from './rules.ts'

const when = z.iso.datetime()
const count = z.number().int()

export const readDashboard = operation({
  id: 'readDashboard',
  method: 'get',
  path: '/api/admin/dashboard',
  summary: 'Get the setup status, the trend of requests, recent activity and changes since the last visit',
  description:
    'For the overview of admins and auditors. `trend` and `since` are null for readers who may not see all privacy requests. The live checks are at /api/admin/compliance and /api/stores.',
  permission: 'console:audit',
  audit: { action: 'read', resourceType: 'dashboard' },
  limit: 'read',
  status: 200,
  output: z.strictObject({
    data: z.strictObject({
      as_of: when,
      setup: z
        .array(z.strictObject({ step: z.enum(setupSteps), is_done: z.boolean() }))
        .meta({ description: 'Settings of a complete installation, from its present state' }),
      trend: z
        .array(
          z.strictObject({
            from: when.meta({ description: 'Start of the week' }),
            received: count,
            closed: count,
            answered: count.meta({ description: 'Closed and not cancelled' }),
            on_time: count.meta({ description: 'Answered within the legal deadline' }),
            median_days: z.number().nullable().meta({ description: 'Of the requests that staff worked on' }),
            deletions: count,
          }),
        )
        .nullable()
        .meta({ description: `Privacy requests in each of the last ${trendWeeks} weeks, oldest first` }),
      since: z
        .strictObject({
          at: when.meta({ description: 'The reader’s sign-in before the current one' }),
          received: count.meta({ description: 'Privacy requests received since then' }),
          closed: count.meta({ description: 'Privacy requests closed since then' }),
          receipts: count.meta({ description: 'Deletion receipts signed since then' }),
        })
        .nullable(),
      activity: z
        .array(
          z.strictObject({
            id: z.string(),
            at: when,
            action: z.string().meta({ description: 'As in the audit log, or `revoke` for a revoked token' }),
            actor_id: z.string(),
            actor_name: z.string().nullable().meta({ description: 'Null if the account is deleted' }),
            resource_type: z.string(),
            resource_id: z.string(),
            resource_name: z.string().nullable().meta({
              description:
                'The name of an account, an agent or the subject of a request, or the name and prefix of a token; null for other types and after deletion',
            }),
            act: AuditAct,
          }),
        )
        .max(8)
        .meta({ description: 'Recent changes and exports by people, newest first' }),
    }),
  }),
})
