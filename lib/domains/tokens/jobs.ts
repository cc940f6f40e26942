import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
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
      const before = (kept: number) => new Date(ctx.now.getTime() - kept)
      await inBatches(
        ctx,
        (tx) => tx.$executeRaw`DELETE FROM rate_limit_refusals WHERE id IN (
          SELECT id FROM rate_limit_refusals WHERE at < ${before(refusalRetention)} LIMIT ${batch})`,
      )
      await inBatches(
        ctx,
        (tx) => tx.$executeRaw`DELETE FROM token_usage WHERE (token_id, hour) IN (
          SELECT token_id, hour FROM token_usage WHERE hour < ${before(usageRetention)} LIMIT ${batch} FOR UPDATE SKIP LOCKED)`,
      )
      await inBatches(ctx, async (tx) => {
        const ended = before(endedTokenRetention)
        const count = await tx.$executeRaw`DELETE FROM tokens WHERE id IN (
          SELECT id FROM tokens WHERE revoked_at < ${ended} OR expires_at < ${ended} LIMIT ${batch} FOR UPDATE SKIP LOCKED)`
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
