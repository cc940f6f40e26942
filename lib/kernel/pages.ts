import { z } from 'zod'
import { sharedFields } from './operation.ts'
import { invalid, type Problem } from './problem.ts'

/** In the range of years that PostgreSQL and ISO 8601 write in the same way. */
const isUsual = (time: Date): boolean => time.getUTCFullYear() >= 2000 && time.getUTCFullYear() <= 9999

/** Rows per page: 1–100, by default 20. */
export const PageLimit = z.coerce
  .number()
  .int()
  .min(1, 'must be at least 1')
  .max(100, 'must be at most 100')
  .default(20)
export const Cursor = z.string().max(500)
export const Timestamp = z.iso
  .datetime({ offset: true, message: 'must be an ISO 8601 time such as 2026-01-31T12:00:00Z' })
  .transform((text) => new Date(text))
  .refine(isUsual, 'must be a time from the years 2000 to 9999')

const Total = z.number().int().meta({ id: 'Total', description: 'Number of all matches, or the limit of the count' })

const position = sharedFields('ListPosition', {
  total: Total,
  offset: z.number().int(),
  limit: z.number().int(),
  next_cursor: z.string().nullable(),
})

/** The envelope of a list. */
export const page = <T extends z.ZodType>(item: T) =>
  z.object({
    data: z.array(item),
    ...position,
  })

export interface TimeCursor {
  at: Date
  id: string
}
/** A position in a list ordered by (time, id), newest first. Opaque to clients, and validated when a client sends it back. */
export const encodeCursor = (at: Date, id: string): string =>
  Buffer.from(JSON.stringify([at.getTime(), id])).toString('base64url')

/** Undefined if the cursor is malformed. */
export function decodeCursor(cursor: string): TimeCursor | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    if (!Array.isArray(parsed) || typeof parsed[0] !== 'number' || typeof parsed[1] !== 'string') return undefined
    const at = new Date(parsed[0])
    return isUsual(at) && /^[\w.:~-]{1,300}$/.test(parsed[1]) ? { at, id: parsed[1] } : undefined
  } catch {
    return undefined
  }
}

/** The position in a list's `cursor` parameter; undefined for the start of the list. @throws `invalid` for a malformed cursor */
export function parseCursor(cursor: string | undefined): TimeCursor | undefined {
  const after = cursor === undefined ? undefined : decodeCursor(cursor)
  if (cursor !== undefined && !after) throw notOurCursor()
  return after
}
export const notOurCursor = (): Problem => invalid(['query', 'cursor'], 'is not a cursor of this list')

/**
 * The rows to show and the envelope's other members. `found` holds up to one row more than `limit`: that row means there is another
 * page.
 */
export function pageOf<T>(
  found: readonly T[],
  limit: number,
  total: number,
  place: (row: T) => TimeCursor,
  offset = 0,
) {
  const shown = found.slice(0, limit)
  const last = found.length > limit ? shown.at(-1) : undefined
  const at = last && place(last)
  return { shown, page: { total, offset, limit, next_cursor: at ? encodeCursor(at.at, at.id) : null } }
}
