import type { Database } from '#lib/stores/postgres/database.ts'

/** How many jobs of these names failed at least once and are still there: they are tried again, or were given up. */
export async function failedOnce(db: Database, names: readonly string[]): Promise<number> {
  const [row] = await db.query<{ n: number }>(
    'jobs-failed-once',
    'SELECT count(*)::int AS n FROM graphile_worker.jobs WHERE task_identifier = ANY($1::text[]) AND attempts > 0 AND last_error IS NOT NULL',
    [names],
  )
  return row?.n ?? 0
}
