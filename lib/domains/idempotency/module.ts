import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { idempotencyDataSource } from './personal-data.ts'
import { deleteExpired } from './repository.ts'
import { replyRetention } from './rules.ts'

export const idempotencyData = (db: Database): PersonalData => ({ dataSources: [idempotencyDataSource(db)] })

/** Number of records per statement. */
const batch = 1_000

const idempotencyJobs = (db: Database) => [
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

/** Stored answers to repeated requests. */
export const idempotencyModule = (db: Database) => ({ useCases: {}, jobs: idempotencyJobs(db) })
