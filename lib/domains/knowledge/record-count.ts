import type { Transaction } from '#lib/kernel/context.ts'

/** Number of all stored units and skills. */
export async function countRecords(tx: Transaction): Promise<{ units: number; skills: number }> {
  const [units, skills] = await Promise.all([tx.unit.count(), tx.skill.count()])
  return { units, skills }
}
