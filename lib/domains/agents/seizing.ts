import type { Transaction } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/holder.ts'

/**
 * Locks the subject's agents against everybody: what refers to them is waited for, also what is only being written, and their tokens
 * work no more. With `andOwned` those that the account owns come with the named ones. Returns all of them, sorted, stored or not.
 */
export async function seizeAgents(
  tx: Transaction,
  { account, agents }: Subject,
  { andOwned, now }: { andOwned: boolean; now: Date },
): Promise<string[]> {
  const owner = andOwned ? account : null
  const found = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM agents WHERE owner_id = ${owner} OR id = ANY(${[...agents]}::text[]) ORDER BY id FOR UPDATE`
  const ids = [...new Set([...agents, ...found.map(({ id }) => id)])].sort()
  await tx.agent.updateMany({ where: { id: { in: ids }, suspendedAt: null }, data: { suspendedAt: now } })
  return ids
}

/** When the newest of the agents came; null where none is stored. */
export async function newestAgent(tx: Transaction, ids: readonly string[]): Promise<Date | null> {
  const { _max: newest } = await tx.agent.aggregate({ where: { id: { in: [...ids] } }, _max: { createdAt: true } })
  return newest.createdAt
}

/** The agents that are stored, by whether they were at that time. */
export async function agentsSince(
  tx: Transaction,
  ids: readonly string[],
  at: Date,
): Promise<{ before: string[]; since: string[] }> {
  const found = await tx.agent.findMany({
    where: { id: { in: [...ids] } },
    select: { id: true, createdAt: true },
    orderBy: { id: 'asc' },
  })
  const idsWhere = (isSince: boolean) => found.filter(({ createdAt }) => createdAt > at === isSince).map(({ id }) => id)
  return { before: idsWhere(false), since: idsWhere(true) }
}
