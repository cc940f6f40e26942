import type { z } from 'zod'
import { cancelRequestIn } from '#lib/domains/privacy-requests/execution/cancellation.ts'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import {
  clocksOf,
  isUnconnected,
  kindsOf,
  lockedRequest,
  type RequestRow,
  StateName,
  withParts,
} from '#lib/domains/privacy-requests/requests.ts'
import { deadlineStatus, isCancellable, statusLinkEnd } from '#lib/domains/privacy-requests/rules.ts'
import { notifyParties, workOf } from '#lib/domains/privacy-requests/timeline.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { readFormStatus, withdrawFormRequest } from './contract.ts'
import { copyDeliveryOf, type StatusLink, statusLinkOf } from './copy.ts'
import type { StatusStage } from './rules.ts'

function stageOf(row: RequestRow): StatusStage {
  const state = StateName.parse(row.state)
  switch (state) {
    case 'received':
      if (isUnconnected(row)) return 'in_review'
      return row.accountId === null ? 'verifying_identity' : 'confirm_by_email'
    case 'waiting':
      return 'grace_period'
    case 'verified':
    case 'running':
    case 'verifying':
      return 'in_progress'
    case 'failed':
      return 'delayed'
    case 'completed':
      // An answer in words is not an execution: nothing was erased, corrected or handed over by this installation.
      return isUnconnected(row) ? 'answered' : 'completed'
    case 'partly_completed':
    case 'cancelled':
      return state
    case 'rejected':
      return 'refused'
  }
}

type Status = z.input<typeof readFormStatus.output>['data']
/** The status for the holder of the link: nothing about accounts, names, ids, other requests or admins. */
async function statusOf(tx: Transaction, row: RequestRow, link: StatusLink, now: Date): Promise<Status> {
  const events = await tx.privacyRequestEvent.findMany({
    where: { requestId: row.id, isInternal: false, note: { not: null } },
    orderBy: [{ at: 'asc' }, { id: 'asc' }],
  })
  return {
    kinds: kindsOf(row),
    stage: stageOf(row),
    received_at: row.receivedAt.toISOString(),
    legal_due_at: deadlineStatus(clocksOf(row), now).legalDueAt.toISOString(),
    extended: row.extendedAt !== null,
    paused: row.pausedAt !== null,
    erasure_at: row.state === 'waiting' ? (row.waitingUntil?.toISOString() ?? null) : null,
    closed_at: row.closedAt?.toISOString() ?? null,
    expires_at: row.closedAt ? statusLinkEnd(row.closedAt).toISOString() : null,
    can_withdraw: isCancellable(StateName.parse(row.state)),
    copy: copyDeliveryOf(row, link, now),
    messages: events.map(({ at, event, note }) => ({ at: at.toISOString(), event, note: note ?? '' })),
  }
}

/** Use cases of the status page, to which a link in the emails leads. */
export const formStatus = (deps: PrivacyDeps) => ({
  readFormStatus: read(readFormStatus, async (ctx, { body: { token } }) => {
    await deps.form.countTry(ctx.ip)
    const link = await statusLinkOf(deps.db.prisma, token, ctx.now)
    const id = link.requestId
    const row = await deps.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id }, include: withParts })
    return { body: { data: await statusOf(deps.db.prisma, row, link, ctx.now) }, resourceId: id }
  }),

  withdrawForm: mutation(withdrawFormRequest, async (ctx, { body: { token } }) => {
    await deps.form.countTry(ctx.ip)
    const link = await statusLinkOf(ctx.tx, token, ctx.now)
    const id = link.requestId
    const row = await lockedRequest(ctx.tx, id)
    if (!row) throw new Problem('link_spent', 'This link is invalid or has expired.')
    const work = workOf(ctx, 'subject')
    const next = await cancelRequestIn(deps, work, row)
    await notifyParties(work)
    return { body: { data: await statusOf(ctx.tx, next, link, ctx.now) }, resourceId: id, entries: work.entries }
  }),
})
