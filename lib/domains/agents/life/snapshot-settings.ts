import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import { invalid } from '#lib/kernel/problem.ts'

/** The settings of an agent that a snapshot contains. */
export const snapshotSettings = (tx: Transaction, agentId: string) =>
  tx.agent.findUniqueOrThrow({
    where: { id: agentId },
    select: { name: true, region: true, selfHosted: true, grimoireDays: true, createdAt: true, suspendedAt: true },
  })

/** How many days after creation the agent's grimoire entries expire; null: never. */
export async function grimoireDaysOf(tx: Transaction, agentId: string): Promise<number | null> {
  const agent = await tx.agent.findUniqueOrThrow({ where: { id: agentId }, select: { grimoireDays: true } })
  return agent.grimoireDays
}

/**
 * Restores an agent's settings only if its grimoire is empty: a shorter retention would delete existing entries. Returns whether it did.
 */
export const settingsRestorer =
  ({ hasEntries }: { hasEntries(tx: Transaction, agentId: string): Promise<boolean> }) =>
  async (tx: Transaction, agentId: string, settings: unknown): Promise<boolean> => {
    const { data } = z.object({ grimoire_days: z.int().min(1).max(3_650).nullable() }).safeParse(settings)
    if (!data) throw invalid(['agent', 'grimoire_days'], 'must be a number of days from 1 to 3,650, or null')
    if (await hasEntries(tx, agentId)) return false
    await tx.agent.update({ where: { id: agentId }, data: { grimoireDays: data.grimoire_days } })
    return true
  }
