import { z } from 'zod'

/** What a property may be: a word of a closed list, a whole number with bounds, yes or no. Nothing that could carry a text, an id or an amount. */
type Closed = z.ZodEnum<Readonly<Record<string, string>>> | z.ZodNumberFormat | z.ZodBoolean
export type Shape = Readonly<Record<string, Closed>>

/** A count beyond this could tell somebody apart: larger things are told as buckets. */
const largestCount = 1_000
const wordForm = /^[a-z][a-z0-9_]{0,39}$/

/** What is wrong with a property; undefined where nothing is. Types can be lied to, and this cannot. */
function faultOf(property: unknown): string | undefined {
  if (property instanceof z.ZodBoolean) return undefined
  if (property instanceof z.ZodEnum) {
    const bad = property.options.find((word) => typeof word !== 'string' || !wordForm.test(word))
    return bad === undefined ? undefined : 'has a word that is none'
  }
  if (property instanceof z.ZodNumberFormat) {
    const { minValue, maxValue, isInt } = property
    const isBounded = isInt && minValue !== null && minValue >= 0 && maxValue !== null && maxValue <= largestCount
    return isBounded ? undefined : `needs bounds within 0 and ${largestCount}`
  }
  return 'is neither a list of words, nor a whole number, nor yes or no'
}

/** Declares what an event says. Throws, when the file is loaded, for a property that could say more. */
export function declared<const S extends Shape>(what: string, shape: S) {
  for (const [name, property] of Object.entries(shape)) {
    const fault = wordForm.test(name) ? faultOf(property) : 'has a name that is none'
    if (fault !== undefined) throw new TypeError(`telemetry: the property "${name}" ${fault}`)
  }
  return { what, schema: z.strictObject(shape) }
}

export interface PropertyView {
  name: string
  type: 'enum' | 'integer' | 'boolean'
  /** Of an enum. */
  values: string[] | null
  /** Of an integer, the largest. */
  most: number | null
}
/** What a page shows of a declaration. */
export const propertiesOf = (schema: z.ZodObject): PropertyView[] =>
  Object.entries(schema.shape).map(([name, property]) => ({
    name,
    type: property instanceof z.ZodEnum ? 'enum' : property instanceof z.ZodNumberFormat ? 'integer' : 'boolean',
    values: property instanceof z.ZodEnum ? property.options.map(String) : null,
    most: property instanceof z.ZodNumberFormat ? property.maxValue : null,
  }))
