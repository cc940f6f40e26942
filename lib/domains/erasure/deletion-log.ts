import type { Transaction } from '#lib/kernel/context.ts'
import { newUuid } from '#lib/kernel/ids.ts'

export interface Deletion {
  requestedBy: string
  reason: string
  scope: Record<string, string>
  results: Record<string, number>
  now: Date
}

/** Writes a deletion to the log that is kept for seven years: ids and counts only. Returns the entry's id. */
export async function recordDeletion(
  tx: Transaction,
  { requestedBy, reason, scope, results, now }: Deletion,
): Promise<string> {
  const auditId = newUuid()
  await tx.deletionAuditEntry.create({ data: { auditId, timestamp: now, requestedBy, reason, scope, results } })
  return auditId
}
