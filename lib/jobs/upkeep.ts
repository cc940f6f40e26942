import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { deleteFailedJobs } from './queue.ts'

/** How long a permanently failed job is retained for inspection, in milliseconds. */
const failedJobRetention = 7 * 86_400_000

/** Deletes permanently failed jobs after a week: their rows contain ids of people, and the failure is in the log. */
export const queueJobs = (db: Database) => [
  job({
    name: 'queue.forget-failed',
    payload: z.unknown(),
    cron: '47 * * * *',
    async run(ctx) {
      await deleteFailedJobs(db, { before: new Date(ctx.now.getTime() - failedJobRetention) })
    },
  }),
]
