import type { Database } from '#lib/stores/postgres/database.ts'

/** How many unfinished jobs with these names have failed at least once, including those that are not retried any more. */
export async function failedOnce(db: Database, names: readonly string[]): Promise<number> {
  const [row] = await db.query<{ n: number }>(
    'jobs-failed-once',
    'SELECT count(*)::int AS n FROM graphile_worker.jobs WHERE task_identifier = ANY($1::text[]) AND attempts > 0 AND last_error IS NOT NULL',
    [names],
  )
  return row?.n ?? 0
}
