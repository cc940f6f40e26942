/** Why the message that an address names is not shown. */
export type Missing =
  | { is: 'erased'; receiptId: string }
  /** Under way, or standing still: it is not said to be gone. */
  | { is: 'erasing'; auditId: string }
  | { is: 'absent' }

/** What a refusal to show a message means; undefined where it means something else. */
export function missingFor(problem: { code: string; extensions: Record<string, unknown> }): Missing | undefined {
  const { code, extensions } = problem
  if (code === 'erased' && typeof extensions.receipt_id === 'string')
    return { is: 'erased', receiptId: extensions.receipt_id }
  if (code === 'not_found' && typeof extensions.audit_id === 'string')
    return { is: 'erasing', auditId: extensions.audit_id }
  return code === 'not_found' || code === 'invalid' ? { is: 'absent' } : undefined
}
