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
 * accepts remain the same. `fields`: schemas of named fields, which are shared only if at least two schemas of `document` or `components`
 * have them.
 * @returns a function for the parts of the document, one for a shared schema, which never refers to itself or to an equal schema, and the
 * schemas of `fields` that are shared
 */
export function schemaExtensions(components: Components, fields: Components = {}, document: unknown = {}) {
  const found = referrers({ ...components, ...fields })
  const uses = new Map<string, number>()
  const note = (name: string) => void uses.set(name, (uses.get(name) ?? 0) + 1)
  found.extended(document, note)
  for (const schema of Object.values(components)) found.extendedComponent(schema, note)
  const used = Object.fromEntries(Object.entries(fields).filter(([name]) => (uses.get(name) ?? 0) > 1))
  const { extended, extendedComponent } = referrers({ ...components, ...used })
  return { extended, extendedComponent, used }
}

/** `note` is called with the name of each shared schema that a schema then refers to. */
function referrers(components: Components) {
  const objects = Object.entries(components).filter((entry): entry is [string, ObjectSchema] => isExtensible(entry[1]))
  const smallestOf = (part: unknown, bases: typeof objects, note?: (name: string) => void): unknown => {
    if (!isExtensible(part)) return part
    let best: { name: string; schema: OpenApiSchema } | undefined
    for (const [name, base] of bases) {
      if (!isExtension(part, base)) continue
      const schema = withBase(part, name, base)
      if (!best || lengthOf(schema) < lengthOf(best.schema)) best = { name, schema }
    }
    if (!best || lengthOf(part) - lengthOf(best.schema) < leastSaved) return part
    note?.(best.name)
    return best.schema
  }
  const extended = <T>(value: T, note?: (name: string) => void): T =>
    mapParts(value, (part) => smallestOf(part, objects, note))
  return {
    extended,
    extendedComponent(schema: OpenApiSchema, note?: (name: string) => void): OpenApiSchema {
      if (!isExtensible(schema)) return extended(schema, note)
      const count = Object.keys(schema.properties).length
      const smaller = objects.filter(([, { properties }]) => Object.keys(properties).length < count)
      const changed = smallestOf(schema, smaller, note) as OpenApiSchema
      return Object.fromEntries(Object.entries(changed).map(([keyword, value]) => [keyword, extended(value, note)]))
    },
  }
}
