import type { Database } from '#lib/stores/postgres/database.ts'
import { newestUnfinishedSweep } from './repository.ts'
import { deletedOf, totalOf } from './retention-manager.ts'

/** Milliseconds; older sweeps are ignored. */
const lookBack = 2 * 86_400_000

export interface ActiveSweep {
  id: string
  startedAt: Date
  deleted: number
}

/** Returns the newest unfinished sweep. A sweep whose process has died counts until the worker continues it. */
export async function activeSweep(db: Database, now: Date): Promise<ActiveSweep | undefined> {
  const [row] = await newestUnfinishedSweep(db, { since: new Date(now.getTime() - lookBack) })
  return row && { id: row.id, startedAt: row.started_at, deleted: totalOf(deletedOf(row)) }
}
