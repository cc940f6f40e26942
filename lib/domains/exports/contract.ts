import { z } from 'zod'
import type { ImportResult } from '#lib/kernel/importer.ts'
import { operation, sharedFields, time } from '#lib/kernel/operation.ts'
import { Cursor, page } from '#lib/kernel/pages.ts'
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
    'The body is an exported document, as JSON or NDJSON, read while it arrives. Units and skills keep their ids. Items and ids are checked',
    'like any contribution, become the importing agent’s, and name their previous author. Each item gets a result: stored, known',
    '(stored before) or failed, with the reason. Items that were erased here are not restored, so `agent_id` must precede the records. If',
    'the document breaks off or its count does not match, stored items remain, and sending the document again stores the rest.',
    `At most ${importLimits.items.toLocaleString('en')} items and ${importLimits.bytes / 2 ** 30} GiB. An item can have at most the tier’s unit size. An import counts as one write and earns no reputation.`,
  ].join(' '),
  permission: 'imports:write',
  stores: 'one record',
  audit: { resourceType: 'import' },
  status: 200,
  upload: ['application/json', 'application/x-ndjson'],
  output: z.strictObject({ data: ImportReport }),
  refusals: ['erased', 'restricted', 'idempotency_in_progress'],
})

const Held = sharedFields('InventoryLine', {
  store: z.string(),
  what: z.string(),
  since: time().nullable().meta({ description: 'When the oldest record was stored' }),
  until: time()
    .nullable()
    .meta({ description: 'When the last record is deleted automatically; null if no period applies' }),
  purpose: z.string(),
  basis: z.string().meta({ description: 'The lawful basis, as text' }),
  kept: z.string().meta({ description: 'The retention period, as text' }),
  where: z.string().meta({ description: 'The location of the store' }),
})
export const Inventory = z.strictObject({
  data: z
    .array(z.strictObject({ holder: z.string(), count: z.number().int(), ...Held }))
    .meta({ description: 'What an erasure deletes, by data source, including sources without data about you' }),
  kept_beside: z
    .array(z.strictObject({ name: z.string(), count: z.number().int().nullable(), ...Held }))
    .meta({ description: 'Records retained after an erasure, as proof or by law; null if they are not counted' }),
  total: z.number().int().meta({ description: 'The sum of the counts in data' }),
  subject: z.strictObject({
    account_id: z.string().nullable(),
    agents: z.array(z.string()),
    self_hosted: z.array(z.string()).meta({
      description:
        'Agents that run and store their memory elsewhere. We store only what they shared. Ask their operator about data stored there',
    }),
  }),
  as_of: time(),
})
export type Inventory = z.output<typeof Inventory>

export const readInventory = operation({
  id: 'readInventory',
  method: 'get',
  path: '/api/privacy/inventory',
  summary: 'List the data stored about me, and why',
  description: [
    'For a person: the data of the account and of all agents that they own, or of one agent (`agent_id`). For an agent’s token: the data of the agent.',
    'One line per data source: number of records, oldest record, purpose, lawful basis, retention period and location (GDPR art. 13–15).',
    'An export contains the records themselves.',
  ].join(' '),
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
  audit: { resourceType: 'inventory' },
  query: z.strictObject({
    agent_id: z.string().min(1).max(64).optional().meta({ description: 'One of the person’s agents' }),
  }),
  output: Inventory,
  refusals: ['not_found'],
})

const ExportId = z.string().regex(/^exp_[0-9A-Za-z]{22}$/, 'is not the id of an export')
const params = z.strictObject({ id: ExportId })

const preparedStates = ['queued', 'running', 'ready', 'expired', 'failed'] as const

export const ExportView = z
  .strictObject({
    id: z.string(),
    scope: z.enum(bases),
    state: z.enum(preparedStates),
    parts_done: z.number().int(),
    parts_total: z.number().int().meta({ description: '0 until preparation starts' }),
    records: z.number().int(),
    bytes: z.number().int().nullable(),
    sha256: z.string().nullable().meta({ description: 'Of the file, in hexadecimal' }),
    request_id: z.string().nullable().meta({ description: 'The privacy request that this export answers' }),
    fault: z.string().nullable().meta({
      description: '`erased`: data in the export was erased in the meantime; otherwise the code of a problem',
    }),
    created_at: time(),
    ready_at: time().nullable(),
    expires_at: time().nullable(),
    downloaded_at: time().nullable().meta({ description: 'When the complete file was first downloaded' }),
  })
  .meta({ id: 'PreparedExport' })
