import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import { notePurge, type RecordDeletion } from '#lib/kernel/purging.ts'
import { lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { recalledFor } from '../rules.ts'
import { recallShares, removeOfRetired } from './recalling.ts'
import {
  deleteEmptyClades,
  deleteEndedDeltas,
  deleteEndedShares,
  destroyRecalledPayloads,
  expireDeltas,
  sharesOfRestricted,
} from './repository.ts'

const batch = 500

export interface CladeJobPorts {
  recordDeletion: RecordDeletion
}

/**
 * Expires deltas that were not fetched within 7 days, recalls shares of restricted agents, and deletes recalled shares
 * after 30 days. Fetched deltas remain until they are recalled. Data under legal hold is deleted when the hold ends.
 */
export function cladeJobs({ recordDeletion }: CladeJobPorts) {
  const noted = (ctx: Context, tx: Transaction, what: string, results: Record<string, number>): Promise<number> =>
    notePurge(recordDeletion, ctx, tx, { what, results, resourceType: 'clade_share', resourceId: 'ended' })

  const expire = (ctx: Context, tx: Transaction): Promise<number> => expireDeltas(tx, { now: ctx.now, limit: batch })

  async function recallRestricted(ctx: Context, tx: Transaction): Promise<number> {
    const rows = await sharesOfRestricted(tx, { limit: batch })
    const { shares } = await recallShares(tx, { ids: rows.map(({ id }) => id), now: ctx.now })
    return noted(ctx, tx, 'shares of agents that are restricted', { sharesRecalled: shares.length })
  }

  async function purge(ctx: Context, tx: Transaction): Promise<number> {
    await lockHolds(tx)
    const due = { before: new Date(ctx.now.getTime() - recalledFor), now: ctx.now, limit: batch }
    const deltasDeleted = await deleteEndedDeltas(tx, due)
    const sharesDeleted = await deleteEndedShares(tx, due)
    await deleteEmptyClades(tx, { limit: batch })
    return noted(ctx, tx, 'shares that were recalled', { deltasDeleted, sharesDeleted })
  }

  async function endHolds(ctx: Context, tx: Transaction): Promise<number> {
    await lockHolds(tx)
    const contentsDestroyed = await destroyRecalledPayloads(tx, { now: ctx.now, limit: batch })
    const ofRetired = await removeOfRetired(tx, { now: ctx.now })
    return noted(ctx, tx, 'shares and retired agents whose legal hold ended', { contentsDestroyed, ...ofRetired })
  }

  return [
    job({
      name: 'clades.keep-terms',
      payload: z.unknown(),
      cron: '*/10 * * * *',
      async run(ctx) {
        for (const step of [expire, recallRestricted, endHolds, purge])
          while ((await ctx.pipeline.transaction((tx) => step(ctx, tx))) >= batch);
      },
    }),
  ]
}
