import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** How long a job that failed for good is kept to be looked at, in milliseconds. */
const failedKept = 7 * 86_400_000

/** What failed for good is known from the log; its row, ids of people in it, goes after a week. */
export const queueJobs = (db: Database) => [
  job({
    name: 'queue.forget-failed',
    payload: z.unknown(),
    cron: '47 * * * *',
    async run(ctx) {
      await db.query(
        'queue-forget-failed',
        `SELECT graphile_worker.complete_jobs(array_agg(id)) FROM graphile_worker.jobs
         WHERE attempts >= max_attempts AND locked_at IS NULL AND updated_at < $1 HAVING count(*) > 0`,
        [new Date(ctx.now.getTime() - failedKept)],
      )
    },
  }),
]
