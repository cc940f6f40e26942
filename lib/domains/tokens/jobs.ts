import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import { deleteExpiredBatch } from './repository.ts'
import { endedTokenRetention, refusalRetention } from './rules.ts'
import { usageRetention } from './usage-rules.ts'

const batch = 1_000

/** Runs batches, each in its own transaction, until one is not full. */
async function inBatches(ctx: Context, run: (tx: Transaction) => Promise<number>): Promise<void> {
  while ((await ctx.pipeline.transaction(run)) === batch);
}

/** Jobs that delete expired data. `purgeWindows` deletes rate limit windows that have ended. */
export const tokensJobs = ({ purgeWindows }: { purgeWindows(): Promise<number> }) => [
  job({
    name: 'tokens.purge',
    payload: z.unknown(),
    cron: '23 * * * *',
    async run(ctx) {
      const before = (retention: number) => new Date(ctx.now.getTime() - retention)
      await inBatches(ctx, (tx) =>
        deleteExpiredBatch(tx, { before: before(refusalRetention), limit: batch }, 'refusals'),
      )
      await inBatches(ctx, (tx) => deleteExpiredBatch(tx, { before: before(usageRetention), limit: batch }, 'usage'))
      await inBatches(ctx, async (tx) => {
        const count = await deleteExpiredBatch(tx, { before: before(endedTokenRetention), limit: batch }, 'ended')
        if (count > 0)
          await ctx.pipeline.auditWithin(tx, {
            action: 'delete',
            actorId: ctx.actor.id,
            resourceType: 'token',
            resourceId: 'ended',
            at: ctx.now,
            ip: '',
            details: { count },
          })
        return count
      })
      await purgeWindows()
    },
  }),
]
