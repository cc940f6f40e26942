import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { job } from '#lib/kernel/job.ts'
import { notePurge, type RecordDeletion } from '#lib/kernel/purging.ts'
import { lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { isLate, logLateness } from './lateness.ts'
import { deleteExpiredExchanges } from './repository.ts'

const batch = 500

export interface LlmLogJobPorts {
  db: Database
  recordDeletion: RecordDeletion
}

/**
 * Deletes exchanges 24 hours after they were logged; no setting changes this. Logs an alarm before it deletes late
 * ones. Exchanges under legal hold are unreadable after 24 hours and deleted when the hold ends.
 */
export function llmLogJobs({ db, recordDeletion }: LlmLogJobPorts) {
  async function removeExpired(ctx: Context, tx: Transaction): Promise<number> {
    await lockHolds(tx)
    const exchangesDeleted = await deleteExpiredExchanges(tx, { now: ctx.now, limit: batch })
    return notePurge(recordDeletion, ctx, tx, {
      what: 'logged exchanges whose 24 hours ended',
      results: { exchangesDeleted },
      resourceType: 'llm_exchange',
      resourceId: 'ended',
    })
  }

  return [
    job({
      name: 'llm-log.purge-ended',
      payload: z.unknown(),
      cron: '*/10 * * * *',
      async run(ctx) {
        const late = await logLateness(db, ctx.now)
        if (isLate(late))
          logFault(new Error('Logged exchanges with language models were not deleted after 24 hours'), {
            operationId: 'llm-log.purge-ended',
            late_minutes: String(Math.floor(late / 60_000)),
          })
        while ((await ctx.pipeline.transaction((tx) => removeExpired(ctx, tx))) === batch);
      },
    }),
  ]
}
