import { listTombstones } from '#lib/domains/erasure/contract.ts'
import { settlingTime } from '#lib/domains/erasure/rules.ts'
import { encodeCursor, parseCursor } from '#lib/kernel/pages.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { tombstoneCount, tombstonePage } from './repository.ts'

/** Where a list starts without a cursor. */
const beginning = { at: new Date('2000-01-01T00:00:00Z'), id: '-' }

/** Lists erased units and skills that others could copy, oldest first (GDPR art. 19). */
export const tombstones = (db: Database) =>
  read(listTombstones, async ({ now }, { query: { cursor, limit } }) => {
    const after = parseCursor(cursor) ?? beginning
    const settled = new Date(now.getTime() - settlingTime)
    const from = { afterAt: after.at, afterId: after.id, settled }
    const [rows, [rest]] = await Promise.all([tombstonePage(db, { ...from, limit }), tombstoneCount(db, from)])
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
