import { z } from 'zod'

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
