import type { Components, OpenApiSchema } from './schemas.ts'

/** The minimum number of characters that a reference must save. */
const leastSaved = 100

/** An object schema whose only keywords are its properties, so that a second schema can add properties to it. */
interface ObjectSchema extends OpenApiSchema {
  properties: Record<string, OpenApiSchema>
  required?: string[]
}
const keywords = new Set(['type', 'properties', 'required'])
const isExtensible = (value: unknown): value is ObjectSchema =>
  typeof value === 'object' &&
  value !== null &&
  'type' in value &&
  value.type === 'object' &&
  'properties' in value &&
  Object.keys(value).every((keyword) => keywords.has(keyword))

const lengthOf = (value: unknown): number => JSON.stringify(value).length

const isRequired = ({ required = [] }: ObjectSchema, name: string): boolean => required.includes(name)

/** Whether `schema` has every property of `base`, equally described and equally required. */
const isExtension = (schema: ObjectSchema, base: ObjectSchema): boolean =>
  Object.keys(base.properties).every(
    (name) =>
      JSON.stringify(schema.properties[name]) === JSON.stringify(base.properties[name]) &&
      isRequired(schema, name) === isRequired(base, name),
  )

function withBase(schema: ObjectSchema, baseName: string, base: ObjectSchema): OpenApiSchema {
  const isOwn = (name: string) => !(name in base.properties)
  const properties = Object.fromEntries(Object.entries(schema.properties).filter(([name]) => isOwn(name)))
  const required = schema.required?.filter(isOwn) ?? []
  const reference = { $ref: `#/components/schemas/${baseName}` }
  if (Object.keys(properties).length === 0) return reference
  return { allOf: [reference, { type: 'object', properties, ...(required.length > 0 && { required }) }] }
}

/** Applies `change` to each part of a JSON value, to outer parts before their inner parts. */
function mapParts<T>(value: T, change: (part: unknown) => unknown): T
function mapParts(value: unknown, change: (part: unknown) => unknown): unknown {
  const changed = change(value)
  if (Array.isArray(changed)) return changed.map((part) => mapParts(part, change))
  if (typeof changed !== 'object' || changed === null) return changed
  return Object.fromEntries(Object.entries(changed).map(([key, part]) => [key, mapParts(part, change)]))
}

/**
 * States the properties of a shared schema once: a schema that adds properties to it refers to it with `allOf`. The values that each schema
 * accepts remain the same.
 * @returns a function for the parts of the document, and one for a shared schema, which never refers to itself or to an equal schema
 */
export function schemaExtensions(components: Components) {
  const objects = Object.entries(components).filter((entry): entry is [string, ObjectSchema] => isExtensible(entry[1]))
  const smallestOf = (part: unknown, bases: typeof objects): unknown => {
    if (!isExtensible(part)) return part
    const all = bases.filter(([, base]) => isExtension(part, base)).map(([name, base]) => withBase(part, name, base))
    const best = all.reduce<OpenApiSchema>((one, other) => (lengthOf(other) < lengthOf(one) ? other : one), part)
    return lengthOf(part) - lengthOf(best) < leastSaved ? part : best
  }
  const extended = <T>(value: T): T => mapParts(value, (part) => smallestOf(part, objects))
  return {
    extended,
    extendedComponent(schema: OpenApiSchema): OpenApiSchema {
      if (!isExtensible(schema)) return extended(schema)
      const count = Object.keys(schema.properties).length
      const smaller = objects.filter(([, { properties }]) => Object.keys(properties).length < count)
      const changed = smallestOf(schema, smaller) as OpenApiSchema
      return Object.fromEntries(Object.entries(changed).map(([keyword, value]) => [keyword, extended(value)]))
    },
  }
}
