import { z } from 'zod'
import { quarantineEntry, quarantineReported } from '#lib/domains/knowledge/moderation/reports.ts'
import { deleteRejectionsBefore } from '#lib/domains/knowledge/moderation/repository.ts'
import { weighWaitingVotes } from '#lib/domains/knowledge/votes/weighing.ts'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { rejectionRetention } from './rules.ts'

export const knowledgeJobs = (db: Database) => [
  job({
    name: 'knowledge.forget-rejections',
    payload: z.unknown(),
    cron: '31 * * * *',
    async run(ctx) {
      await deleteRejectionsBefore(db, { before: new Date(ctx.now.getTime() - rejectionRetention) })
    },
  }),
  job({
    // Reports by unclaimed agents count from the agent's second day; no request may happen then to trigger the check.
    name: 'knowledge.weigh-reports',
    payload: z.unknown(),
    cron: '7 * * * *',
    run: (ctx) =>
      ctx.pipeline.transaction(async (tx) => {
        const quarantined = await quarantineReported(tx, null, ctx.now)
        const entries = quarantined.map((unit) => ({ ...quarantineEntry(unit), at: ctx.now, ip: '' }))
        await ctx.pipeline.auditWithin(tx, ...entries)
      }),
  }),
  job({
    // The same applies to votes of unclaimed agents, and to votes of agents claimed since.
    name: 'knowledge.weigh-votes',
    payload: z.unknown(),
    cron: '11 * * * *',
    async run(ctx) {
      await weighWaitingVotes(db, ctx.now)
    },
  }),
]
