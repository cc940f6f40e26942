import { z } from 'zod'

const named = new Map<string, z.ZodObject>()

/** Names fields that several outputs have in common. OpenAPI describes them once, as a schema with this name. Returns the fields. */
export function sharedFields<T extends z.ZodRawShape>(name: string, fields: T): T {
  named.set(name, z.object(fields))
  return fields
}
/** All named fields, by name. */
export const namedFields = (): ReadonlyMap<string, z.ZodObject> => named

/** A time in an output: use cases return a Date, and clients receive ISO 8601 text in UTC. */
export const time = (meta?: { description: string }) =>
  z.codec(z.union([z.date(), z.iso.datetime()]), meta ? z.iso.datetime().meta(meta) : z.iso.datetime(), {
    decode: (at) => (typeof at === 'string' ? at : at.toISOString()),
    encode: (at) => at,
  })
