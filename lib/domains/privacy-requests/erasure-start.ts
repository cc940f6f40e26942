import type { Subject } from '#lib/kernel/holder.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { conclude, isOver, setPart } from './parts.ts'
import type { PrivacyParts } from './ports.ts'
import { KindName, type PartRow, PartStateName, type RequestRow, StateName, subjectOf, withParts } from './requests.ts'
import { isCancellable } from './rules.ts'
import { change, type Work } from './timeline.ts'

/** A copy that was asked for together with an erasure is fetched, or there is none to fetch any more. */
const isFetchedOrGone = ({ outcome }: PartRow): boolean => {
  const { export_id, copy } = outcome as Prisma.JsonObject
  return export_id === undefined || copy === 'fetched' || copy === 'gone'
}

/** Other requests about whom this erasure takes are moot. Those that somebody changes at this moment are left to them. */
async function closeOthers(work: Work, { id }: RequestRow, { account, agents }: Subject): Promise<void> {
  const { tx } = work
  const free = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM privacy_requests
    WHERE (account_id = ${account} OR agent_id = ANY(${[...agents]}::text[])) AND id <> ${id} AND run_id IS NULL AND closed_at IS NULL
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`
  for (const { id: otherId } of free) {
    const found = await tx.privacyRequest.findUnique({ where: { id: otherId }, include: withParts })
    if (!found) continue
    let other: RequestRow = found
    const isCancelled = isCancellable(StateName.parse(other.state))
    for (const part of found.parts)
      if (!isOver(PartStateName.parse(part.state)) || part.state === 'failed')
        other = await setPart(work, other, KindName.parse(part.kind), isCancelled ? 'cancelled' : 'done', {
          waits_for: null,
          by: 'erasure',
        })
    if (isCancelled)
      await change(work, other, { event: 'cancelled', to: 'cancelled', details: { by: 'erasure' }, by: 'system' })
    else await conclude(work, other)
  }
}

/**
 * The erasure begins when its grace is over, nobody stopped the clocks, and the copies asked for with it are fetched or gone; `force`
 * takes no notice of the last. Changes nothing otherwise. The last admin's waits until somebody else is one.
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
  if (!force && !row.parts.every(isFetchedOrGone)) return row
  const isAdmin = row.accountId !== null && (await parts.people.byId(tx, row.accountId))?.role === 'admin'
  if (isAdmin && row.accountId !== null && (await parts.people.isLastAdmin(tx, row.accountId)))
    return change(work, row, {
      event: 'paused',
      data: { pausedAt: now },
      details: { reason: 'last_admin' },
      by: 'system',
    })
  const subject = await subjectOf(tx, row, parts.agents)
  const { runId } = await parts.erasures.begin(tx, {
    requestId: row.id,
    subject,
    requestedBy: row.filedBy ?? 'system:privacy.clock',
    reason: 'gdpr_erasure',
    now,
  })
  await closeOthers(work, row, subject)
  // Whatever still waits for somebody's judgement is about data that goes.
  for (const part of row.parts)
    if (part.kind !== 'erasure' && !isOver(PartStateName.parse(part.state)))
      row = await setPart(work, row, KindName.parse(part.kind), 'done', { waits_for: null, by: 'erasure' })
  row = await setPart(work, row, 'erasure', 'running')
  return change(work, row, {
    event: 'running',
    to: 'running',
    data: { startedAt: now, runId },
    details: { run_id: runId, agents: subject.agents.length },
    by: 'system',
  })
}
