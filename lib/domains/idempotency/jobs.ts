import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { deleteExpired } from './repository.ts'
import { replyRetention } from './rules.ts'

/** Number of records per statement. */
const batch = 1_000

export const idempotencyJobs = (db: Database) => [
  job({
    name: 'idempotency.purge',
    payload: z.unknown(),
    cron: '23 * * * *',
    async run(ctx) {
      const before = new Date(ctx.now.getTime() - replyRetention)
      for (;;) {
        if ((await deleteExpired(db, { before, most: batch })) < batch) return
      }
    },
  }),
]
