import { z } from 'zod'
import { cladeMembers } from '#lib/domains/agents/queries.ts'
import { recordDeletion } from '#lib/domains/erasure/writes.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { job } from '#lib/kernel/job.ts'
import { invalid } from '#lib/kernel/problem.ts'
import { notePurge } from '#lib/kernel/purging.ts'
import { lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import {
  activeShares,
  deleteEmptyClades,
  deleteEndedDeltas,
  deleteEndedShares,
  deleteOfRetired,
  destroyRecalledPayloads,
  expireDeltas,
  lockClades,
  markRecalled,
  recallDeltas,
  sharesOfRestricted,
  withdrawDeltas,
} from './repository.ts'
import { recalledFor } from './rules.ts'

interface Recalled {
  shares: string[]
  withdrawn: number
  toAcknowledge: number
}

/**
 * Recalls active shares and the shares that siblings derived from them: destroys their payloads, withdraws pending deltas and orders the
 * agents that fetched them to remove them. Idempotent. A legal hold does not stop the recall, but keeps the sealed copy out of reach until
 * it ends ({@link destroyRecalledPayloads}).
 */
export async function recallShares(
  tx: Transaction,
  { of = [], ids = [], now }: { of?: readonly string[]; ids?: readonly string[]; now: Date },
): Promise<Recalled> {
  const active = await activeShares(tx, { agents: of, ids })
  if (active.length === 0) return { shares: [], withdrawn: 0, toAcknowledge: 0 }
  await lockClades(tx, { ids: [...new Set(active.map(({ clade_id }) => clade_id))] })
  await lockHolds(tx)
  const recalled = await markRecalled(tx, { ids: active.map(({ id }) => id), now })
  const shares = recalled.map(({ id }) => id).sort()
  return { shares, ...(await callBack(tx, shares)) }
}

/**
 * Deletes the deltas and cards of retired agents, which are unreachable since the retirement. Data under legal hold is deleted when the
 * hold ends. `agentId` limits the deletion to one retired agent.
 */
async function removeOfRetired(tx: Transaction, { agentId, now }: { agentId?: string; now: Date }) {
  await lockHolds(tx)
  const values = { agent: agentId ?? null, now }
  return {
    deltasDeleted: await deleteOfRetired(tx, values, 'clade_deltas'),
    cardsDeleted: await deleteOfRetired(tx, values, 'performance_cards'),
  }
}

/**
 * Withdraws unfetched deltas, and orders agents that fetched a share to remove it by a delta with a new highest number. An unfetched delta
 * is a stopped delivery, so a legal hold does not keep it.
 */
export async function callBack(
  tx: Transaction,
  shares: readonly string[],
): Promise<{ withdrawn: number; toAcknowledge: number }> {
  const withdrawn = await withdrawDeltas(tx, { shares })
  return { withdrawn, toAcknowledge: await recallDeltas(tx, { shares }) }
}

const batch = 500

/**
 * Expires deltas that were not fetched within 7 days, recalls shares of restricted agents, and deletes recalled shares
 * after 30 days. Fetched deltas remain until they are recalled. Data under legal hold is deleted when the hold ends.
 */
export function cladeJobs() {
  const logPurge = (ctx: Context, tx: Transaction, what: string, results: Record<string, number>): Promise<number> =>
    notePurge(ctx, tx, { what, results, resourceType: 'clade_share', resourceId: 'ended' })

  const expire = (ctx: Context, tx: Transaction): Promise<number> => expireDeltas(tx, { now: ctx.now, limit: batch })

  async function recallRestricted(ctx: Context, tx: Transaction): Promise<number> {
    const rows = await sharesOfRestricted(tx, { limit: batch })
    const { shares } = await recallShares(tx, { ids: rows.map(({ id }) => id), now: ctx.now })
    return logPurge(ctx, tx, 'shares of agents that are restricted', { sharesRecalled: shares.length })
  }

  async function purge(ctx: Context, tx: Transaction): Promise<number> {
    await lockHolds(tx)
    const due = { before: new Date(ctx.now.getTime() - recalledFor), now: ctx.now, limit: batch }
    const deltasDeleted = await deleteEndedDeltas(tx, due)
    const sharesDeleted = await deleteEndedShares(tx, due)
    await deleteEmptyClades(tx, { limit: batch })
    return logPurge(ctx, tx, 'shares that were recalled', { deltasDeleted, sharesDeleted })
  }

  async function endHolds(ctx: Context, tx: Transaction): Promise<number> {
    await lockHolds(tx)
    const contentsDestroyed = await destroyRecalledPayloads(tx, { now: ctx.now, limit: batch })
    const ofRetired = await removeOfRetired(tx, { now: ctx.now })
    return logPurge(ctx, tx, 'shares and retired agents whose legal hold ended', { contentsDestroyed, ...ofRetired })
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

/** Adds a new agent to the clade of its ancestor. @throws Problem `invalid` when the ancestor has another owner or is retired */
export async function joinClade(
  tx: Transaction,
  { agentId, ancestorId, ownerId, now }: { agentId: string; ancestorId: string; ownerId: string; now: Date },
): Promise<void> {
  const ancestor = ancestorId === agentId ? undefined : await cladeMembers.lockAncestor(tx, { ancestorId, ownerId })
  if (!ancestor) throw invalid(['ancestor'], 'must be an agent of yours that is not retired')
  const id = ancestor.cladeId ?? newId('cld')
  if (ancestor.cladeId === null) await tx.clade.create({ data: { id, createdAt: now } })
  await cladeMembers.join(tx, [agentId, ancestorId], id)
}

/**
 * Removes a retiring agent, whose row is locked, from its clade: recalls its shares, and deletes its pending deltas
 * and its card. Writes to the deletion log when something was deleted.
 */
export async function leaveClade(tx: Transaction, { agentId, now }: { agentId: string; now: Date }): Promise<void> {
  const cladeId = await cladeMembers.cladeOf(tx, agentId)
  // Wait for running shares, so that their deltas to this agent are deleted as well.
  if (cladeId !== null) await lockClades(tx, { ids: [cladeId] })
  const { shares } = await recallShares(tx, { of: [agentId], now })
  const removed = await removeOfRetired(tx, { agentId, now })
  const results = { sharesRecalled: shares.length, ...removed }
  if (Object.values(results).some((count) => count > 0))
    await recordDeletion(tx, {
      requestedBy: 'system:agents.death',
      reason: 'agent_retired',
      scope: { subject: agentId, kind: 'agent' },
      results,
      now,
    })
  await cladeMembers.leave(tx, agentId)
}

/** Recalls the shares of agents whose processing becomes restricted. Their sharing switch stays on, so they can share again afterwards. */
export const recallOfRestricted = (
  tx: Transaction,
  { agentIds, now }: { agentIds: readonly string[]; now: Date },
): Promise<unknown> => recallShares(tx, { of: agentIds, now })
