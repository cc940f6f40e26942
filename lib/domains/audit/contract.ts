import { z } from 'zod'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'
import { maxSearches, savedPageNames } from './rules.ts'

export const AuditActions = ['create', 'read', 'update', 'delete', 'export', 'validate'] as const

export const AuditLogEntry = z
  .object({
    id: z.uuid(),
    action: z.enum(AuditActions),
    agentId: z
      .string()
      .meta({ description: 'The actor: an agent, `user:<id>` for a person, `system:<job>` for a job' }),
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
  q: z.string().min(1).max(200).optional().meta({ description: 'Text in the resource id or the details' }),
  reads: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .meta({ description: '`false` omits entries with the action `read`' }),
}
export const AuditFilters = z.strictObject(filters)
export type AuditFilters = z.output<typeof AuditFilters>

const name = z.string().nullable()
const NamedEntry = AuditLogEntry.extend({
  actorName: name.meta({ description: 'The current name of the person or agent; only for admins and auditors' }),
  resourceName: name.meta({
    description:
      'The current name of the person, agent or subject of the request, or the name and prefix of the token; only for admins and auditors',
  }),
}).meta({ id: 'NamedAuditLogEntry' })

const counts = {
  counted: z
    .enum(['exact', 'at_least'])
    .meta({ description: 'Whether `total` counts all matches or stopped at its limit' }),
  total_estimate: z
    .number()
    .int()
    .nullable()
    .meta({ description: 'Estimated number of matches, from database statistics, if `total` does not count all' }),
  searched_to: time()
    .nullable()
    .meta({ description: 'How far back the scan went; null if the page is full or the scan is complete' }),
}

export const queryAudit = operation({
  id: 'queryAudit',
  method: 'get',
  path: '/v1/audit',
  summary: 'List the audit log, newest first',
  description: [
    'Admins and auditors see all entries; an agent sees its own. `total` stops counting at 1,001. Filters that no index supports (`q`; `action` or `resource_type` without an actor or a',
    'resource) scan backwards in time for at most two seconds per page. Such a page may be short or empty and still have a `next_cursor`, which continues from `searched_to`.',
  ].join(' '),
  permission: 'audit:self',
  audit: { resourceType: 'audit' },
  query: z.strictObject({ ...filters, cursor: Cursor.optional(), limit: PageLimit }),
  output: page(NamedEntry).extend(counts),
})

export const AuditAct = z
  .strictObject({
    parts: z
      .array(z.strictObject({ entry: NamedEntry, count: z.number().int() }))
      .meta({ description: 'Entries of one kind: one of them, and how many. The first part describes the act.' }),
    count: z.number().int().meta({ description: 'Number of entries' }),
    tries: z
      .number()
      .int()
      .meta({ description: 'How often the same was tried without success; 1 if the act is no repetition' }),
    names: z
      .record(z.string(), z.string())
      .meta({ description: 'Current names of people and agents in `details`, by id' }),
  })
  .meta({ id: 'AuditAct' })
export type AuditAct = z.output<typeof AuditAct>

export const queryActs = operation({
  id: 'listAuditActs',
  method: 'get',
  path: '/api/audit/acts',
  summary: 'List the audit log by act, newest first',
  description: 'The entries that one transaction wrote are one act. Takes the filters of the list of entries.',
  permission: 'audit:audit',
  audit: { resourceType: 'audit' },
  query: z.strictObject({ ...filters, cursor: Cursor.optional(), limit: PageLimit }),
  output: page(AuditAct).extend(counts),
  refusals: ['forbidden'],
})

export const exportAudit = operation({
  id: 'exportAudit',
  method: 'get',
  path: '/v1/audit/export',
  summary: 'Export the audit log as CSV or JSON Lines',
  description: 'Accepts the same filters as the list. Streams all matching entries, newest first.',
  permission: 'audit:self',
  audit: { action: 'export', resourceType: 'audit' },
  query: z.strictObject({ ...filters, format: z.enum(['csv', 'jsonl']).default('jsonl') }),
  output: z.string(),
  produces: ['application/jsonl', 'text/csv'],
})

export const findActors = operation({
  id: 'findAuditActors',
  method: 'get',
  path: '/api/audit/actors',
  summary: 'People and agents by name, email address or id, as actors of the audit log',
  permission: 'audit:audit',
  audit: { resourceType: 'audit' },
  query: z.strictObject({ q: z.string().trim().min(2).max(200) }),
  output: z.strictObject({
    data: z
      .array(
        z
          .strictObject({
            id: z.string().meta({ description: 'As the entries have it: `user:<id>` for a person' }),
            kind: z.enum(['person', 'agent']),
            name,
            email: name,
          })
          .meta({ id: 'AuditActor' }),
      )
      .meta({ description: 'At most 20' }),
  }),
  refusals: ['forbidden'],
})

const SearchId = z.string().regex(/^srch_[0-9A-Za-z]{22}$/, 'is not the id of a saved search')

const SavedSearch = z
  .strictObject({
    id: z.string(),
    page: z.enum(savedPageNames),
    name: z.string(),
    query: z.string().meta({ description: 'The filters as in the URL of the page, without `?`' }),
    created_at: time(),
  })
  .meta({ id: 'SavedAuditSearch' })

const search = { resourceType: 'saved-search' }

export const listSearches = operation({
  id: 'listAuditSearches',
  method: 'get',
  path: '/api/audit/searches',
  summary: 'List my saved filters of a page, by name',
  description: `Returns all of them. An account can save at most ${maxSearches}.`,
  permission: 'audit:audit',
  audit: search,
  query: z.strictObject({ page: z.enum(savedPageNames).optional() }),
  output: page(SavedSearch),
  refusals: ['forbidden'],
})

export const saveSearch = operation({
  id: 'saveAuditSearch',
  method: 'post',
  path: '/api/audit/searches',
  summary: 'Save filters of a page under a name',
  description: `Only you can see it. Names must be unique. An account can save at most ${maxSearches}.`,
  permission: 'audit:audit',
  audit: search,
  body: z.strictObject({
    page: z.enum(savedPageNames).default('audit'),
    name: z
      .string()
      .trim()
      .min(1, 'must not be empty')
      .max(80, 'must have at most 80 characters')
      .regex(/^\P{Cc}*$/u, 'must not contain control characters')
      .refine((text) => text.isWellFormed(), 'must not contain unpaired surrogates'),
    query: z
      .string()
      .max(2_000, 'must have at most 2,000 characters')
      .refine(
        (text) => text.isWellFormed() && !/%00|\0/.test(text),
        'must not contain NUL characters or unpaired surrogates',
      )
      .meta({ description: 'Filters of the page, each once, in the format of a URL query' }),
  }),
  output: z.strictObject({ data: SavedSearch }),
  refusals: ['forbidden', 'conflict'],
})

export const deleteSearch = operation({
  id: 'deleteAuditSearch',
  method: 'delete',
  path: '/api/audit/searches/{id}',
  summary: 'Delete saved filters of mine',
  permission: 'audit:audit',
  audit: search,
  deletes: { counts: 'savedSearchesDeleted' },
  params: z.strictObject({ id: SearchId }),
  output: z.undefined(),
  refusals: ['forbidden', 'not_found'],
})
