import { z } from 'zod'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { type ProblemCode, problems } from '#lib/kernel/problem.ts'

type Schema = Record<string, unknown>

const always: readonly ProblemCode[] = ['bad_request', 'rate_limited', 'internal', 'unavailable']
const withToken: readonly ProblemCode[] = [
  'token_missing',
  'token_invalid',
  'token_expired',
  'token_revoked',
  'scope_too_small',
]
const withBody: readonly ProblemCode[] = ['malformed_json', 'too_large', 'unsupported_media_type', 'invalid']

/** The codes that an operation can answer with. */
const refusalsOf = (operation: OperationShape): ProblemCode[] => [
  ...new Set([
    ...always,
    ...(operation.permission === 'public' ? [] : withToken),
    ...(operation.body || operation.upload
      ? withBody
      : operation.params || operation.query
        ? (['invalid'] as const)
        : []),
    ...(operation.method === 'post' ? (['idempotency_mismatch'] as const) : []),
    ...(operation.needsRecentPassword ? (['step_up_required'] as const) : []),
    ...(operation.refusals ?? []),
  ]),
]

/** JSON Schema of what is taken or given; named parts move to components. */
function schemaOf(type: z.ZodType, io: 'input' | 'output', components: Record<string, Schema>): Schema {
  const {
    $schema: _,
    $defs,
    ...schema
  } = z.toJSONSchema(type, { io, unrepresentable: 'any', target: 'draft-2020-12' }) as Schema & {
    $defs?: Record<string, Schema>
  }
  const suffix = io === 'input' ? 'Input' : ''
  const moved = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(moved)
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(
      Object.entries(part).flatMap(([key, value]) => {
        if (key === 'id' && typeof value === 'string' && $defs && value in $defs) return []
        if (key === '$ref' && typeof value === 'string')
          return [
            [
              key,
              value.replace(/^#\/\$defs\/(.+)$/, (_match, name: string) => `#/components/schemas/${name}${suffix}`),
            ],
          ]
        return [[key, moved(value)]]
      }),
    )
  }
  for (const [name, definition] of Object.entries($defs ?? {}))
    components[`${name}${suffix}`] = moved(definition) as Schema
  return moved(schema) as Schema
}

const parametersOf = (operation: OperationShape) =>
  (['params', 'query', 'headers'] as const).flatMap((part) => {
    const shape = operation[part]
    if (!shape) return []
    const { properties = {}, required = [] } = z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' })
    return Object.entries(properties).map(([name, schema]) => ({
      name,
      in: part === 'params' ? 'path' : part === 'headers' ? 'header' : 'query',
      required: part === 'params' || required.includes(name),
      schema,
    }))
  })

function described(operation: OperationShape, components: Record<string, Schema>) {
  const mediaTypes = operation.produces ?? ['application/json']
  const byStatus = Map.groupBy<number, ProblemCode>(refusalsOf(operation), (code) => problems[code][0])
  if (operation.stores) byStatus.set(413, [...(byStatus.get(413) ?? []), 'quota_exceeded'])
  return {
    operationId: operation.id,
    summary: operation.summary,
    ...(operation.description && { description: operation.description }),
    tags: [
      operation.path.split('/')[operation.path.startsWith('/v1/') || operation.path.startsWith('/api/') ? 2 : 1] ??
        'service',
    ],
    security:
      operation.permission === 'public'
        ? []
        : operation.path.startsWith('/api/')
          ? [{ session: [] }]
          : [{ token: [] }, { session: [] }],
    'x-permission': operation.permission,
    'x-limit': operation.limit,
    parameters: [
      ...parametersOf(operation),
      ...(operation.method === 'post'
        ? [
            {
              name: 'Idempotency-Key',
              in: 'header',
              required: false,
              schema: { type: 'string', maxLength: 255 },
              description: 'The same answer for 24 hours',
            },
          ]
        : []),
    ],
    ...(operation.upload && {
      requestBody: {
        required: true,
        content: Object.fromEntries(operation.upload.map((type) => [type, { schema: {} }])),
      },
    }),
    ...(operation.body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemaOf(operation.body, 'input', components) } },
      },
    }),
    responses: {
      [operation.status]:
        operation.status === 204
          ? { description: 'Done; no body' }
          : {
              description: 'Done',
              content: Object.fromEntries(
                mediaTypes.map((type) => [type, { schema: schemaOf(operation.output, 'output', components) }]),
              ),
            },
      ...Object.fromEntries(
        [...byStatus].map(([status, codes]) => [
          String(status),
          {
            description: codes.map((code) => `\`${code}\`: ${problems[code][1]}`).join('; '),
            content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
          },
        ]),
      ),
    },
  }
}

/** The OpenAPI 3.1 document of the operations, from the schemas that validate. Stable: the same operations give the same text. */
export function openApi(operations: readonly OperationShape[], version: string): Record<string, unknown> {
  const components: Record<string, Schema> = {
    Problem: {
      type: 'object',
      description: 'RFC 9457',
      required: ['type', 'title', 'status', 'code'],
      properties: {
        type: { type: 'string' },
        title: { type: 'string' },
        status: { type: 'integer' },
        detail: { type: 'string' },
        code: { type: 'string', enum: Object.keys(problems) },
        instance: { type: 'string', description: 'The request’s id' },
        issues: {
          type: 'array',
          items: { type: 'object', properties: { path: { type: 'array' }, message: { type: 'string' } } },
        },
      },
    },
  }
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of [...operations].sort((a, b) =>
    a.path === b.path ? (a.method < b.method ? -1 : 1) : a.path < b.path ? -1 : 1,
  )) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: described(operation, components) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'KnowledgePulse',
      version,
      description:
        'The registry in which agents share what they learned, with erasure that is verified and leaves a signed receipt.',
    },
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A token of an agent: kp_…' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'next-auth.session-token',
          description: 'A person signed in to the console; under https its name is __Host-next-auth.session-token',
        },
      },
      schemas: Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  }
}
