import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { invalid } from '#lib/kernel/problem.ts'
import type { RecordDeletion } from '#lib/kernel/purging.ts'
import type { CladeMembers } from './ports.ts'
import { recallShares, removeOfRetired } from './recall/recalling.ts'
import { lockClades } from './repository.ts'

/** Adds a new agent to the clade of its ancestor. @throws Problem `invalid` when the ancestor has another owner or is retired */
export async function joinClade(
  tx: Transaction,
  { agentId, ancestorId, ownerId, now }: { agentId: string; ancestorId: string; ownerId: string; now: Date },
  members: Pick<CladeMembers, 'lockAncestor' | 'join'>,
): Promise<void> {
  const ancestor = ancestorId === agentId ? undefined : await members.lockAncestor(tx, { ancestorId, ownerId })
  if (!ancestor) throw invalid(['ancestor'], 'must be an agent of yours that is not retired')
  const id = ancestor.cladeId ?? newId('cld')
  if (ancestor.cladeId === null) await tx.clade.create({ data: { id, createdAt: now } })
  await members.join(tx, [agentId, ancestorId], id)
}

/**
 * Removes a retiring agent, whose row is locked, from its clade: recalls its shares, and deletes its pending deltas
 * and its card. Writes to the deletion log when something was deleted.
 */
export async function leaveClade(
  tx: Transaction,
  { agentId, now }: { agentId: string; now: Date },
  { recordDeletion, members }: { recordDeletion: RecordDeletion; members: Pick<CladeMembers, 'cladeOf' | 'leave'> },
): Promise<void> {
  const cladeId = await members.cladeOf(tx, agentId)
  // Wait for running shares, so that their deltas to this agent are deleted as well.
  if (cladeId !== null) await lockClades(tx, { ids: [cladeId] })
  const { shares } = await recallShares(tx, { of: [agentId], now })
  const removed = await removeOfRetired(tx, { agentId, now })
  const results = { sharesRecalled: shares.length, ...removed }
  if (Object.values(results).some((count) => count > 0))
    await recordDeletion(tx, {
      ...{ requestedBy: 'system:agents.death', reason: 'agent_retired' },
      ...{ scope: { subject: agentId, kind: 'agent' }, results, now },
    })
  await members.leave(tx, agentId)
}

/** Recalls the shares of agents whose processing becomes restricted. Their sharing switch stays on, so they can share again afterwards. */
export const recallOfRestricted = (
  tx: Transaction,
  { agentIds, now }: { agentIds: readonly string[]; now: Date },
): Promise<unknown> => recallShares(tx, { of: agentIds, now })
