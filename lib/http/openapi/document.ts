import type { OperationShape, Permission } from '#lib/kernel/operation.ts'
import { errorResponses, headers, problemSchema, successHeaders } from './responses.ts'
import { type Components, type Schema, schemaOf } from './schemas.ts'
import { tagOf, tags } from './tags.ts'

const idempotencyKey = { $ref: '#/components/parameters/IdempotencyKey' }

const parametersOf = (operation: OperationShape, components: Components) =>
  (['params', 'query', 'headers'] as const).flatMap((part) => {
    const shape = operation[part]
    if (!shape) return []
    const { properties = {}, required = [] } = schemaOf(shape, 'input', components) as {
      properties?: Record<string, Schema>
      required?: string[]
    }
    return Object.entries(properties).map(([name, { description, ...schema }]) => ({
      name,
      in: part === 'params' ? 'path' : part === 'headers' ? 'header' : 'query',
      required: part === 'params' || required.includes(name),
      ...(description !== undefined && { description }),
      schema,
    }))
  })

const access: Record<string, string> = {
  read: 'Requires the scope `read` or a session.',
  write: 'Requires the scope `write` or a session.',
  self: 'Requires a token or a session.',
  person: 'Requires a session.',
  audit: 'Requires an auditor or admin.',
  admin: 'Requires an admin.',
}
function accessOf(permission: Permission): string {
  if (permission === 'public') return 'Requires no token.'
  return access[permission.slice(permission.lastIndexOf(':') + 1)] ?? ''
}
/** People alone: no token has these permissions. */
const isForPeople = (permission: Permission): boolean => permission.endsWith(':person')
const tokenOrSession = [{ token: [] }, { session: [] }]
const securityOf = (permission: Permission) =>
  permission === 'public' ? { security: [] } : isForPeople(permission) ? { security: [{ session: [] }] } : {}

const bytes = { schema: { type: 'string', format: 'binary' } }
/** Several media types are one range: of each, generators would make a parameter or a result of its own. */
const contentOf = (mediaTypes: readonly string[], content: Schema) => {
  const [only = '', ...others] = mediaTypes
  return others.length === 0
    ? { content: { [only]: content } }
    : { description: `Media types: ${mediaTypes.join(', ')}`, content: { '*/*': content } }
}

function described(operation: OperationShape, components: Components, responses: Record<string, Schema>) {
  const { description, permission, method, status } = operation
  const body = operation.upload
    ? contentOf(operation.upload, bytes)
    : operation.body && {
        content: { 'application/json': { schema: schemaOf(operation.body, 'input', components) } },
      }
  const output = () =>
    contentOf(operation.produces ?? ['application/json'], { schema: schemaOf(operation.output, 'output', components) })
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: [description, accessOf(permission)].filter(Boolean).join(' '),
    tags: [tagOf(operation.path)],
    ...securityOf(permission),
    'x-permission': permission,
    'x-limit': operation.limit,
    parameters: [...parametersOf(operation, components), ...(method === 'post' ? [idempotencyKey] : [])],
    ...(body && { requestBody: { required: true, ...body } }),
    responses: {
      [status]: {
        description: status === 204 ? 'Done; the response has no body' : 'Done',
        headers: successHeaders(operation),
        ...(status !== 204 && output()),
      },
      ...errorResponses(operation, responses),
    },
  }
}

const sorted = <T>(of: Record<string, T>): Record<string, T> =>
  Object.fromEntries(Object.entries(of).sort(([one], [other]) => (one < other ? -1 : 1)))

/** The OpenAPI 3.1 document of the operations, from the schemas that validate. The same operations give the same text. */
export function openApi(operations: readonly OperationShape[], version: string): Record<string, unknown> {
  const components: Components = { Problem: problemSchema }
  const responses: Record<string, Schema> = {}
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of [...operations].sort((a, b) =>
    a.path === b.path ? (a.method < b.method ? -1 : 1) : a.path < b.path ? -1 : 1,
  ))
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method]: described(operation, components, responses),
    }
  const used = new Set(operations.map(({ path }) => tagOf(path)))
  return {
    openapi: '3.1.0',
    info: {
      title: 'KnowledgePulse',
      version,
      description:
        'The registry in which agents share what they learned, with erasure that is verified and leaves a signed receipt.',
      contact: { name: 'The operator of this installation' },
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [{ url: '/', description: 'This installation' }],
    security: tokenOrSession,
    tags: [...used].sort().map((name) => ({ name, description: tags[name] })),
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A token of an agent: kp_…' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'next-auth.session-token',
          description: 'A person signed in to the console',
        },
      },
      headers,
      parameters: {
        IdempotencyKey: {
          name: 'Idempotency-Key',
          in: 'header',
          required: false,
          schema: { type: 'string', minLength: 1, maxLength: 255 },
          description: 'A repetition with the same key within 24 hours returns the first response',
        },
      },
      responses: sorted(responses),
      schemas: sorted(components),
    },
  }
}
