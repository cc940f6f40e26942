import type { Transaction } from '#lib/kernel/context.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import {
  beginErasure,
  conclude,
  hasCopiesToFetch,
  restartParts,
  setPart,
  unrestrictSubject,
  unsuspend,
} from '../execution/execution.ts'
import type { PrivacyDeps } from '../ports.ts'
import {
  change,
  clocksOf,
  isPseudonymous,
  KindName,
  lockedRequest,
  note,
  type RequestRow,
  type RequestWork,
  requestPartOf,
  StateName,
} from '../requests.ts'
import {
  dueAfter,
  extendedDeadline,
  isCancellable,
  isClosed,
  nextDue,
  type RefusalGround,
  shortenedByAdmin,
} from '../rules.ts'

const wrong = (row: RequestRow, what: string) =>
  new Problem('wrong_state', `The request is ${row.state.replace('_', ' ')}: ${what}. Nothing was changed.`)
const refuseClosed = (row: RequestRow): void => {
  if (isClosed(StateName.parse(row.state))) throw wrong(row, 'it is closed')
}
/** Texts are rejected: a request whose subject is erased must not contain any. */
const refuseWords = (row: RequestRow): void => {
  if (isPseudonymous(row)) throw wrong(row, 'its subject is erased, so it cannot store any text')
}

/**
 * Refuses the whole request before its work begins; afterwards only the parts that wait for an admin's decision.
 * Requires a reason; the email names the remedies (GDPR art. 12(4)).
 */
export async function refuse(
  deps: PrivacyDeps,
  work: RequestWork,
  given: RequestRow,
  { ground, reason }: { ground: RefusalGround; reason: string },
): Promise<RequestRow> {
  refuseClosed(given)
  let row = given
  const isObjecting = requestPartOf(row, 'objection')?.state === 'running'
  const reported = { details: { ground, ...(isObjecting && { lifted: true }) }, note: reason }
  const isWhole = isCancellable(StateName.parse(row.state))
  const open = row.parts.filter(({ state }) => state === 'pending' || state === 'running')
  const refusable = isWhole ? open : open.filter(({ kind }) => kind === 'rectification' || kind === 'objection')
  if (refusable.length === 0) throw wrong(row, 'no part of it waits for a decision')
  for (const { kind, state } of refusable) {
    if (kind === 'objection' && state === 'running') await unrestrictSubject(deps, work, row, 'objection')
    row = await setPart(work, row, KindName.parse(kind), 'refused', { ground, waits_for: null })
  }
  if (!isWhole) {
    row = await change(work, row, { event: 'part_refused', ...reported })
    return conclude(work, row)
  }
  if (row.state === 'waiting') await unsuspend(deps, work, row)
  return change(work, row, { event: 'rejected', to: 'rejected', ...reported })
}

const extensionFaults = {
  extended_already: 'cannot be extended again: the law allows one extension',
  first_month_over: 'is too late: the subject must be notified of an extension within the first month',
  beyond_law: 'exceeds the two further months that the law allows (GDPR art. 12(3))',
} as const

/**
 * Extends the legal deadline by `days`.
 * @throws Problem `invalid` for an extension that the law does not allow
 */
export async function extend(work: RequestWork, row: RequestRow, days: number, reason: string): Promise<RequestRow> {
  refuseWords(row)
  const limit = extendedDeadline(clocksOf(row), days, work.now)
  if (limit === 'settled') throw wrong(row, 'its deadlines no longer apply')
  if (!(limit instanceof Date)) throw invalid(['days'], extensionFaults[limit])
  // An internal deadline that comes first does not move, so it is not announced again.
  const moves = nextDue({ ...row, legalDueAt: limit }) > nextDue(row)
  return change(work, row, {
    event: 'extended',
    data: { legalDueAt: limit, extendedAt: work.now, ...(moves && { nearlyToldAt: null, overdueToldAt: null }) },
    details: { days, until: limit.toISOString() },
    note: reason,
  })
}

export async function pause(work: RequestWork, row: RequestRow, reason: string): Promise<RequestRow> {
  refuseClosed(row)
  if (row.pausedAt) throw wrong(row, 'it is already paused')
  if (!isCancellable(StateName.parse(row.state))) throw wrong(row, 'processing has begun, so it cannot be paused')
  return change(work, row, { event: 'paused', data: { pausedAt: work.now }, note: reason })
}

/** Continues both clocks and moves their ends by the length of the pause. */
export async function resume(deps: PrivacyDeps, work: RequestWork, row: RequestRow): Promise<RequestRow> {
  if (!row.pausedAt) throw wrong(row, 'it is not paused')
  const still = work.now.getTime() - row.pausedAt.getTime()
  const later = (at: Date) => new Date(at.getTime() + still)
  const next = await change(work, row, {
    event: 'resumed',
    data: { pausedAt: null, legalDueAt: later(row.legalDueAt), ...(row.dueAt && { dueAt: later(row.dueAt) }) },
    details: { seconds: Math.round(still / 1000) },
  })
  return beginErasure(deps, work, next)
}

