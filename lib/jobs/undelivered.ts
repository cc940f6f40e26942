import type { Database } from '#lib/stores/postgres/database.ts'
import { countFailedOnce } from './repository.ts'

/** How many unfinished jobs with these names have failed at least once, including those that are not retried any more. */
export async function failedOnce(db: Database, names: readonly string[]): Promise<number> {
  const [row] = await countFailedOnce(db, { names })
  return row?.n ?? 0
}
