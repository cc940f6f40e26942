import { z } from 'zod'
import { invalid, type Problem } from './problem.ts'

/** Within the years that PostgreSQL, ISO 8601 and everybody else write alike. */
const isUsual = (time: Date): boolean => time.getUTCFullYear() >= 2000 && time.getUTCFullYear() <= 9999

/** Rows of a list: 1–100, 20 unless told. */
export const PageLimit = z.coerce.number().int().min(1, 'takes 1 at least').max(100, 'takes 100 at most').default(20)
export const Cursor = z.string().max(500)
export const Timestamp = z.iso
  .datetime({ offset: true, message: 'takes an ISO 8601 time such as 2026-01-31T12:00:00Z' })
  .transform((text) => new Date(text))
  .refine(isUsual, 'takes a time from 2000 to 9999')

/** The envelope of many. */
export const page = <T extends z.ZodType>(item: T) =>
  z.object({
    data: z.array(item),
    total: z.number().int().meta({ description: 'All matches, or the bound of the count' }),
    offset: z.number().int(),
    limit: z.number().int(),
    next_cursor: z.string().nullable(),
  })

export interface Place {
  at: Date
  id: string
}
/** A position in a list ordered by (time, id), newest first. Opaque to callers, checked when it comes back. */
export const encodeCursor = (at: Date, id: string): string =>
  Buffer.from(JSON.stringify([at.getTime(), id])).toString('base64url')

/** Undefined when it is none of ours. */
export function decodeCursor(cursor: string): Place | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    if (!Array.isArray(parsed) || typeof parsed[0] !== 'number' || typeof parsed[1] !== 'string') return undefined
    const at = new Date(parsed[0])
    return isUsual(at) && /^[\w.:-]{1,200}$/.test(parsed[1]) ? { at, id: parsed[1] } : undefined
  } catch {
    return undefined
  }
}

/** The place that a list's parameter `cursor` names; undefined for its beginning. Throws `invalid` for one that is none of ours. */
export function placeOf(cursor: string | undefined): Place | undefined {
  const place = cursor === undefined ? undefined : decodeCursor(cursor)
  if (cursor !== undefined && !place) throw notOurCursor()
  return place
}
export const notOurCursor = (): Problem => invalid(['query', 'cursor'], 'is not a cursor of this list')

/**
 * The end of a list: what is shown of `found`, and what its envelope says beside it. One more row than `limit` says that there is
 * another page.
 */
export function pageOf<T>(found: readonly T[], limit: number, total: number, place: (row: T) => Place, offset = 0) {
  const shown = found.slice(0, limit)
  const last = found.length > limit ? shown.at(-1) : undefined
  const at = last && place(last)
  return { shown, page: { total, offset, limit, next_cursor: at ? encodeCursor(at.at, at.id) : null } }
}
