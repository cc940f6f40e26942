import type { Prisma } from '#generated/prisma/client.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { boundRequestLinkEmails, sealContact } from '../filing/links.ts'
import type { PrivacyDeps } from '../ports.ts'
import { lockOtherRequests } from '../repository.ts'
import {
  addressJob,
  change,
  GraceName,
  isPseudonymous,
  KindName,
  kindsOf,
  lockedRequest,
  note,
  notifyAdmins,
  PartStateName,
  payloadOf,
  type RequestPartRow,
  type RequestRow,
  type RequestWork,
  requestPartOf,
  requestSubjectOf,
  StateName,
  wasFullyRetained,
  withParts,
} from '../requests.ts'
import {
  dueAfter,
  graceEnd,
  isByOthers,
  isCancellable,
  isClosed,
  leastGraceOfOthers,
  leastGraceOfOwned,
  longerGrace,
  type PartState,
  type RequestKind,
  stateOfParts,
} from '../rules.ts'

type PartOutcome = Record<string, string | number | boolean | null>
/** Returns true when the part needs no more work. A failed part can be retried. */
const isPartOver = (state: PartState): boolean => state !== 'pending' && state !== 'running'

/** Sets the state of a part, and merges the outcome into the earlier one. Returns the updated request. */
export async function setPart(
  work: RequestWork,
  row: RequestRow,
  kind: RequestKind,
  state: PartState,
  outcome: PartOutcome = {},
): Promise<RequestRow> {
  const before = requestPartOf(row, kind)
  if (!before) return row
  const after: RequestPartRow = await work.tx.privacyRequestPart.update({
    where: { requestId_kind: { requestId: row.id, kind } },
    data: {
      state,
      startedAt: before.startedAt ?? work.now,
      finishedAt: isPartOver(state) ? work.now : null,
      outcome: { ...(before.outcome as Prisma.JsonObject), ...outcome },
    },
  })
  return { ...row, parts: row.parts.map((part) => (part.kind === kind ? after : part)) }
}

/**
 * Sets the state of a request from the states of its parts, once its work has begun. A closed request stays closed,
 * whatever happens to its copies.
 */
export async function conclude(work: RequestWork, row: RequestRow, details: PartOutcome = {}): Promise<RequestRow> {
  const from = StateName.parse(row.state)
  if (from === 'waiting' || from === 'verified' || from === 'received' || isClosed(from)) return row
  const to = stateOfParts(row.parts.map((part) => PartStateName.parse(part.state)))
  if (to === from || (to === 'running' && from === 'verifying')) return row
  return change(work, row, { event: to, to, details, by: to === 'rejected' ? 'admin' : 'system' })
}

type Reason = 'request' | 'objection'

/** Restricts the subject of the request: an account with its agents, an agent, or a participant of a project. */
async function restrictSubject(
  { agents, participants }: PrivacyDeps,
  { tx, now }: RequestWork,
  row: RequestRow,
  reason: Reason,
): Promise<void> {
  const subject = await requestSubjectOf(tx, row, agents)
  await agents.restrict(tx, subject, reason, now)
  await participants.restrict(tx, subject.participants ?? [], reason, now)
}
/** Lifts a restriction with this reason; restrictions for other reasons stay. */
export async function unrestrictSubject(
  { agents, participants }: PrivacyDeps,
  { tx, now }: RequestWork,
  row: RequestRow,
  reason: Reason,
): Promise<void> {
  const subject = await requestSubjectOf(tx, row, agents)
  await agents.unrestrict(tx, subject, reason, now)
  await participants.unrestrict(tx, subject.participants ?? [], reason)
}

/** Returns true when the copy of this part was fetched, is deleted, or was never prepared. */
export const isFetchedOrDeleted = ({ outcome }: RequestPartRow): boolean => {
  const { export_id, copy } = outcome as Prisma.JsonObject
  return export_id === undefined || copy === 'fetched' || copy === 'gone'
}

/** Returns true when a copy that was requested with the erasure is still to be fetched. */
export const hasCopiesToFetch = (row: RequestRow): boolean => !row.parts.every(isFetchedOrDeleted)

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
 * Whether the account that confirmed the identity may still do so: it is open and of an admin, or for a participant, of an owner of the project or
 * a manager of its organization. A session of somebody else may have confirmed it, which others noticed since. A confirmation by an account that is not known stays in force: the audit log, which names the
 * account, retains its entries for a shorter time than a pause may last. An erasure that its subject or an application confirmed is not affected.
 */
