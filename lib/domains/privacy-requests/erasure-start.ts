import type { Subject } from '#lib/kernel/holder.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { conclude, isOver, setPart } from './parts.ts'
import type { PrivacyParts } from './ports.ts'
import {
  isPseudonymous,
  KindName,
  type PartRow,
  PartStateName,
  type RequestRow,
  StateName,
  subjectOf,
  withParts,
} from './requests.ts'
import { isCancellable } from './rules.ts'
import { change, note, type Work } from './timeline.ts'

/** A copy that was asked for together with an erasure is fetched, or there is none to fetch any more. */
const isFetchedOrGone = ({ outcome }: PartRow): boolean => {
  const { export_id, copy } = outcome as Prisma.JsonObject
  return export_id === undefined || copy === 'fetched' || copy === 'gone'
}

/** Copies that were asked for together with an erasure are still to be fetched. */
export const hasCopiesToFetch = (row: RequestRow): boolean => !row.parts.every(isFetchedOrGone)

/** Closes a locked request whose subject an erasure takes: what is open of it is moot. It has no erasure of its own under way. */
export async function closeAsMoot(work: Work, given: RequestRow): Promise<RequestRow> {
  let row = given
  const isCancelled = isCancellable(StateName.parse(row.state))
  if (row.state === 'failed')
    row = await change(work, row, { event: 'running', to: 'running', isSilent: true, by: 'system' })
  for (const part of given.parts)
    if (!isOver(PartStateName.parse(part.state)) || part.state === 'failed')
      row = await setPart(work, row, KindName.parse(part.kind), isCancelled ? 'cancelled' : 'done', {
        waits_for: null,
        by: 'erasure',
      })
  if (!isCancelled) return conclude(work, row, { by: 'erasure' })
  return change(work, row, { event: 'cancelled', to: 'cancelled', details: { by: 'erasure' }, by: 'system' })
}

/**
 * Other requests about whom this erasure takes are moot. One that somebody changes at this moment is left to them, and closed when the
 * erasure comes to the requests.
 */
async function closeOthers(
  work: Work,
  { id }: RequestRow,
  { account, agents, participants = [] }: Subject,
): Promise<void> {
  const { tx } = work
  const free = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM privacy_requests
    WHERE (account_id = ${account} OR agent_id = ANY(${[...agents]}::text[]) OR participant_id = ANY(${[...participants]}::text[])) AND id <> ${id} AND run_id IS NULL AND closed_at IS NULL
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`
  for (const { id: otherId } of free) {
    const found = await tx.privacyRequest.findUnique({ where: { id: otherId }, include: withParts })
    if (found) await closeAsMoot(work, found)
  }
}

/** Told once; the clock's next rounds find it as it is. */
async function blocked(work: Work, row: RequestRow): Promise<RequestRow> {
  const told = await work.tx.privacyRequestEvent.count({ where: { requestId: row.id, event: 'blocked' } })
  if (told === 0) await note(work, row, { event: 'blocked', details: { reason: 'last_admin' }, by: 'system' })
  return row
}

/**
 * The erasure begins when its grace is over, nobody stopped the clocks, and the copies asked for with it are fetched or gone; `force`
 * takes no notice of the last. Changes nothing otherwise. The last admin's waits until somebody else is one, and both clocks go on
 * meanwhile: GDPR art. 12(3) knows no such pause.
 */
export async function beginErasure(
  parts: PrivacyParts,
  work: Work,
  given: RequestRow,
  { force = false } = {},
): Promise<RequestRow> {
  const { tx, now } = work
  let row = given
  if (row.state !== 'waiting' || row.pausedAt || row.waitingUntil === null || row.waitingUntil > now) return row
  if (!force && hasCopiesToFetch(row)) return row
  // Its subject was erased otherwise: by an erasure that a restored backup had forgotten, for one. Nobody is left to be erased.
  if (isPseudonymous(row)) return closeAsMoot(work, row)
  const isAdmin = row.accountId !== null && (await parts.people.byId(tx, row.accountId))?.role === 'admin'
  if (isAdmin && row.accountId !== null && (await parts.people.isLastAdmin(tx, row.accountId)))
    return blocked(work, row)
  const subject = await subjectOf(tx, row, parts.agents)
  const { runId } = await parts.erasures.begin(tx, {
    requestId: row.id,
    subject,
    redacts: row.redacts,
    requestedBy: row.filedBy ?? 'system:privacy.clock',
    reason: 'gdpr_erasure',
    ...(row.receiptId !== null && { receiptId: row.receiptId }),
    now,
  })
  await closeOthers(work, row, subject)
  // Whatever still waits for somebody's judgement is about data that goes; a copy that could not be made is given up.
  for (const part of row.parts)
    if (part.kind !== 'erasure' && (part.state === 'failed' || !isOver(PartStateName.parse(part.state))))
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
