import { z } from 'zod'

/** The JSON Schema keywords that the page shows; it ignores all others. */
export interface ShownSchema {
  $ref?: string | undefined
  type?: string | string[] | undefined
  description?: string | undefined
  enum?: unknown[] | undefined
  const?: unknown
  default?: unknown
  format?: string | undefined
  pattern?: string | undefined
  minimum?: number | undefined
  maximum?: number | undefined
  minLength?: number | undefined
  maxLength?: number | undefined
  minItems?: number | undefined
  maxItems?: number | undefined
  properties?: Record<string, ShownSchema> | undefined
  required?: string[] | undefined
  items?: ShownSchema | undefined
  additionalProperties?: boolean | ShownSchema | undefined
  anyOf?: ShownSchema[] | undefined
  oneOf?: ShownSchema[] | undefined
  allOf?: ShownSchema[] | undefined
}
const ShownSchema: z.ZodType<ShownSchema> = z.lazy(() =>
  z.looseObject({
    $ref: z.string().optional(),
    type: z.union([z.string(), z.array(z.string())]).optional(),
    description: z.string().optional(),
    enum: z.array(z.unknown()).optional(),
    format: z.string().optional(),
    pattern: z.string().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    minLength: z.number().optional(),
    maxLength: z.number().optional(),
    minItems: z.number().optional(),
    maxItems: z.number().optional(),
    properties: z.record(z.string(), ShownSchema).optional(),
    required: z.array(z.string()).optional(),
    items: ShownSchema.optional(),
    additionalProperties: z.union([z.boolean(), ShownSchema]).optional(),
    anyOf: z.array(ShownSchema).optional(),
    oneOf: z.array(ShownSchema).optional(),
    allOf: z.array(ShownSchema).optional(),
  }),
)
const Content = z.record(z.string(), z.looseObject({ schema: ShownSchema.optional() }))
const ShownParameter = z.looseObject({
  name: z.string(),
  in: z.enum(['path', 'query', 'header', 'cookie']),
  required: z.boolean().default(false),
  description: z.string().optional(),
  schema: ShownSchema.optional(),
})
const Response = z.looseObject({ description: z.string(), content: Content.optional() })
const Shared = z.object({ $ref: z.string() })
const Described = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  description: z.string().optional(),
  tags: z.array(z.string()).default([]),
  'x-permission': z.string(),
  requestBody: z.looseObject({ content: Content }).optional(),
})
const Operation = Described.extend({
  parameters: z.array(z.union([Shared, ShownParameter])).default([]),
  responses: z.record(z.string(), z.union([Shared, Response])),
})
const Document = z.looseObject({
  info: z.looseObject({ version: z.string() }),
  tags: z.array(z.looseObject({ name: z.string(), description: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.looseObject({
    schemas: z.record(z.string(), ShownSchema),
    parameters: z.record(z.string(), ShownParameter),
    responses: z.record(z.string(), Response),
  }),
})

export type ShownParameter = z.output<typeof ShownParameter>
export interface ReferenceOperation extends z.output<typeof Described> {
  method: string
  path: string
  parameters: ShownParameter[]
  responses: Record<string, z.output<typeof Response>>
}
/** The operations of one tag. */
export interface ReferenceGroup {
  name: string
  description: string
  operations: ReferenceOperation[]
}
export interface ApiReference {
  version: string
  groups: ReferenceGroup[]
  operations: ReferenceOperation[]
  schemas: Record<string, ShownSchema>
}

/**
 * Resolves a reference, or returns the value itself.
 * @throws for an unknown name, which openapi.json never contains.
 */
function resolved<T extends object>(value: T | z.output<typeof Shared>, shared: Readonly<Record<string, T>>): T {
  if (!isShared(value)) return value
  const found = shared[value.$ref.slice(value.$ref.lastIndexOf('/') + 1)]
  if (!found) throw new Error(`openapi.json has no ${value.$ref}`)
  return found
}
const isShared = (value: object): value is z.output<typeof Shared> => '$ref' in value

/** Parses the OpenAPI document. */
export function referenceOf(openApi: unknown): ApiReference {
  const { info, tags, paths, components } = Document.parse(openApi)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      parameters: operation.parameters.map((one) => resolved(one, components.parameters)),
      responses: Object.fromEntries(
        Object.entries(operation.responses).map(([status, one]) => [status, resolved(one, components.responses)]),
      ),
      method,
      path,
    })),
  )
  const groups = tags
    .map(({ name, description }) => ({
      name,
      description,
      operations: operations.filter((operation) => operation.tags[0] === name),
    }))
    .filter((group) => group.operations.length > 0)
  return { version: info.version, groups, operations, schemas: components.schemas }
}

export const groupPage = (group: string): `/docs/api/${string}` => `/docs/api/${group}`
export const operationPage = ({ tags, operationId }: ReferenceOperation): `/docs/api/${string}` =>
  `${groupPage(tags[0] ?? '')}#${operationId}`

/** The address for an anchor of the former single page: an operation or `tag-<group>`. */
export function addressOfAnchor({ groups, operations }: ApiReference, anchor: string): string | undefined {
  const operation = operations.find(({ operationId }) => operationId === anchor)
  if (operation) return operationPage(operation)
  const group = groups.find(({ name }) => anchor === `tag-${name}`)
  return group && groupPage(group.name)
}

/** The operations that contain every word of the query, in the order of the document. */
export function matching(operations: readonly ReferenceOperation[], query: string): ReferenceOperation[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  return operations.filter((operation) => {
    const { method, path, operationId, summary, description = '', tags } = operation
    const text = [method, path, operationId, summary, description, operation['x-permission'], ...tags]
      .join(' ')
      .toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

const bracketed = (type: string): string => (type.includes(' | ') ? `(${type})` : type)

/** A short text for the type of a schema: `string`, `Unit[]`, `"a" | "b"`. */
export function typeOf(schema: ShownSchema): string {
  if (schema.$ref) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map(typeOf))].join(' | ')
  if (schema.type === 'array') return schema.items ? `${bracketed(typeOf(schema.items))}[]` : 'array'
  if (Array.isArray(schema.type)) return schema.type.join(' | ')
  return schema.type ?? 'any'
}

/** The bounds of a schema as short texts. */
export function boundsOf(schema: ShownSchema): string[] {
  const text = (bound: number) => bound.toLocaleString('en')
  const range = (least = 0, most = Number.MAX_SAFE_INTEGER, unit = ''): string[] => {
    const isOpen = most >= Number.MAX_SAFE_INTEGER
    if (least <= 0 && isOpen) return []
    if (isOpen) return [`≥ ${text(least)}${unit}`]
    return [least <= 0 ? `≤ ${text(most)}${unit}` : `${text(least)}–${text(most)}${unit}`]
  }
  return [
    ...range(schema.minimum, schema.maximum),
    ...range(schema.minLength, schema.maxLength, ' characters'),
    ...range(schema.minItems, schema.maxItems, ' items'),
    ...(schema.format ? [schema.format] : []),
    ...(schema.pattern && !schema.format ? [schema.pattern] : []),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ]
}
