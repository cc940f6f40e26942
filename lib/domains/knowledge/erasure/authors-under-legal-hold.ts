import type { Transaction } from '#lib/kernel/context.ts'
import { authorsWithHolds } from './repository.ts'

/**
 * Maps those of the agents that authored a unit or skill under an active legal hold to one such hold. Records cannot exist without their
 * author's row.
 */
export async function authorsUnderLegalHold(
  tx: Transaction,
  agents: readonly string[],
  now: Date,
): Promise<Map<string, string>> {
  const holds = new Map<string, string>()
  for (const kind of ['unit', 'skill'] as const)
    for (const { agent, hold } of await authorsWithHolds(tx, { agents, now }, kind)) holds.set(agent, hold)
  return holds
}
