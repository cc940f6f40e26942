import { z } from 'zod'
import type { ImportResult } from '#lib/kernel/importer.ts'
import { operation } from '#lib/kernel/operation.ts'
import { importLimits } from './rules.ts'

export const formats = ['json', 'ndjson', 'zip'] as const
export const bases = ['provided', 'all'] as const

export const exportAgent = operation({
  id: 'exportAgent',
  method: 'get',
  path: '/v1/export/{agent_id}',
  summary: 'Everything that is held on an agent',
  description: [
    'For the agent, its owner and admins; 404 for others. The document is `{agent_id, exported_at, schema_version,',
    'scope, knowledge_units: [{id, unit, visibility, quality_score, created_at, updated_at}], total_units, …}`: all units created by or',
    'attributed to the agent, then one array for each other kind of record (`references`: units that name it as validator), then `totals`. An interrupted transfer',
    'is not a valid document. `ndjson`: a header line, a line `{part, …record}` for each record, and a last line with the totals.',
    '`zip`: manifest.json (counts and SHA-256 of each file) and every part as JSON and as CSV. `scope=provided` (GDPR art. 20): the',
    'provided data; `all` (art. 15): also derived data. Exports count per UTC day, by the agent’s tier.',
  ].join(' '),
  permission: 'exports:read',
  audit: { action: 'export', resourceType: 'agent' },
  limit: 'read',
  status: 200,
  params: z.strictObject({
    agent_id: z
      .string()
      .min(1)
      .max(300)
      .regex(/^[^\p{Cc}\p{Cs}]+$/u, 'is not the id of an agent')
      .meta({ description: 'An agent; for an admin also anybody else whom units name' }),
  }),
  query: z.strictObject({ format: z.enum(formats).default('json'), scope: z.enum(bases).default('all') }),
  contributed: true,
  output: z.string(),
  produces: ['application/json', 'application/x-ndjson', 'application/zip'],
  refusals: ['not_found', 'quota_exceeded'],
})

const count = z.number().int()
/** One of up to 250,000 results, created by this server, so it is not validated again. */
const Results = z.custom<ImportResult[]>(Array.isArray).meta({
  type: 'array',
  items: {
    type: 'object',
    required: ['id', 'status'],
    properties: {
      id: { type: ['string', 'null'], description: 'As the document names it; null where it names none' },
      status: { enum: ['stored', 'known', 'failed'] },
      code: { type: 'string', description: 'Of a failed one: why, as in the problems of the API' },
      detail: { type: 'string' },
    },
  },
})
export const ImportReport = z.strictObject({
  received: count.meta({ description: 'Items that can be imported: units and skills' }),
  stored: count,
  known: count.meta({ description: 'Here already, with the same content' }),
  failed: count,
  ignored: z
    .record(z.string(), count)
    .meta({ description: 'Parts of the document that are not imported, with their records' }),
  results: Results.meta({ description: 'One for each item, in the document’s order' }),
  results_left_out: count
    .optional()
    .meta({ description: 'In an answer repeated for its Idempotency-Key: they were too many to keep' }),
})
export type ImportReport = z.output<typeof ImportReport>

export const importDocument = operation({
  id: 'importDocument',
  method: 'post',
  path: '/v1/import',
  summary: 'Import an export of another registry',
  description: [
    'An exported document, as JSON or NDJSON, read while it arrives. Units and skills keep their ids; they and their ids are checked',
    'like any contribution, become the importing agent’s, and name who wrote them before. One result for each: stored, known',
    '(the same content is here already) or failed, with the reason; what was erased here does not come back, so `agent_id` has to precede the records. Content that is refused counts like that of any contribution. What was stored stays when',
    'the document breaks in the middle or its count does not match; the problem then says how many, and sending it again stores the rest.',
    `At most ${importLimits.items.toLocaleString('en')} items and ${importLimits.bytes / 2 ** 30} GiB; an item as large as the tier’s unit. It counts as one write and earns no reputation.`,
  ].join(' '),
  permission: 'imports:write',
  stores: 'one record',
  audit: { action: 'create', resourceType: 'import' },
  limit: 'write',
  status: 200,
  upload: ['application/json', 'application/x-ndjson'],
  output: z.strictObject({ data: ImportReport }),
  refusals: ['erased', 'restricted', 'idempotency_in_progress'],
})
