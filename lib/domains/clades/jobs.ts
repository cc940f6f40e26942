import { z } from 'zod'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import { notePurge, type RecordDeletion } from '#lib/kernel/purging.ts'
import { agentsUnderLegalHold, lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { destroyRecalled, recallShares, removeOfRetired } from './recalling.ts'
import { recalledFor } from './rules.ts'

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

  async function expire(ctx: Context, tx: Transaction): Promise<number> {
    const expired = await queryWithin(
      tx,
      'clade-expire',
      `UPDATE clade_deltas SET state = 'expired' WHERE seq IN (
         SELECT seq FROM clade_deltas WHERE state = 'pending' AND delivered_at IS NULL AND expires_at <= $1 LIMIT ${batch} FOR UPDATE SKIP LOCKED) RETURNING 1`,
      [ctx.now],
    )
    return expired.length
  }

  async function recallRestricted(ctx: Context, tx: Transaction): Promise<number> {
    const rows = await queryWithin<{ id: string }>(
      tx,
      'clade-restricted',
      `SELECT s.id FROM clade_shares s JOIN agent_states a ON a.id = s.agent_id
       WHERE s.recalled_at IS NULL AND (a.restricted_at IS NOT NULL OR a.status = 'dead') ORDER BY s.id LIMIT ${batch}`,
      [],
    )
    const { shares } = await recallShares(tx, { ids: rows.map(({ id }) => id), now: ctx.now })
    return noted(ctx, tx, 'shares of agents that are restricted', { sharesRecalled: shares.length })
  }

  async function purge(ctx: Context, tx: Transaction): Promise<number> {
    const before = new Date(ctx.now.getTime() - recalledFor)
    await lockHolds(tx)
    const held = agentsUnderLegalHold('$2')
    const deltas = await queryWithin(
      tx,
      'clade-purge-deltas',
      `DELETE FROM clade_deltas WHERE seq IN (SELECT d.seq FROM clade_deltas d LEFT JOIN clade_shares s ON s.id = d.share_id
         WHERE ((d.state = 'recalled' AND d.acknowledged_at <= $1) OR (d.state = 'expired' AND d.delivered_at IS NULL AND d.expires_at <= $1)
            OR (s.id IS NULL AND d.state IN ('recalled', 'expired')))
           AND d.agent_id NOT IN (${held}) AND coalesce(s.agent_id, '') NOT IN (${held}) LIMIT ${batch} FOR UPDATE OF d SKIP LOCKED) RETURNING 1`,
      [before, ctx.now],
    )
    const shares = await queryWithin(
      tx,
      'clade-purge-shares',
      `DELETE FROM clade_shares WHERE id IN (SELECT s.id FROM clade_shares s WHERE s.recalled_at <= $1 AND s.agent_id NOT IN (${held})
         AND NOT EXISTS (SELECT 1 FROM clade_deltas d WHERE d.share_id = s.id AND d.state <> 'recalled')
         LIMIT ${batch} FOR UPDATE OF s SKIP LOCKED) RETURNING 1`,
      [before, ctx.now],
    )
    // An empty clade is an id and a time, without personal data.
    await queryWithin(
      tx,
      'clade-purge-empty',
      `DELETE FROM clades WHERE id IN (SELECT c.id FROM clades c WHERE NOT EXISTS (SELECT 1 FROM agent_states a WHERE a.clade_id = c.id)
         AND NOT EXISTS (SELECT 1 FROM clade_shares s WHERE s.clade_id = c.id) LIMIT ${batch} FOR UPDATE SKIP LOCKED)`,
      [],
    )
    return noted(ctx, tx, 'shares that were recalled', { deltasDeleted: deltas.length, sharesDeleted: shares.length })
  }

  async function endHolds(ctx: Context, tx: Transaction): Promise<number> {
    const contentsDestroyed = await destroyRecalled(tx, { now: ctx.now, batch })
    const ofDead = await removeOfRetired(tx, { now: ctx.now })
    return noted(ctx, tx, 'what a hold kept of shares and of the dead', { contentsDestroyed, ...ofDead })
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
