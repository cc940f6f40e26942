import { listTombstones } from '#lib/domains/erasure/contract.ts'
import { settlingTime } from '#lib/domains/erasure/rules.ts'
import { encodeCursor, parseCursor } from '#lib/kernel/pages.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** The list counts up to this number. */
const mostCounted = 1_001
/** Where a list starts without a cursor. */
const beginning = { at: new Date('2000-01-01T00:00:00Z'), id: '-' }

const due = `FROM erased_ids WHERE was_public AND (erased_at, id) > ($1::timestamptz, $2) AND erased_at <= $3::timestamptz`
const selectPage = `SELECT id, erased_at ${due} ORDER BY erased_at, id LIMIT $4`
const countRest = `SELECT count(*)::int AS n FROM (SELECT ${due} LIMIT ${mostCounted}) AS rest`

/** Lists erased units and skills that others could copy, oldest first (GDPR art. 19). */
export const tombstones = (db: Database) =>
  read(listTombstones, async ({ now }, { query: { cursor, limit } }) => {
    const after = parseCursor(cursor) ?? beginning
    const settled = new Date(now.getTime() - settlingTime)
    const [rows, [rest]] = await Promise.all([
      db.query<{ id: string; erased_at: Date }>('tombstones-page', selectPage, [after.at, after.id, settled, limit]),
      db.query<{ n: number }>('tombstones-count', countRest, [after.at, after.id, settled]),
    ])
    const last = rows.at(-1)
    return {
      body: {
        data: rows.map(({ id, erased_at }) => ({ id, erased_at: erased_at.toISOString() })),
        total: rest?.n ?? 0,
        offset: 0,
        limit,
        next_cursor: last ? encodeCursor(last.erased_at, last.id) : encodeCursor(after.at, after.id),
      },
      resourceId: 'list',
    }
  })
