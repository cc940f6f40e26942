/** Why the message in the address cannot be shown. */
export type Missing =
  | { is: 'erased'; receiptId: string }
  /** In progress or stuck, so the words must not claim that it is deleted. */
  | { is: 'erasing'; auditId: string }
  | { is: 'absent' }

/** Interprets a refusal to show a message; undefined if it has another meaning. */
export function missingFor(problem: { code: string; extensions: Record<string, unknown> }): Missing | undefined {
  const { code, extensions } = problem
  if (code === 'erased' && typeof extensions.receipt_id === 'string')
    return { is: 'erased', receiptId: extensions.receipt_id }
  if (code === 'not_found' && typeof extensions.audit_id === 'string')
    return { is: 'erasing', auditId: extensions.audit_id }
  return code === 'not_found' || code === 'invalid' ? { is: 'absent' } : undefined
}
