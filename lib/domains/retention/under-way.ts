import type { Database } from '#lib/stores/postgres/database.ts'
import { deletedOf, type SweepRow, sweepColumns, totalOf } from './sweeps.ts'

/** Sweeps that began longer ago are not looked for. */
const lookedBack = 2 * 86_400_000

export interface SweepUnderWay {
  id: string
  startedAt: Date
  deleted: number
}

/** The newest sweep that has not ended; one whose process is gone counts until the worker took it up. */
export async function sweepUnderWay(db: Database, now: Date): Promise<SweepUnderWay | undefined> {
  const [row] = await db.query<SweepRow>(
    'sweep-under-way',
    `SELECT ${sweepColumns} FROM retention_sweeps WHERE started_at > $1 AND finished_at IS NULL
     ORDER BY started_at DESC, id DESC LIMIT 1`,
    [new Date(now.getTime() - lookedBack)],
  )
  return row && { id: row.id, startedAt: row.started_at, deleted: totalOf(deletedOf(row)) }
}
