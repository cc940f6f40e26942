import { z } from 'zod'
import { namedFields } from '#lib/kernel/operation.ts'

export type OpenApiSchema = Record<string, unknown>
/** Schemas that several operations share, by their names. */
export type Components = Record<string, OpenApiSchema>

const anyJson = 'Json'
const isObject = (value: unknown): value is OpenApiSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Zod's `z.json()`: a recursive union from which generators create types that no compiler accepts. */
const isJsonUnion = ({ anyOf }: OpenApiSchema): boolean =>
  Array.isArray(anyOf) &&
  anyOf.length === 6 &&
  ['string', 'number', 'boolean', 'null', 'array', 'object'].every((type) =>
    anyOf.some((one) => isObject(one) && one.type === type),
  )

/** Patterns for languages whose regular expressions do not support Unicode categories. */
const control = '\\u0000-\\u001f\\u007f-\\u009f'
const withoutCategories = (pattern: string): string =>
  pattern.replaceAll('\\P{Cc}', `[^${control}]`).replaceAll('\\p{Cc}\\p{Cs}', control)

/** Shortens `anyOf` of one simple type and null to a list of types. Enumerations remain: null would have to be one of their values. */
function withNullableType(schema: OpenApiSchema): OpenApiSchema {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema
  const [first, last]: unknown[] = anyOf
  if (!isObject(first) || !isObject(last) || last.type !== 'null' || Object.keys(last).length > 1) return schema
  if (typeof first.type !== 'string' || 'enum' in first || 'const' in first) return schema
  return { ...first, type: [first.type, 'null'], ...rest }
}

/**
 * Simplifies Zod's output: removes a pattern of 300 characters for times, and bounds that every safe integer satisfies. Outputs may get
 * more properties in a later version.
 */
function simplified(schema: OpenApiSchema, io: 'input' | 'output'): OpenApiSchema {
  const { pattern, minimum, maximum, additionalProperties, ...rest } = schema
  const isTime = schema.format === 'date-time'
  const isZulu = isTime && typeof pattern === 'string' && !pattern.includes('[+-]')
  return {
    ...rest,
    ...(additionalProperties !== undefined &&
      (io === 'input' || additionalProperties !== false) && { additionalProperties }),
    ...(typeof pattern === 'string' && !isTime && { pattern: withoutCategories(pattern) }),
    ...(isZulu && io === 'input' && { pattern: 'Z$' }),
    ...(minimum !== undefined && (io === 'input' || minimum !== Number.MIN_SAFE_INTEGER) && { minimum }),
    ...(maximum !== undefined && (io === 'input' || maximum !== Number.MAX_SAFE_INTEGER) && { maximum }),
  }
}

/** The JSON Schema of an input or output. Schemas with an id are moved to `components`; those of inputs end in `Input`. */
export function schemaOf(type: z.ZodType, io: 'input' | 'output', components: Components): OpenApiSchema {
  const {
    $schema: _,
    $defs = {},
    ...schema
  } = z.toJSONSchema(type, { io, unrepresentable: 'any', target: 'draft-2020-12' }) as OpenApiSchema & {
    $defs?: Record<string, OpenApiSchema>
  }
  const suffix = io === 'input' ? 'Input' : ''
  const nameOf = (id: string): string => (isJsonUnion($defs[id] ?? {}) ? anyJson : `${id}${suffix}`)
  const moved = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(moved)
    if (!isObject(part)) return part
    if (isJsonUnion(part)) return reference(anyJson)
    const entries = Object.entries(part).flatMap(([key, value]) => {
      if (key === 'id' && typeof value === 'string' && value in $defs) return []
      if (key === '$ref' && typeof value === 'string' && value.startsWith('#/$defs/'))
        return [[key, reference(nameOf(value.slice('#/$defs/'.length))).$ref]]
      return [[key, moved(value)]]
    })
    return withNullableType(simplified(Object.fromEntries(entries), io))
  }
  for (const [id, definition] of Object.entries($defs))
    if (!isJsonUnion(definition)) components[nameOf(id)] = moved(definition) as OpenApiSchema
  const found = moved(schema) as OpenApiSchema
  if (JSON.stringify([found, components]).includes(`schemas/${anyJson}"`))
    components[anyJson] = { description: 'Any JSON value' }
  return found
}

/** Named fields that several outputs have in common, as schemas. */
export function fieldSchemas(components: Components): Components {
  const schemas: Components = {}
  for (const [name, type] of [...namedFields()].sort(([one], [other]) => (one < other ? -1 : 1)))
    schemas[name] = schemaOf(type, 'output', components)
  return schemas
}

const reference = (name: string): { $ref: string } => ({ $ref: `#/components/schemas/${name}` })
