import { enqueue } from '#lib/jobs/queue.ts'
import { guardRequestChange } from '#lib/kernel/authorise.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import { newUuid } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { ChangedResource } from '#lib/kernel/use-case.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import type { PrivacyDeps } from './ports.ts'
import { deletePayload } from './repository.ts'
import { type RequestRow, StateName, withParts } from './requests.ts'
import { isClosed, mayBecome, type Party, type RequestEvent, type RequestState, statusLinkEnd } from './rules.ts'

export const notifyJob = 'privacy.notify'
/** Sends the email to the new address of a rectification. */
export const addressJob = 'privacy.confirm-address'
/** Sends an admin the number of requests. */
export const notifyAdminJob = 'privacy.tell-admin'

/** The changes to requests in one transaction. Timeline, audit log and emails are written together with them or not at all. */
export interface RequestWork {
  tx: Transaction
  now: Date
  by: Party
  /** The acting party as named in the audit log. */
  actorId: string
  /** The audit entries, which the pipeline writes. */
  entries: ChangedResource[]
  /** Ids of the timeline entries to email to the subject, by request id. */
  told: Map<string, string[]>
}
/**
 * Every change of a request by a caller begins here.
 * @throws Problem `forbidden` for a token that acts as an admin: a person decides about requests of others
 */
export function workOf(ctx: Pick<MutationContext, 'tx' | 'now' | 'actor' | 'consulted'>, by: Party): RequestWork {
  guardRequestChange(ctx, by === 'admin')
  return { tx: ctx.tx, now: ctx.now, by, actorId: ctx.actor.id, entries: [], told: new Map() }
}
export const systemWork = (tx: Transaction, now: Date, job: string): RequestWork => ({
  tx,
  now,
  by: 'system',
  actorId: `system:${job}`,
  entries: [],
  told: new Map(),
})

export interface RequestChange {
  event: RequestEvent
  to?: RequestState
  /** Further changes of the request's row. */
  data?: Prisma.PrivacyRequestUpdateInput
  /** Ids, codes, counts and times. */
  details?: Record<string, string | number | boolean | null>
  /** Text that the subject can read, or only admins if `isInternal`. */
  note?: string
  isInternal?: boolean
  /** Sends no email about this change. */
  isSilent?: boolean
  by?: Party
}

/**
 * Changes a locked request: its row, a timeline entry, an audit entry, and an email after the transaction.
 * @throws Problem `wrong_state` for a transition that the table does not allow
 */
export async function change(work: RequestWork, row: RequestRow, made: RequestChange): Promise<RequestRow> {
  const { tx, now } = work
  const from = StateName.parse(row.state)
  if (made.to !== undefined && !mayBecome(from, made.to, made.by ?? work.by))
    throw new Problem('wrong_state', `The request is ${from.replace('_', ' ')}. Nothing was changed.`)
  const closes = made.to !== undefined && isClosed(made.to)
  if (closes) {
    await tx.privacyLink.deleteMany({ where: { requestId: row.id, purpose: { not: 'status' } } })
    await tx.privacyLink.updateMany({ where: { requestId: row.id }, data: { expiresAt: statusLinkEnd(now) } })
    await deletePayload(tx, { id: row.id })
  }
  const next = await tx.privacyRequest.update({
    where: { id: row.id },
    data: {
      ...made.data,
      ...(made.to !== undefined && { state: made.to }),
      ...(closes && { closedAt: now, pausedAt: null }),
      version: { increment: 1 },
    },
    include: withParts,
  })
  await note(work, next, made, from)
  return next
}

/** Adds a timeline entry and an audit entry, for changes outside the request's row. */
export async function note(
  work: RequestWork,
  row: RequestRow,
  made: RequestChange,
  from?: RequestState,
): Promise<void> {
  const { tx, now } = work
  const id = newUuid()
  await tx.privacyRequestEvent.create({
    data: {
      id,
      requestId: row.id,
      at: now,
      by: made.by ?? work.by,
      event: made.event,
      from: made.to === undefined ? null : (from ?? null),
      to: made.to ?? null,
      details: made.details ?? {},
      note: made.note ?? null,
      isInternal: made.isInternal ?? false,
    },
  })
  work.entries.push({
    resourceId: row.id,
    ...(made.event === 'received' && { action: 'create' as const }),
    details: { event: made.event, ...(made.to !== undefined && { from: from ?? null, to: made.to }), ...made.details },
  })
  if (!made.isInternal && !made.isSilent) work.told.set(row.id, [...(work.told.get(row.id) ?? []), id])
}

/** Enqueues the emails of this work: one per request, about all its events. */
export async function notifyParties(work: RequestWork): Promise<void> {
  for (const [requestId, events] of work.told)
    await enqueue(work.tx, notifyJob, { requestId, events: events.join(',') }, { maxAttempts: 25 })
  work.told.clear()
}

/** Writes emails and audit entries for a job or for another domain's transaction. For use cases, the pipeline does this. */
export async function settle(deps: Pick<PrivacyDeps, 'pipeline'>, work: RequestWork, ip = ''): Promise<void> {
  await notifyParties(work)
  await deps.pipeline.auditWithin(
    work.tx,
    ...work.entries.map((entry) => ({
      action: 'update' as const,
      resourceType: 'request',
      actorId: work.actorId,
      at: work.now,
      ip,
      ...entry,
      details: entry.details ?? {},
    })),
  )
  work.entries.length = 0
}
