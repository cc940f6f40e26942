import type { Transaction } from '#lib/kernel/context.ts'
import { newUuid, uuidsInSql } from '#lib/kernel/ids.ts'

interface LoggedDeletion {
  requestedBy: string
  reason: string
  scope: Record<string, string>
  results: Record<string, number>
  /** Audit id reserved for this deletion. An id that is already in the log is replaced by a new one. */
  auditId?: string | null
  now: Date
}

/**
 * Writes a deletion to the deletion log, which is retained for seven years and holds only ids and counts. Returns the
 * entry's id.
 */
export async function recordDeletion(
  tx: Transaction,
  { requestedBy, reason, scope, results, auditId: reserved = null, now }: LoggedDeletion,
): Promise<string> {
  const isFree = reserved !== null && (await tx.deletionAuditEntry.count({ where: { auditId: reserved } })) === 0
  const auditId = isFree ? reserved : newUuid()
  await tx.deletionAuditEntry.create({ data: { auditId, timestamp: now, requestedBy, reason, scope, results } })
  return auditId
}

/** SQL expressions for the values that {@link deletionRows} inserts, such as parameter numbers. */
export interface DeletionLogValues {
  /** Parameter with the result of `uuidsInSql.value()`. */
  uuids: string
  at: string
  requestedBy: string
  reason: string
  /** Key under which the deleted row's id is stored in the entry's scope. */
  scope: string
  results: string
}
/** SQL of a WITH query that writes one log entry for each row of the query `of`, which must have a column `id`. */
export const deletionRows = (of: string, at: DeletionLogValues): string => `logged AS (
  INSERT INTO deletion_audit_log (audit_id, "timestamp", requested_by, reason, scope, results)
  SELECT ${uuidsInSql.text(at.uuids)}, ${at.at}::timestamptz, ${at.requestedBy}, ${at.reason}, jsonb_build_object(${at.scope}::text, ${of}.id), ${at.results}::jsonb
  FROM ${of})`
