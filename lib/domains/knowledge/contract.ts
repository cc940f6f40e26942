import { z } from 'zod'
import { InstructionFields, SanitizedPlaces } from '#lib/domains/sanitizer/contract.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Receipt } from '#lib/kernel/receipt.ts'

export const schemaContext = 'https://openknowledgepulse.org/schema/v1'
export const visibilities = ['private', 'org', 'network'] as const

const Text = z.string()
const Words = z.string().min(1, 'must not be empty')
/** A name or id, short enough for an index. */
const Name = Words.max(300, 'must have at most 300 characters')
/** Maximum steps of a unit. */
const max = 1_000
const tooMany = `must have at most ${max} items`
const Share = z.number().min(0, 'must be from 0 to 1').max(1, 'must be from 0 to 1')
const Payload = z.json().meta({ id: 'Json' })
const idOf = (kind: 'trace' | 'pattern' | 'sop') =>
  z
    .string()
    .regex(new RegExp(`^kp:${kind}:[A-Za-z0-9_-]{1,64}$`), `must be kp:${kind}: and up to 64 letters, digits, - or _`)

const Metadata = z
  .strictObject({
    created_at: z.iso.datetime({ offset: true, message: 'must be an ISO 8601 time' }),
    agent_id: Name.optional(),
    framework: Text.optional(),
    task_domain: Name,
    success: z.boolean(),
    quality_score: Share.meta({ description: 'Claimed by the contributor. The registry computes its own score' }),
    visibility: z.enum(visibilities),
    privacy_level: z.enum(['aggregated', 'federated', 'private']),
    validated_by: z.array(Name).optional(),
  })
  .meta({ id: 'UnitMetadata' })

const base = { '@context': z.literal(schemaContext), metadata: Metadata }

export const ReasoningTrace = z
  .strictObject({
    ...base,
    '@type': z.literal('ReasoningTrace'),
    id: idOf('trace').optional(),
    source_skill: Text.optional(),
    task: z.strictObject({ objective: Words, input_schema: Payload.optional() }),
    steps: z
      .array(
        z.strictObject({
          step_id: z.int(),
          type: z.enum(['thought', 'tool_call', 'observation', 'error_recovery']),
          content: Text.optional(),
          tool: z.strictObject({ name: Name, mcp_server: Text.optional() }).optional(),
          input: Payload.optional(),
          output_summary: Text.optional(),
          latency_ms: z.number().min(0).optional(),
        }),
      )
      .min(1, 'must have at least one step')
      .max(max, tooMany),
    outcome: z.strictObject({ result_summary: Text, confidence: Share }),
    knowledge_graph_delta: z.strictObject({ entities: z.array(Payload), relationships: z.array(Payload) }).optional(),
  })
  .meta({ id: 'ReasoningTrace' })

export const ToolCallPattern = z
  .strictObject({
    ...base,
    '@type': z.literal('ToolCallPattern'),
    id: idOf('pattern').optional(),
    name: Name,
    description: Text,
    trigger_conditions: z.strictObject({
      task_types: z.array(Name).min(1, 'must have at least one task type'),
      required_tools: z.array(Name).optional(),
    }),
    tool_sequence: z
      .array(
        z.strictObject({
          step: z.int(),
          execution: z.enum(['parallel', 'sequential']),
          tools: z.array(
            z.strictObject({ name: Name, query_template: Text.optional(), input_template: Payload.optional() }),
          ),
          condition: Text.optional(),
        }),
      )
      .min(1, 'must have at least one step')
      .max(max, tooMany),
    performance: z.strictObject({ avg_ms: z.number().min(0), success_rate: Share, uses: z.int().min(0) }),
  })
  .meta({ id: 'ToolCallPattern' })

export const ExpertSOP = z
  .strictObject({
    ...base,
    '@type': z.literal('ExpertSOP'),
    id: idOf('sop').optional(),
    name: Name,
    domain: Name,
    source: z.strictObject({ type: z.literal('human_expert'), expert_id: Name, credentials: z.array(Text) }),
    decision_tree: z
      .array(
        z.strictObject({
          step: z.union([z.int(), Name]),
          instruction: Words,
          criteria: Payload.optional(),
          conditions: z
            .record(z.string(), z.strictObject({ action: Words, sla_min: z.number().min(0).optional() }))
            .optional(),
          tool_suggestions: z.array(z.strictObject({ name: Name, when: Text })).optional(),
        }),
      )
      .min(1, 'must have at least one step')
      .max(max, tooMany),
    validation: z.strictObject({ test_cases: z.array(Payload) }).optional(),
  })
  .meta({ id: 'ExpertSOP' })

export type Sop = z.output<typeof ExpertSOP>

/** A knowledge unit of any type. */
export const Unit = z.discriminatedUnion('@type', [ReasoningTrace, ToolCallPattern, ExpertSOP]).meta({ id: 'Unit' })
export type Unit = z.output<typeof Unit>
export type Visibility = Unit['metadata']['visibility']

export const UnitId = z
  .string()
  .regex(/^kp:(trace|pattern|sop):[A-Za-z0-9_-]{1,64}$/, 'is not the id of a unit')
  .meta({ description: 'For example kp:trace:6d961dbbe7e99e7f7c2cc1f2' })

const kinds = { ReasoningTrace: 'trace', ToolCallPattern: 'pattern', ExpertSOP: 'sop' } as const
export const idPrefix = (type: Unit['@type']): string => `kp:${kinds[type]}:`

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
    'Rectification (GDPR art. 16). `unit` is a merge patch (RFC 7396) of the unit, so null removes a member. `visibility` is short for `unit.metadata.visibility`. Wrong data is overwritten everywhere, including the current version of an SOP and cached answers. An SOP loses its approval. Earlier versions of an SOP are kept: erase them with DELETE /v1/sop/{id}/versions/{version}. If more than the visibility changes, earlier votes no longer count and novelty is computed again. The type, the id and the author cannot change. While an agent’s processing is restricted (art. 18), its owner can still correct its units, but cannot create a new version of an SOP.',
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
