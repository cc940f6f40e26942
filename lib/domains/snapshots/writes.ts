import type { Transaction } from '#lib/kernel/context.ts'
import { insuredFor } from './rules.ts'

/** Sets the expiry of insurance snapshots when their agent is retired. */
export const insureRetiredAgents = (
  tx: Transaction,
  { agentId, now }: { agentId: string; now: Date },
): Promise<unknown> =>
  tx.snapshot.updateMany({
    where: { agentId, kind: 'insurance', expiresAt: null },
    data: { expiresAt: new Date(now.getTime() + insuredFor) },
  })

/** Whether any snapshot is sealed to this keyring of the agent. */
export const isSealedTo = async (tx: Transaction, agentId: string, keyId: string): Promise<boolean> =>
  (await tx.snapshot.count({ where: { agentId, keyId, state: { in: ['preparing', 'ready'] } } })) > 0
