import type { Transaction } from '#lib/kernel/context.ts'
import { cladeSiblings, lockCladeAncestor } from './repository.ts'

/** Which agents belong to a clade and share with it. Both are columns of the agent. */
export const cladeMembers = {
  /** Locks an agent of the owner that is not retired, and returns its clade. Undefined if there is no such agent. */
  async lockAncestor(
    tx: Transaction,
    { ancestorId, ownerId }: { ancestorId: string; ownerId: string },
  ): Promise<{ cladeId: string | null } | undefined> {
    const [ancestor] = await lockCladeAncestor(tx, { agent: ancestorId, owner: ownerId })
    return ancestor
  },
  join: (tx: Transaction, agentIds: readonly string[], cladeId: string): Promise<unknown> =>
    tx.agent.updateMany({ where: { id: { in: [...agentIds] } }, data: { cladeId } }),
  async cladeOf(tx: Transaction, agentId: string): Promise<string | null> {
    const agent = await tx.agent.findUnique({ where: { id: agentId }, select: { cladeId: true } })
    return agent?.cladeId ?? null
  },
  leave: (tx: Transaction, agentId: string): Promise<unknown> =>
    tx.agent.updateMany({ where: { id: agentId }, data: { cladeId: null, sharingSince: null } }),
  /** Turns sharing on since that time, or off. */
  setSharing: (tx: Transaction, agentId: string, since: Date | null): Promise<unknown> =>
    tx.agent.update({ where: { id: agentId }, data: { sharingSince: since } }),
  /** The other agents of the owner in the clade that are not retired, at most 1,000. An agent under erasure receives nothing. */
  siblingsOf: (
    tx: Transaction,
    { cladeId, ownerId, agentId }: { cladeId: string | null; ownerId: string | null; agentId: string },
  ) => cladeSiblings(tx, { clade: cladeId, owner: ownerId, agent: agentId }),
}
