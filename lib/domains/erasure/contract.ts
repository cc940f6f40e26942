import { z } from 'zod'
import { PublicKey } from '#lib/domains/erasure/receipts/signing.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { erasedKinds, Receipt } from '#lib/kernel/receipt.ts'

const ReceiptId = z.string().regex(/^rcpt_[0-9A-Za-z]{22}$/, 'is not the id of a receipt')

export const readReceipt = operation({
  id: 'readReceipt',
  isOpenBeforeReplay: true,
  method: 'get',
  path: '/v1/receipts/{id}',
  summary: 'Read a deletion receipt',
  description: 'Knowing the id is the right to read it, so that it outlives the account. It holds no content.',
  permission: 'public',
  audit: { none: 'whoever knows the id may read it; there is nobody to name' },
  limit: 'read',
  status: 200,
  params: z.strictObject({ id: ReceiptId }),
  output: Receipt,
  refusals: ['not_found'],
})

export const readReceiptPdf = operation({
  id: 'readReceiptPdf',
  isOpenBeforeReplay: true,
  method: 'get',
  path: '/v1/receipts/{id}/pdf',
  summary: 'A deletion receipt as a PDF',
  description:
    'Says what the JSON says, and carries that JSON, with its signature, as an attachment. The same receipt gives the same bytes.',
  permission: 'public',
  audit: { none: 'whoever knows the id may read it; there is nobody to name' },
  limit: 'read',
  status: 200,
  params: z.strictObject({ id: ReceiptId }),
  output: z.string(),
  produces: ['application/pdf'],
  refusals: ['not_found'],
})

export const listReceipts = operation({
  id: 'listReceipts',
  method: 'get',
  path: '/api/receipts',
  summary: 'My deletion receipts, newest first',
  description:
    'Of what your agents had erased, of messages, conversations and documents that you erased, and of agents of yours whose erasure you asked for in the console. That of your own erasure outlives the account, and comes by letter. `total` stops counting at 1,001.',
  permission: 'receipts:person',
  audit: { action: 'read', resourceType: 'receipt' },
  limit: 'read',
  status: 200,
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(
    z
      .strictObject({
        receipt_id: z.string(),
        deleted_id: z.string(),
        kind: z.enum(erasedKinds),
        deleted_at: z.iso.datetime(),
        signed_at: z.iso
          .datetime()
          .nullable()
          .meta({ description: 'Null: it is erased, and not verified yet; there is no receipt to read' }),
      })
      .meta({ id: 'OwnReceipt' }),
  ),
})

export const readSigningKeys = operation({
  id: 'readSigningKeys',
  isOpenBeforeReplay: true,
  method: 'get',
  path: '/.well-known/jwks.json',
  summary: 'The keys that sign receipts, with their history',
  description:
    'A JWK Set (RFC 7517). Pin it before you need it: a receipt is checked against keys that you already have.',
  permission: 'public',
  audit: { none: 'public keys' },
  limit: 'exempt',
  status: 200,
  output: z.object({ keys: z.array(PublicKey) }),
  produces: ['application/jwk-set+json'],
})

export const listTombstones = operation({
  id: 'listTombstones',
  method: 'get',
  path: '/v1/tombstones',
  summary: 'Network units and skills that were erased since, oldest first',
  description:
    'For whoever keeps copies (GDPR art. 19): delete what is named here. `next_cursor` always says where to go on, at the end of the list too; an erasure appears 30 seconds after it began, so that none is ever passed over. `total` counts what is at the cursor and after it, and stops at 1,001.',
  permission: 'tombstones:read',
  audit: { none: 'ids alone, which everybody may know' },
  limit: 'read',
  status: 200,
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(z.strictObject({ id: z.string(), erased_at: z.iso.datetime() })),
})
