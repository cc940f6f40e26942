import type { Components, OpenApiSchema } from './schemas.ts'

/** The minimum number of characters that a reference must save. */
const leastSaved = 100

/** An object schema whose only keywords are its properties, so that a second schema can add properties to it. */
interface ObjectSchema extends OpenApiSchema {
  properties: Record<string, OpenApiSchema>
  required?: string[]
}
const keywords = new Set(['type', 'properties', 'required'])
const isExtensible = (schema: OpenApiSchema): schema is ObjectSchema =>
  schema.type === 'object' && 'properties' in schema && Object.keys(schema).every((keyword) => keywords.has(keyword))

const isRequired = ({ required = [] }: ObjectSchema, name: string): boolean => required.includes(name)

/** Whether `schema` has every property of `base`, equally described and equally required, and others. */
function isExtension(schema: ObjectSchema, base: ObjectSchema): boolean {
  const names = Object.keys(base.properties)
  return (
    names.length < Object.keys(schema.properties).length &&
    names.every(
      (name) =>
        JSON.stringify(schema.properties[name]) === JSON.stringify(base.properties[name]) &&
        isRequired(schema, name) === isRequired(base, name),
    )
  )
}

function withBase(schema: ObjectSchema, baseName: string, base: ObjectSchema): OpenApiSchema {
  const isOwn = (name: string) => !(name in base.properties)
  const required = schema.required?.filter(isOwn) ?? []
  return {
    allOf: [
      { $ref: `#/components/schemas/${baseName}` },
      {
        type: 'object',
        properties: Object.fromEntries(Object.entries(schema.properties).filter(([name]) => isOwn(name))),
        ...(required.length > 0 && { required }),
      },
    ],
  }
}

/**
 * States the properties of a schema once where another schema only adds properties: the larger schema refers to the smaller one with
 * `allOf`. The values that each schema accepts remain the same.
 */
export function extendedSchemas(components: Components): Components {
  const objects = Object.entries(components).filter((entry): entry is [string, ObjectSchema] => isExtensible(entry[1]))
  const smallestOf = (schema: ObjectSchema): OpenApiSchema => {
    const all = objects
      .filter(([, base]) => isExtension(schema, base))
      .map(([name, base]) => withBase(schema, name, base))
    return all.reduce((best, one) => (JSON.stringify(one).length < JSON.stringify(best).length ? one : best), schema)
  }
  return Object.fromEntries(
    Object.entries(components).map(([name, schema]) => {
      const smallest = isExtensible(schema) ? smallestOf(schema) : schema
      const saved = JSON.stringify(schema).length - JSON.stringify(smallest).length
      return [name, saved < leastSaved ? schema : smallest]
    }),
  )
}
