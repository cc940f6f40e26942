import type { Prisma } from '#generated/prisma/client.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import type { PrivacyDeps } from '../ports.ts'
import { lockOtherRequests } from '../repository.ts'
import {
  isPseudonymous,
  KindName,
  PartStateName,
  type RequestPartRow,
  type RequestRow,
  requestSubjectOf,
  StateName,
  withParts,
} from '../requests.ts'
import { isCancellable } from '../rules.ts'
import { change, note, type RequestWork } from '../timeline.ts'
import { conclude, isPartOver, setPart } from './request-parts.ts'

/** Returns true when the copy of this part was fetched, is deleted, or was never prepared. */
export const isFetchedOrGone = ({ outcome }: RequestPartRow): boolean => {
  const { export_id, copy } = outcome as Prisma.JsonObject
  return export_id === undefined || copy === 'fetched' || copy === 'gone'
}

/** Returns true when a copy that was requested with the erasure is still to be fetched. */
export const hasCopiesToFetch = (row: RequestRow): boolean => !row.parts.every(isFetchedOrGone)

/** Closes the open parts of a locked request because an erasure deletes its subject. The request must not have an erasure run. */
export async function closeAsObsolete(work: RequestWork, given: RequestRow): Promise<RequestRow> {
  let row = given
  const isCancelled = isCancellable(StateName.parse(row.state))
  if (row.state === 'failed')
    row = await change(work, row, { event: 'running', to: 'running', isSilent: true, by: 'system' })
  for (const part of given.parts)
    if (!isPartOver(PartStateName.parse(part.state)) || part.state === 'failed')
      row = await setPart(work, row, KindName.parse(part.kind), isCancelled ? 'cancelled' : 'done', {
        waits_for: null,
        by: 'erasure',
      })
  if (!isCancelled) return conclude(work, row, { by: 'erasure' })
  return change(work, row, { event: 'cancelled', to: 'cancelled', details: { by: 'erasure' }, by: 'system' })
}

/**
 * Closes other requests of the subject as moot. Requests that are locked by another transaction are skipped; they are
 * closed when the erasure reaches the data source of requests.
 */
async function closeOthers(
  work: RequestWork,
  { id }: RequestRow,
  { account, agents, participants = [] }: Subject,
): Promise<void> {
  const { tx } = work
  const free = await lockOtherRequests(tx, { id, account, agents, participants })
  for (const { id: otherId } of free) {
    const found = await tx.privacyRequest.findUnique({ where: { id: otherId }, include: withParts })
    if (found) await closeAsObsolete(work, found)
  }
}

/** Adds the event only once; the clock job calls this every minute. */
async function blocked(work: RequestWork, row: RequestRow): Promise<RequestRow> {
  const reported = await work.tx.privacyRequestEvent.count({ where: { requestId: row.id, event: 'blocked' } })
  if (reported === 0) await note(work, row, { event: 'blocked', details: { reason: 'last_admin' }, by: 'system' })
  return row
}

/**
 * Begins the erasure when its grace period is over, no pause is active, and the copies requested with it are fetched or
 * deleted (`force` ignores the copies). Otherwise changes nothing.
 * The erasure of the last admin waits until another admin exists. Both clocks continue meanwhile, because GDPR art.
 * 12(3) allows no such pause.
 */
export async function beginErasure(
  deps: PrivacyDeps,
  work: RequestWork,
  given: RequestRow,
  { force = false } = {},
): Promise<RequestRow> {
  const { tx, now } = work
  let row = given
  if (row.state !== 'waiting' || row.pausedAt || row.waitingUntil === null || row.waitingUntil > now) return row
  if (!force && hasCopiesToFetch(row)) return row
  // Another erasure deleted the subject, such as a replay after a restored backup: nobody remains to be erased.
  if (isPseudonymous(row)) return closeAsObsolete(work, row)
  const isAdmin = row.accountId !== null && (await deps.people.byId(tx, row.accountId))?.role === 'admin'
  if (isAdmin && row.accountId !== null && (await deps.people.isLastAdmin(tx, row.accountId))) return blocked(work, row)
  const subject = await requestSubjectOf(tx, row, deps.agents)
  const { runId } = await deps.erasures.begin(tx, {
    requestId: row.id,
    subject,
    redacts: row.redacts,
    requestedBy: row.filedBy ?? 'system:privacy.clock',
    reason: 'gdpr_erasure',
    ...(row.receiptId !== null && { receiptId: row.receiptId }),
    now,
  })
  await closeOthers(work, row, subject)
  // Parts that wait for a decision concern data that is deleted now; a failed copy is abandoned.
  for (const part of row.parts)
    if (part.kind !== 'erasure' && (part.state === 'failed' || !isPartOver(PartStateName.parse(part.state))))
      row = await setPart(work, row, KindName.parse(part.kind), part.state === 'failed' ? 'cancelled' : 'done', {
        waits_for: null,
        by: 'erasure',
      })
  row = await setPart(work, row, 'erasure', 'running')
  return change(work, row, {
    event: 'running',
    to: 'running',
    data: { startedAt: now, runId },
    details: { run_id: runId, agents: subject.agents.length },
    by: 'system',
  })
}