export type ExportView = z.output<typeof ExportView>

const Quota = z.strictObject({
  limit: z.number().int().nullable().meta({ description: 'Exports per UTC day; null: no limit' }),
  used: z.number().int(),
  resets_at: time(),
})

export const prepareExport = operation({
  id: 'prepareExport',
  method: 'post',
  path: '/api/privacy/exports',
  summary: 'Prepare an export of all data stored about me',
  description: [
    'For people; an agent exports itself with GET /v1/export/{agent_id}. A job writes a ZIP: the account, its sessions, requests and audit entries, and a folder for each',
    'agent of the person; every part as JSON and CSV, and manifest.json with counts and the SHA-256 of each file. `scope=provided` (GDPR art. 20): the data that was provided;',
    '`all` (art. 15): also derived data. A running export of the same scope is returned. Its owner can download the file for four hours.',
  ].join(' '),
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
  audit: { action: 'export', resourceType: 'export' },
  status: 202,
  body: z.strictObject({ scope: z.enum(bases).default('all') }).prefault({}),
  output: z.strictObject({ data: ExportView }),
  refusals: ['forbidden', 'quota_exceeded', 'fenced'],
})

export const listExports = operation({
  id: 'listExports',
  method: 'get',
  path: '/api/privacy/exports',
  summary: 'List my prepared exports, newest first',
  description:
    'Exports of the last day, including expired ones, and how many more can be started today. Copies requested by a privacy request count towards the limit but are never rejected because of it.',
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
  audit: { resourceType: 'export' },
  query: z.strictObject({ cursor: Cursor.optional(), limit: z.coerce.number().int().min(1).max(100).default(20) }),
  output: page(ExportView).extend({ quota: Quota }),
  refusals: ['forbidden'],
})

export const readExport = operation({
  id: 'readExport',
  method: 'get',
  path: '/api/privacy/exports/{id}',
  summary: 'Get the progress of one of my exports',
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
  audit: { resourceType: 'export' },
  params,
  output: z.strictObject({ data: ExportView }),
  refusals: ['forbidden', 'not_found'],
})

export const downloadExport = operation({
  id: 'downloadExport',
  method: 'get',
  path: '/api/privacy/exports/{id}/file',
  summary: 'Download the file of one of my exports',
  description:
    'Only for sessions of its owner; 404 for anyone else. 409 while it is being prepared, 410 after it was deleted. The transfer breaks off if the export is deleted meanwhile; check `sha256`.',
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
  audit: { action: 'export', resourceType: 'export' },
  params,
  contributed: true,
  output: z.string(),
  produces: ['application/zip'],
  refusals: ['forbidden', 'not_found', 'wrong_state', 'expired'],
})

export const deleteExport = operation({
  id: 'deleteExport',
  method: 'delete',
  path: '/api/privacy/exports/{id}',
  summary: 'Delete one of my exports',
  description:
    'Deletes the file immediately. An export in preparation is cancelled. It still counts towards the daily limit.',
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
  audit: { resourceType: 'export' },
  deletes: { counts: 'exportsDeleted' },
  params,
  output: z.undefined(),
  refusals: ['forbidden', 'not_found'],
})

export const copyProblems = ['failed', 'late'] as const
export type CopyProblem = (typeof copyProblems)[number]

export const listCopyProblems = operation({
  id: 'listCopyProblems',
  method: 'get',
  path: '/api/admin/exports',
  summary: 'List prepared exports that failed or outlived their term, newest first',
  description: 'Failed exports are listed for 24 hours. At most 100; `total` counts all.',
  permission: 'exports:audit',
  audit: { resourceType: 'export' },
  query: z.strictObject({ scope: z.enum(bases), problem: z.enum(copyProblems) }),
  output: z.strictObject({
    data: z.array(
      z
        .strictObject({
          id: z.string(),
          account_id: z.string(),
          account_name: z.string().nullable(),
          request_id: z.string().nullable().meta({ description: 'The privacy request that this export answers' }),
          fault: z.string().nullable().meta({ description: 'The code of the error; null if none is recorded' }),
          created_at: time(),
          expires_at: time().nullable(),
        })
        .meta({ id: 'CopyWithProblem' }),
    ),
    total: z.number().int(),
  }),
})