async function isConfirmationInForce(
  { actorsOf, people, participants }: Pick<PrivacyDeps, 'actorsOf' | 'people' | 'participants'>,
  { tx, now }: RequestWork,
  { id, verifiedBy, participantId }: RequestRow,
): Promise<boolean> {
  const isManager = verifiedBy === 'manager' && participantId !== null
  if (verifiedBy !== 'admin' && !isManager) return true
  const confirmations = (await actorsOf(tx, id, now)).filter(({ event }) => event === 'verified')
  const latest = confirmations.toSorted((one, other) => one.at.getTime() - other.at.getTime()).at(-1)
  if (!latest?.actor.startsWith('user:')) return true
  if (isManager) return !(await participants.hasLostRight(tx, participantId, latest.actor))
  const admin = latest.actor.slice('user:'.length)
  return (await people.byId(tx, admin))?.role === 'admin' && !(await people.isClosed(tx, admin))
}

/**
 * Returns the request to the state before its confirmation, so that another admin confirms it, with a new grace period. Admins are told at
 * once, and again when a deadline is near or over.
 */
async function withdrawConfirmation(deps: PrivacyDeps, work: RequestWork, row: RequestRow): Promise<RequestRow> {
  await unsuspend(deps, work, row)
  await notifyAdmins(deps, work.tx)
  return change(work, row, {
    event: 'doubted',
    to: 'received',
    data: {
      verifiedBy: null,
      verifiedAt: null,
      waitingUntil: null,
      dueAt: null,
      remindedAt: null,
      nearlyToldAt: null,
      overdueToldAt: null,
    },
    by: 'system',
  })
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
  if (!(await isConfirmationInForce(deps, work, row))) return withdrawConfirmation(deps, work, row)
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

/** Starts one kind of a request, except erasure, which beginErasure starts. */
async function startPart(
  deps: PrivacyDeps,
  work: RequestWork,
  row: RequestRow,
  kind: RequestKind,
): Promise<RequestRow> {
  const { tx, now } = work
  switch (kind) {
    case 'access':
    case 'portability': {
      const basis = kind === 'access' ? 'all' : 'provided'
      if (row.participantId !== null) {
        const project = await deps.participants.projectOf(tx, row.participantId)
        const path = `/api/projects/${project}/participants/${row.participantId}/export?scope=${basis}`
        return setPart(work, row, kind, 'done', { export: path })
      }
      if (row.accountId === null)
        return setPart(work, row, kind, 'done', { export: `/v1/export/${row.agentId}?scope=${basis}` })
      const copy = { accountId: row.accountId, requestId: row.id, basis, now } as const
      const isAgain = requestPartOf(row, kind)?.state === 'failed'
      return setPart(work, row, kind, 'running', {
        export_id: await deps.copies.prepare(tx, copy),
        ...(isAgain && { copy: null }),
      })
    }
    case 'rectification':
      return rectify(deps, work, row)
    case 'restriction':
      await restrictSubject(deps, work, row, 'request')
      return setPart(work, row, kind, 'done')
    case 'objection':
      // GDPR art. 18(1)(d): processing is restricted while the objection is weighed.
      await restrictSubject(deps, work, row, 'objection')
      return setPart(work, row, kind, 'running', { waits_for: 'admin' })
    case 'erasure':
      return row
  }
}

/**
 * Corrects name and language immediately. A new address waits for a confirmation by email, and a correction in words
 * waits for an admin.
 */
export async function rectify(deps: PrivacyDeps, work: RequestWork, row: RequestRow): Promise<RequestRow> {
  const { changes, statements = [] } = payloadOf(row)
  const { email, ...rest } = changes ?? {}
  if (row.accountId !== null && (rest.name !== undefined || rest.locale !== undefined)) {
    const fields = await deps.people.rectify(work.tx, row.accountId, rest, work.now)
    await note(work, row, { event: 'rectified', details: { fields: fields.join(',') }, by: 'system' })
  }
  if (row.participantId !== null && changes) {
    const by = work.by === 'system' ? (row.filedBy ?? work.actorId) : work.actorId
    const fields = await deps.participants.rectify(work.tx, row.participantId, changes, by, work.now)
    await note(work, row, { event: 'rectified', details: { fields: fields.join(',') }, by: 'system' })
  }
  if (email !== undefined && row.accountId !== null) {
    await boundRequestLinkEmails(work.tx, row.subjectKey, work.now)
    // Links of earlier address changes become invalid.
    await work.tx.privacyLink.deleteMany({ where: { requestId: row.id, purpose: 'address' } })
    await note(work, row, { event: 'address_asked', by: 'system' })
    await enqueue(work.tx, addressJob, { requestId: row.id }, { maxAttempts: 12 })
    return setPart(work, row, 'rectification', 'running', {
      waits_for: 'address',
      has_words: statements.length > 0,
    })
  }
  return statements.length > 0
    ? setPart(work, row, 'rectification', 'running', { waits_for: 'admin' })
    : setPart(work, row, 'rectification', 'done', { waits_for: null })
}

/**
 * Sends further emails about open requests to the new address, and deletes the unused links of earlier emails, because
 * the former mailbox may belong to somebody else.
 */
async function updateContact(
  deps: PrivacyDeps,
  work: RequestWork,
  { id }: RequestRow,
  accountId: string,
): Promise<void> {
  const { tx } = work
  const contact = await deps.people.contactOf(tx, accountId)
  if (!contact) return
  const agents = await deps.agents.agentsOfAccount(tx, accountId)
  const open = await tx.privacyRequest.findMany({
    where: { OR: [{ accountId }, { agentId: { in: agents } }], closedAt: null, contact: { not: null } },
    select: { id: true },
    orderBy: { id: 'asc' },
  })
  for (const { id: openId } of open) {
    const row = await lockedRequest(tx, openId)
    if (!row || row.contact === null || row.closedAt) continue
    await tx.privacyLink.deleteMany({ where: { requestId: openId, usedAt: null } })
    const data = { contact: sealContact(deps.contactKey(), openId, contact) }
    // The email about the request itself reports its new address, unless the email contains the link to cancel.
    if (openId === id && row.state !== 'waiting') await tx.privacyRequest.update({ where: { id }, data })
    else await change(work, row, { event: 'address_moved', data, by: 'system' })
  }
}

/**
 * Stores the confirmed new address.
 * @throws Problem `conflict` when another account uses the address by now
 */
export async function confirmAddress(deps: PrivacyDeps, work: RequestWork, row: RequestRow): Promise<RequestRow> {
  const { email } = payloadOf(row).changes ?? {}
  const part = requestPartOf(row, 'rectification')
  if (email === undefined || row.accountId === null || !part) return row
  await deps.people.rectify(work.tx, row.accountId, { email }, work.now)
  const { changes, ...rest } = payloadOf(row)
  const payload = { ...rest, changes: { ...changes, email: undefined } }
  await change(work, row, { event: 'rectified', data: { payload }, details: { fields: 'email' } })
  await updateContact(deps, work, row, row.accountId)
  const waitsForAdmin = (part.outcome as Prisma.JsonObject).has_words === true
  return conclude(
    work,
    await setPart(work, row, 'rectification', waitsForAdmin ? 'running' : 'done', {
      waits_for: waitsForAdmin ? 'admin' : null,
    }),
  )
}

/** Returns true when only a token asked for the erasure of an agent that has an owner; the owner has not confirmed it. */
const isOnlyConfirmedByToken = async (
  { agents }: PrivacyDeps,
  { tx }: RequestWork,
  row: RequestRow,
): Promise<boolean> =>
  row.verifiedBy === 'token' && row.agentId !== null && typeof (await agents.ownerOf(tx, row.agentId)) === 'string'

/** Continues a verified request: starts the grace period of an erasure, and executes the other kinds. */
export async function executeVerifiedRequest(
  deps: PrivacyDeps,
  work: RequestWork,
  verified: RequestRow,
): Promise<RequestRow> {
  const { tx, now } = work
  let row = verified
  if (kindsOf(row).includes('erasure')) {
    const asked = GraceName.parse(row.grace ?? '24h')
    const byToken = await isOnlyConfirmedByToken(deps, work, row)
    const least = byToken ? leastGraceOfOwned : isByOthers(row) ? leastGraceOfOthers : 'now'
    const grace = longerGrace(asked, least)
    const { at, isShortened } = graceEnd(grace, row.legalDueAt, now, least)
    const data = { grace, waitingUntil: at, dueAt: dueAfter(at, row.legalDueAt) }
    row = await change(work, row, {
      event: 'waiting',
      to: 'waiting',
      data,
      details: {
        until: at.toISOString(),
        shortened: isShortened,
        ...(byToken
          ? { by: 'token' }
          : (row.verifiedBy === 'admin' || row.verifiedBy === 'manager') && { by: row.verifiedBy }),
      },
      by: 'system',
    })
    await deps.agents.suspend(tx, await requestSubjectOf(tx, row, deps.agents), now)
  } else {
    const data = { startedAt: now, dueAt: dueAfter(now, row.legalDueAt) }
    row = await change(work, row, { event: 'running', to: 'running', data, by: 'system' })
  }
  // After a second confirmation, the other parts have begun already.
  for (const kind of kindsOf(row))
    if (requestPartOf(row, kind)?.state === 'pending') row = await startPart(deps, work, row, kind)
  if (kindsOf(row).includes('erasure')) return beginErasure(deps, work, row)
  const done = await conclude(work, row)
  return done.state === 'completed' && isOfItself(done) ? withoutEmail(work, done) : done
}

/** Returns true when an agent asked for a copy of its own data: the response contains its URL. */
const isOfItself = (row: RequestRow): boolean =>
  row.accountId === null &&
  row.channel === 'api' &&
  kindsOf(row).every((kind) => kind === 'access' || kind === 'portability')

/** Sends no email to the owner and therefore deletes the address immediately. */
function withoutEmail(work: RequestWork, row: RequestRow): Promise<RequestRow> {
  work.eventsToEmail.delete(row.id)
  return work.tx.privacyRequest.update({ where: { id: row.id }, data: { contact: null }, include: withParts })
}

/** Prepares failed copies again without notifying anybody. Must not be called while an erasure runs. */
export async function retryCopies(deps: PrivacyDeps, work: RequestWork, given: RequestRow): Promise<RequestRow> {
  const row =
    given.state === 'failed' ? await change(work, given, { event: 'running', to: 'running', isSilent: true }) : given
  const next = await restartParts(deps, work, row)
  return change(work, next, { event: 'retried', isSilent: true })
}

/** Starts the failed parts again. */
export async function restartParts(deps: PrivacyDeps, work: RequestWork, given: RequestRow): Promise<RequestRow> {
  let row = given
  for (const kind of kindsOf(row))
    if (kind !== 'erasure' && requestPartOf(row, kind)?.state === 'failed') row = await startPart(deps, work, row, kind)
  return row
}

/** Returns the counts of erased items so far by store. */
async function erasedSoFar({ erasures }: PrivacyDeps, runId: string | null): Promise<Record<string, number>> {
  const run = runId === null ? undefined : await erasures.run(runId)
  const erased: Record<string, number> = {}
  for (const step of run?.steps ?? []) erased[step.store] = (erased[step.store] ?? 0) + step.erased
  return erased
}

/** Returns the problem for a request that can no longer be cancelled, with the counts of erased items. */
function tooLate(deps: PrivacyDeps, row: RequestRow): Problem {
  const state = StateName.parse(row.state)
  const isErasing = row.runId !== null && !isClosed(state)
  const problem: Problem = new Problem('wrong_state', {
    detail: isErasing
      ? 'The erasure has begun and cannot be cancelled. `erased` counts the records that are already erased.'
      : `The request is ${state.replace('_', ' ')}, so it cannot be cancelled.`,
    extensions: { state, erased: {} },
    // Counted after the transaction, because the count needs its own connection.
    afterRollback: async () => Object.assign(problem.extensions, { erased: await erasedSoFar(deps, row.runId) }),
  })
  return problem
}

/** Makes the subject's tokens work again, except those of agents for which another erasure is waiting or running. */
export async function unsuspend(deps: PrivacyDeps, work: RequestWork, row: RequestRow): Promise<void> {
  const { tx, now } = work
  const subject: Subject = await requestSubjectOf(tx, row, deps.agents)
  await deps.agents.unsuspend(tx, subject, now)
  const owner = row.agentId === null ? null : await deps.agents.ownerOf(tx, row.agentId)
  const others = await tx.privacyRequest.findMany({
    where: {
      id: { not: row.id },
      AND: [{ OR: [{ state: 'waiting' }, { runId: { not: null }, closedAt: null }] }],
      OR: [{ agentId: { in: [...subject.agents] } }, ...(typeof owner === 'string' ? [{ accountId: owner }] : [])],
    },
    include: { parts: true },
  })
  for (const other of others) {
    if (wasFullyRetained(other)) continue
    const { agents } = await requestSubjectOf(tx, other, deps.agents)
    const shared = agents.filter((id) => subject.agents.includes(id))
    await deps.agents.suspend(tx, { account: null, agents: shared }, now)
  }
}

/**
 * Cancels a locked request. Of a concurrent cancellation and start, exactly one succeeds.
 * @throws Problem `wrong_state` once the work has begun
 */
export async function cancelRequestIn(deps: PrivacyDeps, work: RequestWork, given: RequestRow): Promise<RequestRow> {
  const from = StateName.parse(given.state)
  if (!isCancellable(from)) throw tooLate(deps, given)
  let row = given
  const isObjecting = row.parts.some(({ kind, state }) => kind === 'objection' && state === 'running')
  for (const part of given.parts)
    if (part.state === 'pending' || part.state === 'running')
      row = await setPart(work, row, KindName.parse(part.kind), 'cancelled')
  if (from === 'waiting') await unsuspend(deps, work, row)
  if (isObjecting) await unrestrictSubject(deps, work, row, 'objection')
  return change(work, row, { event: 'cancelled', to: 'cancelled' })
}
