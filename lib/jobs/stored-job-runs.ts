import type { Database } from '#lib/stores/postgres/database.ts'
import { countFailedOnce, countUnfinishedJobs, unfinishedJobs } from './queue.ts'

/** A job that is waiting or has failed: ids, counts and times, without its payload and error. */
export interface StoredJobRun {
  id: string
  name: string
  state: 'waiting' | 'retrying' | 'failed'
  attempts: number
  attemptLimit: number
  /** The time of the next attempt; for a job that failed permanently, of the last one. */
  at: Date
}

/** At most `limit` unfinished jobs with these names, permanently failed ones first, and the number of jobs by state. */
export async function storedJobRuns(
  db: Database,
  names: readonly string[],
  limit: number,
): Promise<{ jobs: StoredJobRun[]; counts: Record<StoredJobRun['state'], number> }> {
  const [rows, [counted]] = await Promise.all([
    unfinishedJobs(db, { names, limit }),
    countUnfinishedJobs(db, { names }),
  ])
  return {
    jobs: rows.map(({ id, name, attempts, max, run_at, updated_at }) => {
      const state = attempts >= max ? 'failed' : attempts > 0 ? 'retrying' : 'waiting'
      return { id, name, state, attempts, attemptLimit: max, at: state === 'failed' ? updated_at : run_at }
    }),
    counts: counted ?? { failed: 0, retrying: 0, waiting: 0 },
  }
}

/** How many unfinished jobs with these names have failed at least once, including those that are not retried any more. */
export async function failedOnce(db: Database, names: readonly string[]): Promise<number> {
  const [row] = await countFailedOnce(db, { names })
  return row?.n ?? 0
}
