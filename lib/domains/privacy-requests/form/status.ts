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
import { hashOf } from '#lib/kernel/code-hash.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { readFormStatus, withdrawFormRequest } from './contract.ts'
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

function copyOf(row: RequestRow): 'sign_in' | 'organization' | null {
  const isReady = row.parts.some(({ kind, state }) => (kind === 'access' || kind === 'portability') && state === 'done')
  if (!isReady || isUnconnected(row)) return null
  return row.accountId === null ? 'organization' : 'sign_in'
}

type Status = z.input<typeof readFormStatus.output>['data']
/** The status for the holder of the link: nothing about accounts, names, ids, other requests or admins. */
async function statusOf(tx: Transaction, row: RequestRow, now: Date): Promise<Status> {
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
    copy: copyOf(row),
    messages: events.map(({ at, event, note }) => ({ at: at.toISOString(), event, note: note ?? '' })),
  }
}

/** @throws Problem `link_spent` for an unknown or expired link, or one of another purpose */
async function requestIdOf(tx: Transaction, token: string, now: Date): Promise<string> {
  const record = await tx.privacyLink.findFirst({
    where: { hash: hashOf(token), purpose: 'status', expiresAt: { gt: now } },
    select: { requestId: true },
  })
  if (!record)
    throw new Problem(
      'link_spent',
      'This link is invalid or has expired. Status pages are deleted 30 days after the request is closed, and earlier when the data of the requester is erased.',
    )
  return record.requestId
}

/** Use cases of the status page, to which a link in the emails leads. */
export const formStatus = (deps: PrivacyDeps) => ({
  readFormStatus: read(readFormStatus, async (ctx, { body: { token } }) => {
    await deps.form.countTry(ctx.ip)
    const id = await requestIdOf(deps.db.prisma, token, ctx.now)
    const row = await deps.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id }, include: withParts })
    return { body: { data: await statusOf(deps.db.prisma, row, ctx.now) }, resourceId: id }
  }),

  withdrawForm: mutation(withdrawFormRequest, async (ctx, { body: { token } }) => {
    await deps.form.countTry(ctx.ip)
    const id = await requestIdOf(ctx.tx, token, ctx.now)
    const row = await lockedRequest(ctx.tx, id)
    if (!row) throw new Problem('link_spent', 'This link is invalid or has expired.')
    const work = workOf(ctx, 'subject')
    const next = await cancelRequestIn(deps, work, row)
    await notifyParties(work)
    return { body: { data: await statusOf(ctx.tx, next, ctx.now) }, resourceId: id, entries: work.entries }
  }),
})
