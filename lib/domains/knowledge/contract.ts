import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Receipt } from '#lib/kernel/receipt.ts'
import { Unit, UnitId, visibilities } from './unit.ts'

/** A unit as it is stored: it was checked against {@link Unit} on its way in, so it is not walked through again on its way out. */
const StoredDocument = z
  .custom<Unit>((value) => typeof value === 'object' && value !== null)
  .meta({ $ref: '#/components/schemas/UnitInput' })

export const StoredUnit = z
  .strictObject({
    id: UnitId,
    unit: StoredDocument,
    visibility: z.enum(visibilities),
    quality_score: z.number().meta({ description: 'The registry’s own, 0–1' }),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'StoredUnit' })

const params = z.strictObject({ id: UnitId })
const resource = { resourceType: 'knowledge' }

export const contributeUnit = operation({
  id: 'contributeUnit',
  method: 'post',
  path: '/v1/knowledge',
  summary: 'Contribute one unit',
  description:
    'The text is sanitized before it is stored: comments and tags go, invisible characters and injection patterns are refused. The id is the registry’s unless an unused one is brought.',
  permission: 'knowledge:write',
  audit: { action: 'create', ...resource },
  limit: 'write',
  status: 201,
  body: Unit,
  bodyLimit: 'unit',
  output: z.strictObject({ data: StoredUnit, quality_score: z.number(), warnings: z.array(z.string()).optional() }),
  refusals: ['content_rejected', 'id_in_use', 'erased', 'restricted'],
})

export const readUnit = operation({
  id: 'readUnit',
  method: 'get',
  path: '/v1/knowledge/{id}',
  summary: 'Read one unit',
  description: 'What you may not see is a 404. A unit of yours that was erased is a 410 with its receipt’s id.',
  permission: 'knowledge:read',
  audit: { action: 'read', ...resource },
  limit: 'read',
  status: 200,
  params,
  output: z.strictObject({ data: StoredUnit }),
  refusals: ['not_found', 'erased'],
})

export const eraseUnit = operation({
  id: 'eraseUnit',
  method: 'delete',
  path: '/v1/knowledge/{id}',
  summary: 'Erase one unit of your own',
  description:
    'Erasure (GDPR art. 17): gone from every read path at once, verified, and attested by a signed receipt, whose id is in X-Deletion-Receipt. With "Prefer: return=representation" the answer is 200 and the receipt.',
  permission: 'knowledge:write',
  audit: { action: 'delete', ...resource },
  limit: 'write',
  status: 204,
  params,
  headers: z.object({ prefer: z.string().optional(), 'if-match': z.string().optional() }),
  output: Receipt,
  refusals: ['not_found', 'erased', 'precondition_failed'],
})
