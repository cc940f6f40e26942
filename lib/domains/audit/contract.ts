import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'

export const AuditActions = ['create', 'read', 'update', 'delete', 'export', 'validate'] as const

export const AuditLogEntry = z
  .object({
    id: z.uuid(),
    action: z.enum(AuditActions),
    agentId: z
      .string()
      .meta({ description: 'Who acted: an agent, `user:<id>` for a person, `system:<job>` for a job' }),
    resourceType: z.string(),
    resourceId: z.string(),
    timestamp: z.iso.datetime(),
    ip: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'AuditLogEntry' })
export type AuditLogEntry = z.output<typeof AuditLogEntry>

const filters = {
  agent_id: z.string().max(200).optional(),
  action: z.enum(AuditActions).optional(),
  resource_type: z.string().max(100).optional(),
  resource_id: z.string().max(200).optional(),
  from: Timestamp.optional(),
  to: Timestamp.optional(),
  q: z.string().min(1).max(200).optional().meta({ description: 'Text within the resource id or the details' }),
}
export const AuditFilters = z.strictObject(filters)
export type AuditFilters = z.output<typeof AuditFilters>

export const queryAudit = operation({
  id: 'queryAudit',
  method: 'get',
  path: '/v1/audit',
  summary: 'Audit log, newest first',
  description: [
    'Admins and auditors see everything; an agent sees its own entries. `total` stops counting at 1,001. What no index leads to (`q`; `action` or `resource_type` without an actor or a',
    'resource) is looked for back in time, for two seconds a page: such a page may be short, or empty, and still have a `next_cursor`, which goes on from `searched_to`.',
  ].join(' '),
  permission: 'audit:self',
  audit: { action: 'read', resourceType: 'audit' },
  limit: 'read',
  status: 200,
  query: z.strictObject({ ...filters, cursor: Cursor.optional(), limit: PageLimit }),
  output: page(AuditLogEntry).extend({
    counted: z.enum(['exact', 'at_least']).meta({ description: 'Whether `total` is all, or counting stopped there' }),
    total_estimate: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'About how many match, by the statistics of the database, where `total` is not all' }),
    searched_to: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'How far back it was looked; null where the page is full, or all was looked at' }),
  }),
})

export const exportAudit = operation({
  id: 'exportAudit',
  method: 'get',
  path: '/v1/audit/export',
  summary: 'Audit log as CSV or JSON Lines',
  description: 'The same filters as the query, streamed whole, newest first.',
  permission: 'audit:self',
  audit: { action: 'export', resourceType: 'audit' },
  limit: 'read',
  status: 200,
  query: z.strictObject({ ...filters, format: z.enum(['csv', 'jsonl']).default('jsonl') }),
  output: z.string(),
  produces: ['application/jsonl', 'text/csv'],
})
