import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import { notePurge, type RecordDeletion } from '#lib/kernel/purging.ts'
import { deleteUncoveredVersions, lockHoldsShared } from './repository.ts'

export const heldVersionsJob = 'holds.delete-versions'
const batch = 1_000

/** Deletes the versions that expired holds preserved. The release of a hold begins this job at once. */
export function holdsJobs({ recordDeletion }: { recordDeletion: RecordDeletion }) {
  async function removeUncovered(ctx: Context, tx: Transaction): Promise<number> {
    await lockHoldsShared(tx, {})
    const versionsDeleted = await deleteUncoveredVersions(tx, { now: ctx.now, most: batch })
    return notePurge(recordDeletion, ctx, tx, {
      what: 'held versions of records that no legal hold covers any more',
      results: { versionsDeleted },
      resourceType: 'hold',
      resourceId: 'ended',
    })
  }
  return [
    job({
      name: heldVersionsJob,
      payload: z.unknown(),
      cron: '*/10 * * * *',
      async run(ctx) {
        while ((await ctx.pipeline.transaction((tx) => removeUncovered(ctx, tx))) === batch);
      },
    }),
  ]
}
