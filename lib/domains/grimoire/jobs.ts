import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import { notePurge, type RecordDeletion } from '#lib/kernel/purging.ts'
import { agentsUnderLegalHold, lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

const batch = 1_000

export interface GrimoireJobPorts {
  recordDeletion: RecordDeletion
}

/** Deletes expired entries: at their own time, or after the number of days that the owner set. Under legal hold, when the hold ends. */
export function grimoireJobs({ recordDeletion }: GrimoireJobPorts) {
  async function removeEnded(ctx: Context, tx: Transaction): Promise<number> {
    await lockHolds(tx)
    const { length: gone } = await queryWithin(
      tx,
      'purge-grimoire',
      `DELETE FROM grimoire_entries WHERE id IN (
         SELECT g.id FROM grimoire_entries g JOIN agent_states a ON a.id = g.agent_id
         WHERE (g.valid_until <= $1 OR (a.grimoire_days IS NOT NULL AND g.created_at <= $1::timestamptz - make_interval(days => a.grimoire_days)))
           AND a.id NOT IN (${agentsUnderLegalHold('$1')}) LIMIT ${batch} FOR UPDATE OF g SKIP LOCKED) RETURNING 1`,
      [ctx.now],
    )
    return notePurge(recordDeletion, ctx, tx, {
      what: 'entries that ended',
      results: { entriesDeleted: gone },
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
