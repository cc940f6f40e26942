import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { AuditLog } from './log.ts'

/** Partitions are made a week ahead; an entry for which none exists goes to the default one and is moved here. */
export const auditJobs = (db: Database, log: AuditLog) => [
  job({
    name: 'audit.upkeep',
    payload: z.unknown(),
    cron: '7 * * * *',
    async run(ctx) {
      await db.query('audit-partitions', 'SELECT audit_ensure_partitions(7)')
      await log.purge(ctx.now)
    },
  }),
]
