import type { Transaction } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { lockAgentsOfSubject } from './repository.ts'

/**
 * Locks the subject's agents exclusively: waits for pending writes that refer to them, and their tokens stop working. `andOwned` adds the
 * agents that the account owns. Returns all ids sorted, including named agents that are not stored.
 */
export async function raiseAgentFences(
  tx: Transaction,
  { account, agents }: Subject,
  { andOwned, now }: { andOwned: boolean; now: Date },
): Promise<string[]> {
  const records = await lockAgentsOfSubject(tx, { owner: andOwned ? account : null, ids: agents })
  const ids = [...new Set([...agents, ...records.map(({ id }) => id)])].sort()
  await tx.agent.updateMany({ where: { id: { in: ids }, suspendedAt: null }, data: { suspendedAt: now } })
  return ids
}

/** Creation time of the newest of these agents; null if none is stored. */
export async function newestAgent(tx: Transaction, ids: readonly string[]): Promise<Date | null> {
  const { _max: newest } = await tx.agent.aggregate({ where: { id: { in: [...ids] } }, _max: { createdAt: true } })
  return newest.createdAt
}

/** Splits the stored agents by whether they already existed at that time. */
export async function agentsSince(
  tx: Transaction,
  ids: readonly string[],
  at: Date,
): Promise<{ before: string[]; since: string[] }> {
  const records = await tx.agent.findMany({
    where: { id: { in: [...ids] } },
    select: { id: true, createdAt: true },
    orderBy: { id: 'asc' },
  })
  const idsWhere = (isSince: boolean) =>
    records.filter(({ createdAt }) => createdAt > at === isSince).map(({ id }) => id)
  return { before: idsWhere(false), since: idsWhere(true) }
}
