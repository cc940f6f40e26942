import { z } from 'zod'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'
import { erasedKinds, Receipt } from '#lib/kernel/receipt.ts'
import { PublicKey } from './receipts/signing.ts'

const ReceiptId = z.string().regex(/^rcpt_[0-9A-Za-z]{22}$/, 'is not the id of a receipt')

export const readReceipt = operation({
  id: 'readReceipt',
  isOpenBeforeReplay: true,
  method: 'get',
  path: '/v1/receipts/{id}',
  summary: 'Read a deletion receipt',
  description:
    'Anyone who knows the id can read the receipt, so it remains readable after the account is erased. It contains no content.',
  permission: 'public',
  audit: { none: 'anyone who knows the id may read it, so there is no reader to name' },
  params: z.strictObject({ id: ReceiptId }),
  output: Receipt,
  refusals: ['not_found'],
})

export const ErasureProgress = z
  .strictObject({
    state: z
      .enum(['waiting', 'planning', 'erasing', 'verifying', 'held', 'done', 'failed'])
      .meta({ description: 'waiting: not started, or the id is unknown; failed: waits for a retry' }),
    places: z.array(
      z.strictObject({
        store: z.string(),
        records: z.number().int().meta({ description: 'Records that were found, including those under legal hold' }),
        remaining: z.number().int().meta({ description: 'Records that are not deleted or pseudonymized yet' }),
        held: z.number().int().meta({ description: 'Those of `remaining` that a legal hold retains' }),
        found_again: z
          .number()
          .int()
          .nullable()
          .meta({ description: 'Records that the search after the deletion found; null before that search' }),
        waiting_since: z.iso
          .datetime()
          .nullable()
          .meta({ description: 'The store has not answered since then. The deletion continues when it answers' }),
      }),
    ),
  })
  .meta({ id: 'ErasureProgress' })
export type ErasureProgress = z.output<typeof ErasureProgress>

const progressDescription =
  'For erasures of people, agents, participants and parts of projects, from their start. Anyone who knows the id of the future receipt can read it, because the session of an erased person has ended. Counts only.'

export const readErasureProgress = operation({
  id: 'readErasureProgress',
  method: 'get',
  path: '/v1/receipts/{id}/progress',
  summary: 'Get the progress of an erasure by the id of its receipt',
  description: progressDescription,
  permission: 'public',
  audit: { none: 'anyone who knows the id may read it, so there is no reader to name' },
  params: z.strictObject({ id: ReceiptId }),
  output: z.strictObject({ data: ErasureProgress }),
  refusals: ['not_found'],
})

export const watchErasureProgress = operation({
  id: 'watchErasureProgress',
  method: 'get',
  path: '/v1/receipts/{id}/progress/events',
  summary: 'Follow the progress of an erasure as server-sent events',
  description: `${progressDescription} Sends the same object as \`readErasureProgress\` in an event without a name when it changes, with the state \`waiting\` before the start. The stream ends when the erasure has ended or is held, or after ten minutes.`,
  permission: 'public',
  audit: { none: 'anyone who knows the id may read it, so there is no reader to name' },
  params: z.strictObject({ id: ReceiptId }),
  output: z.string(),
  produces: ['text/event-stream'],
  refusals: ['unavailable'],
})

export const readReceiptPdf = operation({
  id: 'readReceiptPdf',
  isOpenBeforeReplay: true,
  method: 'get',
  path: '/v1/receipts/{id}/pdf',
  summary: 'Download a deletion receipt as a PDF',
  description:
    'Contains the same facts as the JSON, and attaches that JSON with its signature. The same receipt always produces the same bytes.',
  permission: 'public',
  audit: { none: 'anyone who knows the id may read it, so there is no reader to name' },
  params: z.strictObject({ id: ReceiptId }),
  output: z.string(),
  produces: ['application/pdf'],
  refusals: ['not_found'],
})

