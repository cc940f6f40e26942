import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { replyRetention } from './records.ts'

export const idempotencyJobs = (db: Database) => [
  job({
    name: 'idempotency.purge',
    payload: z.unknown(),
    cron: '23 * * * *',
    async run(ctx) {
      const before = new Date(ctx.now.getTime() - replyRetention)
      for (;;) {
        const gone = await db.query(
          'idempotency-purge',
          'DELETE FROM idempotency_records WHERE (scope, key) IN (SELECT scope, key FROM idempotency_records WHERE created_at < $1 LIMIT 1000) RETURNING 1',
          [before],
        )
        if (gone.length < 1_000) return
      }
    },
  }),
]
