import type { Transaction } from '#lib/kernel/context.ts'

/** The id and the public key of the agent's keyring; null without one. */
export const keyringOf = (tx: Transaction, agentId: string) =>
  tx.keyring.findUnique({ where: { agentId }, select: { keyId: true, publicKey: true } })

/** Whether the agent has any entry, also an expired one. */
export const hasEntries = async (tx: Transaction, agentId: string): Promise<boolean> =>
  (await tx.grimoireEntry.findFirst({ where: { agentId }, select: { id: true } })) !== null
