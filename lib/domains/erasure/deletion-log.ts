import type { Transaction } from '#lib/kernel/context.ts'
import { newUuid, uuidsInSql } from '#lib/kernel/ids.ts'

export interface Deletion {
  requestedBy: string
  reason: string
  scope: Record<string, string>
  results: Record<string, number>
  /** Reserved for it; one that has been used already is not used again. */
  auditId?: string | null
  now: Date
}

/** Writes a deletion to the log that is kept for seven years: ids and counts only. Returns the entry's id. */
export async function recordDeletion(
  tx: Transaction,
  { requestedBy, reason, scope, results, auditId: reserved = null, now }: Deletion,
): Promise<string> {
  const isFree = reserved !== null && (await tx.deletionAuditEntry.count({ where: { auditId: reserved } })) === 0
  const auditId = isFree ? reserved : newUuid()
  await tx.deletionAuditEntry.create({ data: { auditId, timestamp: now, requestedBy, reason, scope, results } })
  return auditId
}

/** Where the values stand in a statement that {@link deletionRows} is joined to. */
export interface DeletionPlaces {
  /** `uuidsInSql.value()`. */
  uuids: string
  at: string
  requestedBy: string
  reason: string
  /** What a row is: the key of its scope. */
  scope: string
  results: string
}
/** A member of a WITH list that writes one entry for each row of another member; that one has the column `id`. */
export const deletionRows = (of: string, at: DeletionPlaces): string => `logged AS (
  INSERT INTO deletion_audit_log (audit_id, "timestamp", requested_by, reason, scope, results)
  SELECT ${uuidsInSql.text(at.uuids)}, ${at.at}::timestamptz, ${at.requestedBy}, ${at.reason}, jsonb_build_object(${at.scope}::text, ${of}.id), ${at.results}::jsonb
  FROM ${of})`
