import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { job } from '#lib/kernel/job.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import { notePurge } from '#lib/kernel/purging.ts'
import { lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { deleteExpiredExchanges, overdueExchanges } from './repository.ts'
import { latest } from './rules.ts'

const batch = 500

/** For how many milliseconds the oldest exchange without a legal hold has been expired; 0 when none has. */
export const logLateness = async (db: Database, now: Date): Promise<number> =>
  (await overdueExchanges(db, { now }))[0]?.late ?? 0
/** The purge runs every ten minutes, so a longer delay means that it failed. */
export const isLate = (milliseconds: number): boolean => milliseconds > latest

export const llmLogMeasures = (db: Database): Measuring => ({
  name: 'llm_log',
  measure: async (now) => [
    {
      name: 'kp_llm_log_overdue_seconds',
      help: 'Seconds since the oldest logged exchange with a language model should have been deleted; alarm above 3600',
      type: 'gauge',
      samples: [{ value: (await logLateness(db, now)) / 1000 }],
    },
  ],
})

/** Storage limitation (GDPR art. 5(1)(e)) of the data with the shortest retention. */
export const llmLogEvidence = (): EvidenceCheck[] => [
  {
    line: 'storage_limitation',
    name: 'llm-log.overdue',
    page: null,
    async ask(query, now) {
      const [{ late, n } = { late: 0, n: 0 }] = await overdueExchanges(query, { now })
      return { state: failsIf(isLate(late)), numbers: { standing: n, minutes: Math.floor(late / 60_000) } }
    },
  },
]

/**
 * Deletes exchanges 24 hours after they were logged; no setting changes this. Logs an alarm before it deletes late
 * ones. Exchanges under legal hold are unreadable after 24 hours and deleted when the hold ends.
 */
export function llmLogJobs(db: Database) {
  async function removeExpired(ctx: Context, tx: Transaction): Promise<number> {
    await lockHolds(tx)
    const exchangesDeleted = await deleteExpiredExchanges(tx, { now: ctx.now, limit: batch })
    return notePurge(ctx, tx, {
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
