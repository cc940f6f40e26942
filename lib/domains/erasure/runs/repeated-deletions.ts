import type { AuditRecord, Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { recordDeletion } from '../writes.ts'
import { namedInLog, scopeKindOf, scopeNameOf } from './run-names.ts'

interface RepeatedDeletion {
  /** What the erasure covered. */
  scope: ErasureScope
  receiptId: string
  actorId: string
  reason: string
  holder: string
  /** How many records were deleted, and the name of this count in the audit entry. */
  count: number
  countedAs: 'late' | 'again'
  results: Readonly<Record<string, number>>
  at: Date
}

/**
 * Logs that a finished erasure deleted more records. An erased person or agent is no longer known, so the entry names
 * the receipt.
 */
export async function logRepeatedDeletion(
  tx: Transaction,
  audit: (tx: Transaction, record: AuditRecord) => Promise<void>,
  { scope, receiptId, actorId, reason, holder, count, countedAs, results, at }: RepeatedDeletion,
): Promise<void> {
  const isPart = 'part' in scope
  await recordDeletion(tx, {
    requestedBy: actorId,
    reason,
    scope: isPart ? namedInLog(scope) : { receipt: receiptId },
    results: { [holder]: count, ...results },
    now: at,
  })
  await audit(tx, {
    action: 'delete',
    actorId,
    resourceType: isPart ? scopeKindOf(scope) : 'receipt',
    resourceId: isPart ? scopeNameOf(scope) : receiptId,
    at,
    ip: '',
    details: { receipt: receiptId, holder, [countedAs]: count },
  })
}