/**
 * Ends the grace period now if the subject asks. An admin shortens it to 24 hours, in which the subject can cancel, or ends it once it is
 * over and waits only for copies. Waits for copies that nobody has fetched, unless `dropCopies` is true.
 */
export async function expediteRequestIn(
  deps: PrivacyDeps,
  work: RequestWork,
  row: RequestRow,
  { reason, dropCopies }: { reason?: string; dropCopies: boolean },
): Promise<RequestRow> {
  if (row.state !== 'waiting' || row.waitingUntil === null) throw wrong(row, 'it has no running grace period')
  if (row.pausedAt) throw wrong(row, 'it is paused')
  const isOver = row.waitingUntil <= work.now
  const until = work.by === 'subject' || isOver ? work.now : shortenedByAdmin(row.waitingUntil, work.now)
  const isLater = until > work.now
  if (isLater && until >= row.waitingUntil)
    throw wrong(row, 'its grace period ends within 24 hours, and only its subject can end it earlier')
  const next = await change(work, row, {
    event: 'expedited',
    data: { waitingUntil: until, dueAt: dueAfter(until, row.legalDueAt) },
    ...((isLater || hasCopiesToFetch(row)) && {
      details: {
        ...(isLater && { until: until.toISOString() }),
        ...(hasCopiesToFetch(row) && { copies: dropCopies && !isLater ? 'dropped' : 'wait' }),
      },
    }),
    ...(reason !== undefined && { note: reason }),
  })
  return beginErasure(deps, work, next, { force: dropCopies })
}

/** Locks the run of the request's erasure first and then the request, like the erasure engine, to avoid a deadlock. */
export async function requestForRetry(
  { erasures }: PrivacyDeps,
  tx: Transaction,
  id: string,
): Promise<RequestRow | undefined> {
  const record = await tx.privacyRequest.findUnique({ where: { id }, select: { runId: true } })
  if (record?.runId) await erasures.lock(tx, record.runId)
  return lockedRequest(tx, id)
}

/** Retries the failed parts and the stuck steps of the erasure. The request must come from {@link requestForRetry}. */
export async function retry(
  deps: PrivacyDeps,
  work: RequestWork,
  given: RequestRow,
  dataSource?: string,
): Promise<RequestRow> {
  refuseClosed(given)
  const hasFailed = given.parts.filter(({ state }) => state === 'failed').map(({ kind }) => kind)
  const isErasing = given.runId !== null && (await deps.erasures.retry(work.tx, given.runId, dataSource, work.now))
  if (!isErasing && hasFailed.every((kind) => kind === 'erasure'))
    throw wrong(given, 'no part of it has failed or is stuck')
  let row = given
  if (row.state === 'failed') row = await change(work, row, { event: 'running', to: 'running' })
  row = await restartParts(deps, work, row)
  if (isErasing && requestPartOf(row, 'erasure')?.state === 'failed')
    row = await setPart(work, row, 'erasure', 'running')
  return change(work, row, { event: 'retried', details: { holder: dataSource ?? null }, isSilent: true })
}

/** Records that an admin carried out the part. After an upheld objection, processing stays restricted. */
export async function complete(
  work: RequestWork,
  row: RequestRow,
  kind: 'rectification' | 'objection',
  words: string,
): Promise<RequestRow> {
  const part = requestPartOf(row, kind)
  if (part?.state !== 'running') throw wrong(row, `it has no ${kind} that waits for a decision`)
  const next = await setPart(work, row, kind, 'done', { waits_for: null })
  return conclude(work, await change(work, next, { event: 'part_done', details: { kind }, note: words }))
}

/** Assigns the request to an admin, or to nobody. */
export async function assign(
  { people }: PrivacyDeps,
  work: RequestWork,
  row: RequestRow,
  accountId: string | null,
): Promise<RequestRow> {
  if (isClosed(StateName.parse(row.state)) && isPseudonymous(row))
    throw wrong(row, 'its subject is erased, so it needs no assignee')
  if (accountId !== null && !(await people.adminContacts(work.tx)).some((admin) => admin.accountId === accountId))
    throw invalid(['account_id'], 'is not the id of an admin who can sign in')
  return change(work, row, {
    event: 'assigned',
    data: { assignedTo: accountId },
    details: { assigned: accountId !== null },
    isInternal: true,
  })
}

/** Adds an internal comment in any state, unless the request is pseudonymous. */
export async function comment(work: RequestWork, row: RequestRow, words: string): Promise<RequestRow> {
  refuseWords(row)
  await note(work, row, { event: 'comment', note: words, isInternal: true })
  return row
}
