import type { Transaction } from '#lib/kernel/context.ts'

/** Number of all erasures of records, and of all entries of the deletion log. */
export async function countErasures(tx: Transaction): Promise<{ erasures: number; deletions: number }> {
  const [erasures, deletions] = await Promise.all([tx.erasure.count(), tx.deletionAuditEntry.count()])
  return { erasures, deletions }
}
