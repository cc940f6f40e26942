import { z } from 'zod'

/** Allowed properties: a word of a closed list, a bounded integer or a boolean. Nothing that could contain a text, an id or an amount. */
type Closed = z.ZodEnum<Readonly<Record<string, string>>> | z.ZodNumberFormat | z.ZodBoolean
export type EventShape = Readonly<Record<string, Closed>>

/** A larger count could identify a person: larger values are sent as buckets. */
const largestCount = 1_000
const wordForm = /^[a-z][a-z0-9_]{0,39}$/

/** What is wrong with a property, or undefined. Checked at runtime, because types can be bypassed. */
function faultOf(property: unknown): string | undefined {
  if (property instanceof z.ZodBoolean) return undefined
  if (property instanceof z.ZodEnum) {
    const bad = property.options.find((word) => typeof word !== 'string' || !wordForm.test(word))
    return bad === undefined ? undefined : 'has an invalid value'
  }
  if (property instanceof z.ZodNumberFormat) {
    const { minValue, maxValue, isInt } = property
    const isBounded = isInt && minValue !== null && minValue >= 0 && maxValue !== null && maxValue <= largestCount
    return isBounded ? undefined : `must have bounds from 0 to ${largestCount}`
  }
  return 'must be a list of words, a whole number, or yes or no'
}

/** Declares the properties of an event. @throws TypeError when the module is loaded, for a property that could identify a person */
export function declared<const S extends EventShape>(what: string, shape: S) {
  for (const [name, property] of Object.entries(shape)) {
    const fault = wordForm.test(name) ? faultOf(property) : 'has an invalid name'
    if (fault !== undefined) throw new TypeError(`telemetry: the property "${name}" ${fault}`)
  }
  return { what, schema: z.strictObject(shape) }
}

export interface PropertyView {
  name: string
  type: 'enum' | 'integer' | 'boolean'
  /** The words of an enum. */
  values: string[] | null
  /** The maximum of an integer. */
  most: number | null
}
/** The properties of a declaration, as a page shows them. */
export const propertiesOf = (schema: z.ZodObject): PropertyView[] =>
  Object.entries(schema.shape).map(([name, property]) => ({
    name,
    type: property instanceof z.ZodEnum ? 'enum' : property instanceof z.ZodNumberFormat ? 'integer' : 'boolean',
    values: property instanceof z.ZodEnum ? property.options.map(String) : null,
    most: property instanceof z.ZodNumberFormat ? property.maxValue : null,
  }))
