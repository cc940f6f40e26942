import { z } from 'zod'
import { InstructionFields, SanitizedPlaces } from '#lib/domains/sanitizer/contract.ts'
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
    quality_score: z.number().meta({ description: 'Computed by the registry, 0–1' }),
    instructions: InstructionFields,
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
    'Comments and tags are removed from prose (`sanitized` lists the places). Fenced code and recorded tool arguments are kept. Invisible characters, injection patterns, private keys and seed phrases are rejected (422 with stage, field and place, never the content). Personal data is reported in `warnings` by kind and field. The registry generates the id, unless you send an unused one that others cannot guess: one with a UUID, or one in your organization’s namespace.',
  permission: 'knowledge:write',
  stores: 'one record',
  isStoredTogether: true,
  audit: resource,
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
    .meta({ description: 'The first 20; paths are relative to the unit' }),
})
export const BatchResult = z.strictObject({
  index: z.int().meta({ description: 'Position in the request, starting at 0' }),
  status: z.int().meta({ description: '201, or the status with which the unit would have been rejected individually' }),
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
    'As many units as the tier’s batch size allows, each at most the tier’s unit size, 8 MiB in total. The batch counts as one write. Each unit is validated individually, in the given order: rejected units are reported, the rest is stored in one transaction. With `atomic=true`, one rejected unit prevents all from being stored: 422 `batch_rejected`, with the same results.',
  permission: 'knowledge:write',
  stores: { each: 'units' },
  audit: resource,
  status: 200,
  query: z.strictObject({ atomic: z.enum(['true', 'false']).default('false') }),
  body: z.strictObject({
    units: z.array(z.unknown().meta({ $ref: '#/components/schemas/UnitInput' })).min(1, 'must have at least one unit'),
  }),
  bodyLimit: 'batch',
  output: z.strictObject({ data: z.array(BatchResult), stored: z.int(), failed: z.int() }),
  refusals: ['batch_rejected', 'restricted', 'forbidden'],
})

export const checkUnit = operation({
  id: 'checkUnit',
  method: 'post',
  path: '/v1/knowledge/check',
  summary: 'Validate a unit without storing it',
  description: 'Rejects what POST /v1/knowledge would reject, but counts no rejection.',
  permission: 'knowledge:write',
  audit: { none: 'nothing is stored, and no stored data is read' },
  body: Unit,
  bodyLimit: 'unit',
  output: z.strictObject({
    data: z.strictObject({
      valid: z.literal(true),
      quality_score: z.number(),
      warnings: z.array(z.string()),
      sanitized: SanitizedPlaces,
    }),
  }),
  refusals: ['content_rejected', 'forbidden'],
})

export const readUnit = operation({
  id: 'readUnit',
  method: 'get',
  path: '/v1/knowledge/{id}',
  summary: 'Read a unit',
  description:
    'Returns 404 for a unit that you cannot see. Returns 410 with the receipt’s id for a unit of yours that was erased.',
  permission: 'knowledge:read',
  audit: resource,
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
    'Rectification (GDPR art. 16). `unit` is a merge patch (RFC 7396) of the unit, so null removes a member. `visibility` is short for `unit.metadata.visibility`. Wrong data is overwritten everywhere, including the current version of an SOP and cached answers. An SOP loses its approval. Earlier versions of an SOP are kept: erase them with DELETE /v1/sop/{id}/versions/{version}. If more than the visibility changes, earlier votes no longer count and novelty is computed again. The type, the id and the author cannot change. A correction that changes nothing creates no new version. The unit must stay within the tier’s size. While an agent’s processing is restricted (art. 18), its owner can still correct its units, but cannot create a new version of an SOP.',
  permission: 'knowledge:write',
  stores: 'bytes',
  audit: resource,
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
  summary: 'Erase a unit of your own',
  description:
    'Erasure (GDPR art. 17): the unit is immediately removed from all read paths. The erasure is verified and documented by a signed receipt, whose id is in X-Deletion-Receipt. With "Prefer: return=representation" the response is 200 with the receipt.',
  permission: 'knowledge:write',
  audit: resource,
  deletes: { by: 'erasure' },
  pool: 'erasures',
  status: 204,
  params,
  headers: z.object({ prefer: z.string().optional(), 'if-match': z.string().optional() }),
  output: Receipt,
  refusals: ['not_found', 'erased', 'precondition_failed', 'held'],
})
