import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** How long a permanently failed job is retained for inspection, in milliseconds. */
const failedKept = 7 * 86_400_000

/** Deletes permanently failed jobs after a week: their rows contain ids of people, and the failure is in the log. */
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
