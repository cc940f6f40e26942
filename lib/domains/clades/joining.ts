import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { invalid } from '#lib/kernel/problem.ts'
import type { RecordDeletion } from '#lib/kernel/purging.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { lockClade, recallShares, removeOfDead } from './recalling.ts'

/** The new agent becomes a sibling of what its ancestor is one of. Throws `invalid` where the ancestor is not the same owner's, or is dead. */
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
 * An agent that dies: its shares are recalled, shares that wait for it and its card are deleted, and it leaves its clade. Its row is locked.
 * The deletion log gets a row where something was deleted.
 */
export async function leaveClade(
  tx: Transaction,
  { agentId, now }: { agentId: string; now: Date },
  recordDeletion: RecordDeletion,
): Promise<void> {
  const agent = await tx.agent.findUnique({ where: { id: agentId }, select: { cladeId: true } })
  // A share that is under way is waited for: what it brings this one goes too.
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

/** Agents that are restricted by law from now on: what they shared is recalled. Their switch stays; once they are free they share anew. */
export const recallOfRestricted = (
  tx: Transaction,
  { agentIds, now }: { agentIds: readonly string[]; now: Date },
): Promise<unknown> => recallShares(tx, { of: agentIds, now })
