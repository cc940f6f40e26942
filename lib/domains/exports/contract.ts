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
  summary: 'Export all data stored about an agent',
  description: [
    'For the agent and its owner, and for admins in the console with a recently entered password; 404 for others. An admin gets no private content, unless',
    'the agent or its owner confirmed a request for access or portability within 30 days. Such an export names the admin and the request, and the owner gets an email. The document is `{agent_id, exported_at, schema_version,',
    'scope, knowledge_units: [{id, unit, visibility, quality_score, created_at, updated_at}], total_units, …}`: all units created by or',
    'attributed to the agent, then one array for each other kind of record (`references`: units that name it as validator), then `totals`. An interrupted transfer',
    'is not a valid document. `ndjson`: a header line, a line `{part, …record}` for each record, and a last line with the totals.',
    '`zip`: manifest.json (counts and SHA-256 of each file), and every part as JSON and as CSV. `scope=provided` (GDPR art. 20): the',
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
      .meta({ description: 'An agent. An admin can also name anyone else whom units name' }),
  }),
  query: z.strictObject({ format: z.enum(formats).default('json'), scope: z.enum(bases).default('all') }),
  contributed: true,
  output: z.string(),
  produces: ['application/json', 'application/x-ndjson', 'application/zip'],
  refusals: ['not_found', 'forbidden', 'quota_exceeded', 'step_up_required'],
})

const count = z.number().int()
/** One of up to 250,000 results, created by this server, so it is not validated again. */
const Results = z.custom<ImportResult[]>(Array.isArray).meta({
  type: 'array',
  items: {
    type: 'object',
    required: ['id', 'status'],
    properties: {
      id: { type: ['string', 'null'], description: 'As in the document; null if the document has no id for it' },
      status: { enum: ['stored', 'known', 'failed'] },
      code: { type: 'string', description: 'If it failed: the reason, as in the API’s problem documents' },
      detail: { type: 'string' },
    },
  },
})
export const ImportReport = z.strictObject({
  received: count.meta({ description: 'Number of importable items: units and skills' }),
  stored: count,
  known: count.meta({ description: 'Items that are already stored with the same content' }),
  failed: count,
  ignored: z
    .record(z.string(), count)
    .meta({ description: 'Parts of the document that are not imported, with their record counts' }),
  results: Results.meta({ description: 'One result per item, in the order of the document' }),
  results_left_out: count
    .optional()
    .meta({ description: 'In a response repeated by Idempotency-Key: there were too many results to store' }),
})
export type ImportReport = z.output<typeof ImportReport>

export const importDocument = operation({
  id: 'importDocument',
  method: 'post',
  path: '/v1/import',
  summary: 'Import an export from another registry',
  description: [
    'The body is an exported document, as JSON or NDJSON. It is processed while it is received. Units and skills keep their ids. Items and ids are checked',
    'like any contribution, become the importing agent’s, and name their previous author. Each item gets a result: stored, known',
    '(already stored with the same content) or failed, with the reason. Items that were erased here are not restored, so `agent_id` must precede the records. Rejected content counts like that of any contribution. If',
    'the document breaks off or its count does not match, stored items remain. The problem states their number, and sending the document again stores the rest.',
    `At most ${importLimits.items.toLocaleString('en')} items and ${importLimits.bytes / 2 ** 30} GiB. An item can have at most the tier’s unit size. An import counts as one write and earns no reputation.`,
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
