import { z } from 'zod'
import { SanitizedPlaces } from '#lib/domains/sanitizer/contract.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Receipt } from '#lib/kernel/receipt.ts'
import { Unit, UnitId, visibilities } from './unit.ts'

/** A unit as stored. It was validated against {@link Unit} when it was contributed, so responses do not validate it again. */
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

export const params = z.strictObject({ id: UnitId })
const resource = { resourceType: 'knowledge' }

export const contributeUnit = operation({
  id: 'contributeUnit',
  method: 'post',
  path: '/v1/knowledge',
  summary: 'Contribute one unit',
  description:
    'Comments and tags are removed from prose (`sanitized` names the places; code in fences and recorded tool arguments stay); invisible characters, injection patterns, private keys and seed phrases are refused (422 with stage, field and place, never the content). Personal data is named in `warnings`: its kinds, and in which fields. The registry gives the id, unless an unused one is sent that others cannot guess: with a UUID in it, or in a namespace of the organisation.',
  permission: 'knowledge:write',
  stores: 'one record',
  audit: { action: 'create', ...resource },
  limit: 'write',
  status: 201,
  body: Unit,
  bodyLimit: 'unit',
  contributed: true,
  output: z.strictObject({
    data: StoredUnit,
    quality_score: z.number(),
    warnings: z.array(z.string()).optional(),
    sanitized: SanitizedPlaces,
  }),
  refusals: ['content_rejected', 'id_in_use', 'erased', 'restricted'],
})

/** Why one item of a batch was rejected. */
const ItemProblem = z.strictObject({
  code: z.string(),
  detail: z.string(),
  issues: z
    .array(z.strictObject({ path: z.array(z.union([z.string(), z.number()])), message: z.string() }))
    .optional()
    .meta({ description: 'The first 20; paths start at the unit' }),
})
export const BatchResult = z.strictObject({
  index: z.int().meta({ description: 'Its place in what was sent, from 0' }),
  status: z.int().meta({ description: '201, or the status that it would have been refused with alone' }),
  id: z.string().optional(),
  quality_score: z.number().optional(),
  warnings: z.array(z.string()).optional(),
  sanitized: SanitizedPlaces,
  problem: ItemProblem.optional(),
})
export type BatchResult = z.output<typeof BatchResult>

export const contributeBatch = operation({
  id: 'contributeBatch',
  method: 'post',
  path: '/v1/knowledge/batch',
  summary: 'Contribute many units at once',
  description:
    'As many as the tier’s batch, each as large as the tier’s unit, 8 MiB in all; one write of the limit. Each is judged as if it came alone, in the order given: what is refused is named, the rest is stored, in one transaction. With `atomic=true` one refused unit keeps all from being stored: 422 `batch_rejected`, with the same results.',
  permission: 'knowledge:write',
  stores: { each: 'units' },
  audit: { action: 'create', ...resource },
  limit: 'write',
  status: 200,
  query: z.strictObject({ atomic: z.enum(['true', 'false']).default('false') }),
  body: z.strictObject({
    units: z.array(z.unknown().meta({ $ref: '#/components/schemas/UnitInput' })).min(1, 'takes one unit at least'),
  }),
  bodyLimit: 'batch',
  output: z.strictObject({ data: z.array(BatchResult), stored: z.int(), failed: z.int() }),
  refusals: ['batch_rejected', 'restricted', 'forbidden'],
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
  contributed: true,
  output: z.strictObject({ data: StoredUnit }),
  refusals: ['not_found', 'erased'],
})

export const rectifyUnit = operation({
  id: 'rectifyUnit',
  method: 'patch',
  path: '/v1/knowledge/{id}',
  summary: 'Correct a unit of your own',
  description:
    'Rectification (GDPR art. 16): `unit` is a merge patch (RFC 7396) of the unit, so that null removes a member; `visibility` is short for `unit.metadata.visibility`. Wrong data is overwritten everywhere, also in the present wording of an SOP and in stored answers; an SOP loses its approval. Former wordings of an SOP stay: erase them with DELETE /v1/sop/{id}/versions/{version}. If more than the visibility changes, earlier votes no longer count and novelty is computed again. The type, the id and the author stay. A correction that changes nothing makes no new version. The unit stays within the tier’s size. While an agent’s processing is restricted (art. 18), its owner may still correct its units; only a new wording of an SOP is refused.',
  permission: 'knowledge:write',
  stores: 'bytes',
  audit: { action: 'update', ...resource },
  limit: 'write',
  status: 200,
  params,
  headers: z.object({ 'if-match': z.string().optional() }),
  body: z.strictObject({
    unit: z.record(z.string(), z.unknown()).optional().meta({ description: 'A merge patch (RFC 7396)' }),
    visibility: z.enum(visibilities).optional(),
  }),
  bodyLimit: 'unit',
  contributed: true,
  output: z.strictObject({
    data: StoredUnit.extend({
      unit: StoredDocument.optional().meta({ description: 'Absent for a token without the scope `read`' }),
    }).meta({ id: 'CorrectedUnit' }),
    quality_score: z.number(),
    warnings: z.array(z.string()).optional(),
    sanitized: SanitizedPlaces,
  }),
  refusals: ['not_found', 'erased', 'precondition_failed', 'content_rejected', 'restricted'],
})

export const eraseUnit = operation({
  id: 'eraseUnit',
  alsoStatus: [200],
  method: 'delete',
  path: '/v1/knowledge/{id}',
  summary: 'Erase one unit of your own',
  description:
    'Erasure (GDPR art. 17): gone from every read path at once, verified, and attested by a signed receipt, whose id is in X-Deletion-Receipt. With "Prefer: return=representation" the answer is 200 and the receipt.',
  permission: 'knowledge:write',
  audit: { action: 'delete', ...resource },
  deletes: { by: 'erasure' },
  pool: 'erasures',
  limit: 'write',
  status: 204,
  params,
  headers: z.object({ prefer: z.string().optional(), 'if-match': z.string().optional() }),
  output: Receipt,
  refusals: ['not_found', 'erased', 'precondition_failed', 'held'],
})
