import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, page } from '#lib/kernel/pages.ts'
import { bases } from './contract.ts'

const when = z.iso.datetime()
const ExportId = z.string().regex(/^exp_[0-9A-Za-z]{22}$/, 'is not the id of an export')
const params = z.strictObject({ id: ExportId })

const preparedStates = ['queued', 'running', 'ready', 'expired', 'failed'] as const

export const ExportView = z
  .strictObject({
    id: z.string(),
    scope: z.enum(bases),
    state: z.enum(preparedStates),
    parts_done: z.number().int(),
    parts_total: z.number().int().meta({ description: '0 until it has begun' }),
    records: z.number().int(),
    bytes: z.number().int().nullable(),
    sha256: z.string().nullable().meta({ description: 'Of the file, hexadecimal' }),
    request_id: z.string().nullable().meta({ description: 'The privacy request that it answers' }),
    fault: z
      .string()
      .nullable()
      .meta({ description: '`erased`: something that was in it was erased meanwhile; else the code of a problem' }),
    created_at: when,
    ready_at: when.nullable(),
    expires_at: when.nullable(),
    downloaded_at: when.nullable().meta({ description: 'When it was fetched whole for the first time' }),
  })
  .meta({ id: 'PreparedExport' })
export type ExportView = z.output<typeof ExportView>

const Quota = z.strictObject({
  limit: z.number().int().nullable().meta({ description: 'Exports a UTC day; null: no limit' }),
  used: z.number().int(),
  resets_at: when,
})

export const prepareExport = operation({
  id: 'prepareExport',
  method: 'post',
  path: '/api/privacy/exports',
  summary: 'Prepare everything that is held on me as a file',
  description: [
    'For people; an agent exports itself with GET /v1/export/{agent_id}. A job writes a ZIP: the account, its sessions, requests and audit entries, and a folder for each',
    'agent of the person; every part as JSON and CSV, and manifest.json with counts and the SHA-256 of each file. `scope=provided` (GDPR art. 20): what was provided;',
    '`all` (art. 15): also derived data. A running export of the same scope is joined. Its owner can download the file for four hours. Exports count per UTC day.',
  ].join(' '),
  permission: 'privacy:self',
  audit: { action: 'export', resourceType: 'export' },
  limit: 'write',
  status: 202,
  body: z.strictObject({ scope: z.enum(bases).default('all') }).prefault({}),
  output: z.strictObject({ data: ExportView }),
  refusals: ['forbidden', 'quota_exceeded', 'fenced'],
})

export const listExports = operation({
  id: 'listExports',
  method: 'get',
  path: '/api/privacy/exports',
  summary: 'My prepared exports, newest first',
  description:
    'Those of the last day, also expired ones; and how many more may be begun today. Copies that a privacy request asked for count, and are never refused for it.',
  permission: 'privacy:self',
  audit: { action: 'read', resourceType: 'export' },
  limit: 'read',
  status: 200,
  query: z.strictObject({ cursor: Cursor.optional(), limit: z.coerce.number().int().min(1).max(100).default(20) }),
  output: page(ExportView).extend({ quota: Quota }),
  refusals: ['forbidden'],
})

export const readExport = operation({
  id: 'readExport',
  method: 'get',
  path: '/api/privacy/exports/{id}',
  summary: 'How far one of my exports is',
  permission: 'privacy:self',
  audit: { action: 'read', resourceType: 'export' },
  limit: 'read',
  status: 200,
  params,
  output: z.strictObject({ data: ExportView }),
  refusals: ['forbidden', 'not_found'],
})

export const downloadExport = operation({
  id: 'downloadExport',
  method: 'get',
  path: '/api/privacy/exports/{id}/file',
  summary: 'The file of one of my exports',
  description:
    'For its owner’s session alone; to everybody else it is a 404. 409 while it is being prepared, 410 once it is gone. A transfer breaks off when the export is deleted meanwhile; check `sha256`.',
  permission: 'privacy:self',
  audit: { action: 'export', resourceType: 'export' },
  limit: 'read',
  status: 200,
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
  description: 'The file goes at once; one that is being prepared is given up. It still counts in the day’s quota.',
  permission: 'privacy:self',
  audit: { action: 'delete', resourceType: 'export' },
  deletes: { counts: 'exportsDeleted' },
  limit: 'write',
  status: 204,
  params,
  output: z.undefined(),
  refusals: ['forbidden', 'not_found'],
})
