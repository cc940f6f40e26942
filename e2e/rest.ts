import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '#lib/stores/postgres/database.ts'

/** Milliseconds. Only a hanging worker exceeds it. */
const patience = 150_000
const due =
  'SELECT count(*)::int AS n FROM graphile_worker.jobs WHERE attempts < max_attempts AND (locked_at IS NOT NULL OR run_at <= now())'

/** Resolves when the worker has done all work that is due. */
export async function untilAtRest({ pool }: Pick<Database, 'pool'>): Promise<void> {
  for (const giveUp = performance.now() + patience; performance.now() < giveUp; await delay(100)) {
    const { rows } = await pool.query<{ n: number }>(due)
    if (rows[0]?.n === 0) return
  }
  throw new Error('the worker does not come to rest')
}
