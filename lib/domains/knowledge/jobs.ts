import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { rejectionWindow } from './rules.ts'

export const knowledgeJobs = (db: Database) => [
  job({
    name: 'knowledge.forget-rejections',
    payload: z.unknown(),
    cron: '31 * * * *',
    async run(ctx) {
      await db.query('rejections-purge', 'DELETE FROM content_rejections WHERE at < $1', [
        new Date(ctx.now.getTime() - rejectionWindow),
      ])
    },
  }),
]
