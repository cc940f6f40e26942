import type { AuditRecord, Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { newUuid, uuidsInSql } from '#lib/kernel/ids.ts'
import { namedInLog, scopeKindOf, scopeNameOf } from './runs/run-rules.ts'

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
interface DeletionLogValues {
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

/**
 * Replaces each item with this prefix that a data source has not erased yet. Returns the number of replaced items.
 * Used when an admin decides how a stuck step treats its items. With `stays`, a later plan does not undo the
 * replacement.
 */
export async function replaceItems(
  tx: Transaction,
  {
    runId,
    holder,
    prefix,
    item,
    stays = true,
  }: { runId: string; holder: string; prefix: string; item: string; stays?: boolean },
): Promise<number> {
  const pages = await tx.erasurePage.findMany({ where: { runId, holder, erasedAt: null }, orderBy: { page: 'asc' } })
  let count = 0
  for (const { page, items } of pages) {
    const replaced = items.filter((one) => one.startsWith(prefix)).length
    if (replaced === 0) continue
    count += replaced
    await tx.erasurePage.update({
      where: { runId_holder_page: { runId, holder, page } },
      data: { items: items.map((one) => (one.startsWith(prefix) ? item : one)), ...(stays && { stays }) },
    })
  }
  return count
}

/**
 * Moves items with this prefix that one step cannot erase to another step of the same run, once. In `from` they become
 * `marker`, which is not counted; `to` gets `item` to erase, whatever a later plan finds.
 */
export async function moveItems(
  tx: Transaction,
  { runId, from, to, prefix, marker, item }: Record<'runId' | 'from' | 'to' | 'prefix' | 'marker' | 'item', string>,
): Promise<void> {
  const counted = await tx.erasurePage.findMany({ where: { runId, holder: from, erasedAt: null, isWatched: false } })
  const moved = counted.flatMap(({ items }) => items.filter((one) => one.startsWith(prefix))).length
  // Not `stays`: a new plan finds the thread again. The other items of these pages stay unchanged.
  await replaceItems(tx, { runId, holder: from, prefix, item: marker, stays: false })
  await tx.erasureStep.updateMany({ where: { runId, holder: from }, data: { planned: { decrement: moved } } })
  const pages = await tx.erasurePage.findMany({ where: { runId, holder: to }, select: { page: true, items: true } })
  if (pages.some(({ items }) => items.some((one) => one.startsWith(prefix)))) return
  const page = Math.max(-1, ...pages.map((one) => one.page)) + 1
  await tx.erasurePage.create({ data: { runId, holder: to, page, items: [item], stays: true } })
  await tx.erasureStep.update({
    where: { runId_holder: { runId, holder: to } },
    data: { state: 'waiting', finishedAt: null, attempts: 0, planned: { increment: 1 } },
  })
}

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
