import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import { notePurge } from '#lib/kernel/purging.ts'
import { lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { deleteExpiredEntries } from './repository.ts'

const batch = 1_000

/** Deletes expired entries: at their own time, or after the number of days that the owner set. Under legal hold, when the hold ends. */
export function grimoireJobs() {
  async function removeEnded(ctx: Context, tx: Transaction): Promise<number> {
    await lockHolds(tx)
    const entriesDeleted = await deleteExpiredEntries(tx, { now: ctx.now, limit: batch })
    return notePurge(ctx, tx, {
      what: 'entries that ended',
      results: { entriesDeleted },
      resourceType: 'grimoire_entry',
      resourceId: 'ended',
    })
  }

  return [
    job({
      name: 'grimoire.purge-ended',
      payload: z.unknown(),
      cron: '23 * * * *',
      async run(ctx) {
        while ((await ctx.pipeline.transaction((tx) => removeEnded(ctx, tx))) === batch);
      },
    }),
  ]
}
