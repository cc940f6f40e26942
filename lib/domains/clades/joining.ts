import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { invalid } from '#lib/kernel/problem.ts'
import type { RecordDeletion } from '#lib/kernel/purging.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { lockClade, recallShares, removeOfDead } from './recalling.ts'

/** Adds a new agent to the clade of its ancestor. @throws Problem `invalid` when the ancestor has another owner or is retired */
export async function joinClade(
  tx: Transaction,
  { agentId, ancestorId, ownerId, now }: { agentId: string; ancestorId: string; ownerId: string; now: Date },
): Promise<void> {
  const [ancestor] = await queryWithin<{ clade_id: string | null }>(
    tx,
    'clade-ancestor',
    "SELECT clade_id FROM agents WHERE id = $1 AND owner_id = $2 AND status <> 'dead' AND id <> $3 FOR NO KEY UPDATE",
    [ancestorId, ownerId, agentId],
  )
  if (!ancestor) throw invalid(['ancestor'], 'is no living agent of yours')
  const id = ancestor.clade_id ?? newId('cld')
  if (ancestor.clade_id === null) await tx.clade.create({ data: { id, createdAt: now } })
  await tx.agent.updateMany({ where: { id: { in: [agentId, ancestorId] } }, data: { cladeId: id } })
}

/**
 * Removes a retiring agent, whose row is locked, from its clade: recalls its shares, and deletes its pending deltas
 * and its card. Writes to the deletion log when something was deleted.
 */
export async function leaveClade(
  tx: Transaction,
  { agentId, now }: { agentId: string; now: Date },
  recordDeletion: RecordDeletion,
): Promise<void> {
  const agent = await tx.agent.findUnique({ where: { id: agentId }, select: { cladeId: true } })
  // Wait for running shares, so that their deltas to this agent are deleted as well.
  if (typeof agent?.cladeId === 'string') await lockClade(tx, [agent.cladeId])
  const { shares } = await recallShares(tx, { of: [agentId], now })
  const removed = await removeOfDead(tx, { agentId, now })
  const results = { sharesRecalled: shares.length, ...removed }
  if (Object.values(results).some((count) => count > 0))
    await recordDeletion(tx, {
      ...{ requestedBy: 'system:agents.death', reason: 'agent_retired' },
      ...{ scope: { subject: agentId, kind: 'agent' }, results, now },
    })
  await tx.agent.updateMany({ where: { id: agentId }, data: { cladeId: null, sharingSince: null } })
}

/** Recalls the shares of agents whose processing becomes restricted. Their sharing switch stays on: they can share anew afterwards. */
export const recallOfRestricted = (
  tx: Transaction,
  { agentIds, now }: { agentIds: readonly string[]; now: Date },
): Promise<unknown> => recallShares(tx, { of: agentIds, now })
