import type { Database } from '#lib/stores/postgres/database.ts'

/** A job that is waiting or has failed: ids, counts and times, without its payload and error. */
export interface StoredJobRun {
  id: string
  name: string
  state: 'waiting' | 'retrying' | 'failed'
  attempts: number
  mostAttempts: number
  /** The time of the next attempt; for a job that failed permanently, of the last one. */
  at: Date
}
interface Row {
  id: string
  name: string
  attempts: number
  most: number
  run_at: Date
  updated_at: Date
}

/** At most `limit` unfinished jobs with these names, permanently failed ones first, and the number of jobs by state. */
export async function storedJobRuns(
  db: Pick<Database, 'query'>,
  names: readonly string[],
  limit: number,
): Promise<{ jobs: StoredJobRun[]; counts: Record<StoredJobRun['state'], number> }> {
  const [rows, [counted]] = await Promise.all([
    db.query<Row>(
      'jobs-standing',
      `SELECT id::text, task_identifier AS name, attempts::int, max_attempts::int AS most, run_at, updated_at FROM graphile_worker.jobs
       WHERE task_identifier = ANY($1::text[]) ORDER BY attempts >= max_attempts DESC, attempts DESC, run_at, id LIMIT $2`,
      [names, limit],
    ),
    db.query<{ failed: number; retrying: number; waiting: number }>(
      'jobs-standing-count',
      `SELECT count(*) FILTER (WHERE attempts >= max_attempts)::int AS failed,
         count(*) FILTER (WHERE attempts > 0 AND attempts < max_attempts)::int AS retrying, count(*) FILTER (WHERE attempts = 0)::int AS waiting
       FROM graphile_worker.jobs WHERE task_identifier = ANY($1::text[])`,
      [names],
    ),
  ])
  return {
    jobs: rows.map(({ id, name, attempts, most, run_at, updated_at }) => {
      const state = attempts >= most ? 'failed' : attempts > 0 ? 'retrying' : 'waiting'
      return { id, name, state, attempts, mostAttempts: most, at: state === 'failed' ? updated_at : run_at }
    }),
    counts: counted ?? { failed: 0, retrying: 0, waiting: 0 },
  }
}
