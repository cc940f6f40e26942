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
    parts_total: z.number().int().meta({ description: '0 until preparation starts' }),
    records: z.number().int(),
    bytes: z.number().int().nullable(),
    sha256: z.string().nullable().meta({ description: 'Of the file, in hexadecimal' }),
    request_id: z.string().nullable().meta({ description: 'The privacy request that this export answers' }),
    fault: z.string().nullable().meta({
      description: '`erased`: data in the export was erased in the meantime; otherwise the code of a problem',
    }),
    created_at: when,
    ready_at: when.nullable(),
    expires_at: when.nullable(),
    downloaded_at: when.nullable().meta({ description: 'When the complete file was first downloaded' }),
  })
  .meta({ id: 'PreparedExport' })
export type ExportView = z.output<typeof ExportView>

const Quota = z.strictObject({
  limit: z.number().int().nullable().meta({ description: 'Exports per UTC day; null: no limit' }),
  used: z.number().int(),
  resets_at: when,
})

export const prepareExport = operation({
  id: 'prepareExport',
  method: 'post',
  path: '/api/privacy/exports',
  summary: 'Prepare an export of all data stored about me',
  description: [
    'For people; an agent exports itself with GET /v1/export/{agent_id}. A job writes a ZIP: the account, its sessions, requests and audit entries, and a folder for each',
    'agent of the person; every part as JSON and CSV, and manifest.json with counts and the SHA-256 of each file. `scope=provided` (GDPR art. 20): the data that was provided;',
    '`all` (art. 15): also derived data. A running export of the same scope is returned. Its owner can download the file for four hours. Exports count per UTC day.',
  ].join(' '),
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
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
  summary: 'List my prepared exports, newest first',
  description:
    'Exports of the last day, including expired ones, and how many more can be started today. Copies requested by a privacy request count towards the limit but are never rejected because of it.',
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
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
  summary: 'Get the progress of one of my exports',
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
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
  summary: 'Download the file of one of my exports',
  description:
    'Only for sessions of its owner; 404 for anyone else. 409 while it is being prepared, 410 after it was deleted. The transfer breaks off if the export is deleted meanwhile; check `sha256`.',
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
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
  description:
    'Deletes the file immediately. An export in preparation is cancelled. It still counts towards the daily limit.',
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
  audit: { action: 'delete', resourceType: 'export' },
  deletes: { counts: 'exportsDeleted' },
  limit: 'write',
  status: 204,
  params,
  output: z.undefined(),
  refusals: ['forbidden', 'not_found'],
})