export const listReceipts = operation({
  id: 'listReceipts',
  method: 'get',
  path: '/api/receipts',
  summary: 'List my deletion receipts, newest first',
  description:
    'Includes receipts of erasures that your agents requested, of messages, conversations and documents that you erased, and of agents whose erasure you requested in the console. The receipt of your own erasure outlives the account and is sent by email. `total` stops counting at 1,001.',
  permission: 'receipts:person',
  isOpenWithoutSecondFactor: true,
  audit: { resourceType: 'receipt' },
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(
    z
      .strictObject({
        receipt_id: z.string(),
        deleted_id: z.string(),
        kind: z.enum(erasedKinds),
        deleted_at: time(),
        signed_at: time()
          .nullable()
          .meta({ description: 'Null if the erasure is not verified yet: no receipt can be read' }),
      })
      .meta({ id: 'OwnReceipt' }),
  ),
})

export const readSigningKeys = operation({
  id: 'readSigningKeys',
  isOpenBeforeReplay: true,
  method: 'get',
  path: '/.well-known/jwks.json',
  summary: 'List the keys that sign receipts, including former keys',
  description: 'A JWK Set (RFC 7517). Save it before you need it: verify a receipt against keys that you already have.',
  permission: 'public',
  audit: { none: 'public keys' },
  limit: 'exempt',
  output: z.object({ keys: z.array(PublicKey) }),
  produces: ['application/jwk-set+json'],
})

export const listTombstones = operation({
  id: 'listTombstones',
  method: 'get',
  path: '/v1/tombstones',
  summary: 'List network units and skills erased since a cursor, oldest first',
  description:
    'For operators of copies (GDPR art. 19): delete the ids listed here. `next_cursor` is always present, even at the end of the list. An erasure appears 30 seconds after it began, so that readers never miss one. `total` counts entries from the cursor on and stops at 1,001.',
  permission: 'tombstones:read',
  audit: { none: 'only ids, which are public' },
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(z.strictObject({ id: z.string(), erased_at: time() })),
})

/** How deletions came about: an erasure of a subject or a part, one record, expired data, or something that its owner deleted. */
export const deletionKinds = ['erasure', 'record', 'automatic', 'owner'] as const

const deletionFilters = {
  q: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: 'Part of an id in the scope, or an id of the deletion, its receipt or who asked for it' }),
  kind: z.enum(deletionKinds).optional(),
  from: Timestamp.optional(),
  to: Timestamp.optional(),
}
const LoggedDeletion = z
  .strictObject({
    audit_id: z.string(),
    at: z.iso.datetime(),
    kind: z.enum(deletionKinds),
    requested_by: z.string(),
    requested_by_name: z.string().nullable().meta({ description: 'The current name; null after deletion' }),
    reason: z.string(),
    scope: z.record(z.string(), z.string()),
    results: z.record(z.string(), z.number()).meta({ description: 'Numbers other than 0' }),
    receipt_id: z.string().nullable(),
  })
  .meta({ id: 'LoggedDeletion' })
export type LoggedDeletion = z.output<typeof LoggedDeletion>
const deletions = { resourceType: 'deletion_log' }

export const listDeletions = operation({
  id: 'listDeletions',
  method: 'get',
  path: '/api/admin/deletions',
  summary: 'List the deletion log of seven years, newest first',
  description: 'Every deletion, with ids and counts. `total` stops counting at 1,001.',
  permission: 'erasures:audit',
  audit: deletions,
  query: z.strictObject({ ...deletionFilters, cursor: Cursor.optional(), limit: PageLimit }),
  output: page(LoggedDeletion),
  refusals: ['forbidden'],
})

export const exportDeletions = operation({
  id: 'exportDeletions',
  method: 'get',
  path: '/api/admin/deletions/export',
  summary: 'Export the deletion log as CSV or JSON Lines',
  permission: 'erasures:audit',
  audit: { action: 'export', ...deletions },
  query: z.strictObject({ ...deletionFilters, format: z.enum(['csv', 'jsonl']).default('csv') }),
  output: z.string(),
  produces: ['text/csv', 'application/jsonl'],
  refusals: ['forbidden'],
})
