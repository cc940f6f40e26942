import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { AuditLog } from './log.ts'
import { createPartitions } from './repository.ts'

/** Creates partitions a week ahead. Entries without a partition are stored in the default one and moved later. */
export const auditJobs = (db: Database, log: AuditLog) => [
  job({
    name: 'audit.upkeep',
    payload: z.unknown(),
    cron: '7 * * * *',
    async run(ctx) {
      await createPartitions(db, { days: 7 })
      await log.purge(ctx.now)
    },
  }),
]
