import type { Transaction } from '#lib/kernel/context.ts'
import { insuredFor } from './rules.ts'

/** An agent died: its insurances have a term from now on. */
export const insureTheDead = (tx: Transaction, { agentId, now }: { agentId: string; now: Date }): Promise<unknown> =>
  tx.snapshot.updateMany({
    where: { agentId, kind: 'insurance', expiresAt: null },
    data: { expiresAt: new Date(now.getTime() + insuredFor) },
  })

/** Whether snapshots are sealed to this keyring of the agent. */
export const isSealedTo = async (tx: Transaction, agentId: string, keyId: string): Promise<boolean> =>
  (await tx.snapshot.count({ where: { agentId, keyId, state: { in: ['preparing', 'ready'] } } })) > 0
