import type { Database } from '#lib/stores/postgres/database.ts'
import { deletedOf, type SweepRow, sweepColumns, totalOf } from './sweeps.ts'

/** Milliseconds; older sweeps are ignored. */
const lookedBack = 2 * 86_400_000

export interface ActiveSweep {
  id: string
  startedAt: Date
  deleted: number
}

/** Returns the newest unfinished sweep. A sweep whose process has died counts until the worker continues it. */
export async function activeSweep(db: Database, now: Date): Promise<ActiveSweep | undefined> {
  const [row] = await db.query<SweepRow>(
    'sweep-under-way',
    `SELECT ${sweepColumns} FROM retention_sweeps WHERE started_at > $1 AND finished_at IS NULL
     ORDER BY started_at DESC, id DESC LIMIT 1`,
    [new Date(now.getTime() - lookedBack)],
  )
  return row && { id: row.id, startedAt: row.started_at, deleted: totalOf(deletedOf(row)) }
}
