import { timelineTextFor } from '#lib/domains/privacy-requests/emails/status-texts.ts'
import { cancelRequestIn } from '#lib/domains/privacy-requests/execution/cancellation.ts'
import { fileRequestIn, requestLink } from '#lib/domains/privacy-requests/filing/filing.ts'
import type { About } from '#lib/domains/privacy-requests/filing/joining.ts'
import { verifyRequestIn } from '#lib/domains/privacy-requests/filing/verification.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/plain-words.ts'
import type { Context, MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { requireRecentPassword } from '#lib/kernel/step-up.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { cancelForParticipant, fileForParticipant, listForParticipant } from './participant-contract.ts'
import type { ParticipantContact, PrivacyDeps } from './ports.ts'
import { pauseReasons } from './reading.ts'
import { lockedRequest, noRequest, type RequestRow, withParts } from './requests.ts'
import { notifyParties, type RequestWork, workOf } from './timeline.ts'
import { filerView, requestView } from './views.ts'

const subjectOf = ({ id, accountId }: ParticipantContact): About =>
  accountId === null ? { participant: id } : { account: accountId }

async function viewForController(ctx: Context, tx: Transaction, row: RequestRow) {
  const view = requestView(row, ctx.now, await pauseReasons(tx, [row]))
  // Only the person sees the result of a request about their account.
  return row.participantId === null ? filerView(view) : view
}

/** Notifies the parties of the changes, and returns the reply with the changed request. */
async function replyAfter(deps: PrivacyDeps, ctx: MutationContext, work: RequestWork, row: RequestRow) {
  await notifyParties(work)
  return {
    body: { data: await viewForController(ctx, ctx.tx, row), message: timelineTextFor(deps, row) },
    resourceId: row.id,
    ...(work.entries.length > 0 && { entries: work.entries }),
  }
}

type FilingBody = Input<typeof fileForParticipant>['body']

function requireConsistent({ kinds, grace, statement, changes }: FilingBody): void {
  if (grace !== undefined && !kinds.includes('erasure')) throw invalid(['grace'], 'is only for an erasure')
  if (changes && !kinds.includes('rectification')) throw invalid(['changes'], 'is only for a rectification')
  if (kinds.includes('rectification') && statement === undefined && !changes)
    throw invalid(['statement'], 'is required for a rectification without `changes`')
}
function requireAllowedFor(isUnclaimed: boolean, { kinds, changes }: FilingBody): void {
  if (changes && !isUnclaimed)
    throw invalid(
      ['changes'],
      'is only for an unclaimed participation: the person who claimed it corrects their account',
    )
  if (isUnclaimed && kinds.includes('erasure') && (kinds.includes('access') || kinds.includes('portability')))
    throw invalid(['kinds'], 'cannot combine a copy with an erasure: request the copy first, and download the export')
}

const file = (deps: PrivacyDeps) =>
  mutation(fileForParticipant, async (ctx, { params, body }) => {
    const { kinds, grace, statement, changes } = body
    requireConsistent(body)
    const found = await deps.participants.find(ctx, params)
    // Filing confirms the identity, so it needs what an admin's confirmation needs.
    if (found.actsAs === 'admin') {
      requireRecentPassword(ctx)
      if (kinds.includes('erasure') && found.accountId === null)
        await deps.requireApproval(ctx, { operation: fileForParticipant, input: { params, body } })
    }
    const about = subjectOf(found)
    const isUnclaimed = 'participant' in about
    requireAllowedFor(isUnclaimed, body)
    await deps.participants.refuseTakeover(ctx, params, changes ?? {})
    const party = found.actsAs === 'admin' ? 'admin' : 'manager'
    const work = workOf(ctx, party)
    const filed = await fileRequestIn(deps, work, {
      about,
      kinds,
      channel: found.actsAs === 'admin' ? 'mail' : 'manager',
      filedBy: ctx.actor.id,
      receivedAt: ctx.now,
      isProven: isUnclaimed,
      grace,
      ...(changes && { changes }),
      ...(statement !== undefined && { statement: plainTextPhrases(statement, 'statement', deps.strict) }),
    })
    let { row } = filed
    if (isUnclaimed && row.state === 'received') row = await verifyRequestIn(deps, work, row, party)
    else if (!isUnclaimed && filed.isNew && row.contact !== null) await requestLink(work, row, 'verify')
    const reply = await replyAfter(deps, ctx, work, row)
    return { ...reply, body: { ...reply.body, joined: filed.joined }, status: filed.isNew ? 201 : 200 }
  })

const list = ({ db, participants }: Pick<PrivacyDeps, 'db' | 'participants'>) =>
  read(listForParticipant, async (ctx, { params }) => {
    const { id, accountId } = await participants.find(ctx, params)
    const rows = await db.prisma.privacyRequest.findMany({
      where: {
        OR: [{ participantId: id }, ...(accountId === null ? [] : [{ accountId, filedBy: ctx.actor.id }])],
      },
      orderBy: [{ receivedAt: 'desc' }, { id: 'desc' }],
      take: 100,
      include: withParts,
    })
    return {
      body: { data: await Promise.all(rows.map((row) => viewForController(ctx, db.prisma, row))) },
      resourceId: id,
      details: { count: rows.length },
    }
  })

const cancel = (deps: PrivacyDeps) =>
  mutation(cancelForParticipant, async (ctx, { params }) => {
    const { id: participantId, actsAs } = await deps.participants.find(ctx, params)
    const row = await lockedRequest(ctx.tx, params.id, { participantId })
    if (!row) throw noRequest()
    if (row.filedBy !== ctx.actor.id)
      throw new Problem(
        'forbidden',
        'Somebody else filed this request, so you cannot cancel it. An admin can refuse it with the reason and the remedies. Nothing was changed.',
      )
    const work = workOf(ctx, actsAs === 'admin' ? 'admin' : 'manager')
    return replyAfter(deps, ctx, work, await cancelRequestIn(deps, work, row))
  })

/** Use cases for requests that the controller of a project files for its participants, who may have no account. */
export const participantRequests = (deps: PrivacyDeps) => ({
  fileForParticipant: file(deps),
  listForParticipant: list(deps),
  cancelForParticipant: cancel(deps),
})
