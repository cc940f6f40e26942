import { fileRequest } from '#lib/domains/privacy-requests/contract.ts'
import { rectify } from '#lib/domains/privacy-requests/execution/execution.ts'
import {
  checkFiling,
  type FiledRequest,
  fileRequestIn,
  requestLink,
} from '#lib/domains/privacy-requests/filing/filing.ts'
import type { About, Filing } from '#lib/domains/privacy-requests/filing/joining.ts'
import { makeRequestLink } from '#lib/domains/privacy-requests/filing/links.ts'
import { type Proof, verifyRequestIn } from '#lib/domains/privacy-requests/filing/verification.ts'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import {
  isOwnOf,
  kindsOf,
  lockedRequest,
  type RequestRow,
  requestPartOf,
} from '#lib/domains/privacy-requests/requests.ts'
import { type RequestWork, workOf } from '#lib/domains/privacy-requests/timeline.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/plain-words.ts'
import type { Actor, MutationContext } from '#lib/kernel/context.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { missingScope, requirePassword, requireScopes } from './authorization.ts'
import { replyAfter } from './replies.ts'

type FilingBody = Input<typeof fileRequest>['body']

/** Rejects inconsistent input before any query. */
function requireConsistent(body: FilingBody, isToken: boolean): void {
  checkFiling(body, isToken || body.agent_id !== undefined)
  const isForMember = body.member !== undefined
  if (body.password !== undefined && body.confirm_in_person)
    throw invalid(['confirm_in_person'], 'cannot be combined with the password, which is the confirmation')
  if (body.password !== undefined && isForMember)
    throw invalid(['password'], 'is only for your own requests: the member receives a link')
  if (body.changes && (isForMember || isToken || body.agent_id !== undefined))
    throw invalid(['changes'], 'is only for your own account')
  if (body.changes && body.password === undefined) throw invalid(['password'], 'is required to change the account')
}

/**
 * Returns the subject of a new request: the actor, one of their agents, or a member. For an agent or member of
 * somebody else, the error is the same as for an unknown one.
 */
async function subjectOf({ people }: PrivacyDeps, { actor, tx }: MutationContext, body: FilingBody): Promise<About> {
  if (body.agent_id !== undefined && body.member !== undefined)
    throw invalid(['member'], 'cannot be combined with agent_id')
  if (body.member !== undefined) {
    if (actor.lacksSecondFactor)
      throw new Problem('second_factor_required', 'Add a second factor before you file requests for members.')
    const isMember = actor.accountId !== undefined && (await people.mayFileFor(tx, actor.accountId, body.member))
    if (!isMember)
      throw new Problem(
        'not_found',
        'There is no such member in an organization that you manage or a project that you own.',
      )
    return { account: body.member }
  }
  const agent = body.agent_id ?? (actor.kind === 'agent' ? actor.id : undefined)
  if (agent === undefined) {
    if (actor.accountId === undefined) throw new Problem('sign_in_needed')
    return { account: actor.accountId }
  }
  if (!actor.agents.includes(agent)) throw new Problem('not_found', 'No agent with this id exists, or it is not yours.')
  return { agent }
}

/** Returns how the call proves the identity of the requester; undefined when an email link has to prove it. */
function proofOf(body: FilingBody, actor: Actor): Proof | undefined {
  if (body.password !== undefined) return 'password'
  if (body.confirm_in_person) return undefined
  return actor.kind === 'agent' ? 'token' : undefined
}

function filingOf({ strict }: PrivacyDeps, { actor, now }: MutationContext, body: FilingBody, about: About): Filing {
  const { changes, statement } = body
  const plainText = (text: string, field: string) => plainTextPhrases(text, field, strict)
  return {
    about,
    kinds: body.kinds,
    channel: body.member !== undefined ? 'manager' : actor.kind === 'agent' ? 'api' : 'console',
    filedBy: actor.id,
    receivedAt: now,
    isProven: proofOf(body, actor) !== undefined,
    reaches: (kinds) => missingScope(actor, kinds) === undefined,
    grace: body.grace,
    redacts: body.redact,
    ...(statement !== undefined && { statement: plainText(statement, 'statement') }),
    ...(changes && {
      changes: {
        ...changes,
        ...(changes.name !== undefined && { name: plainText(changes.name, 'changes') }),
      },
    }),
  }
}

/**
 * Verifies the requests, erasures last, because an erasure may begin immediately and make the others moot. Returns
 * the current row of `filed`.
 */
async function verifyAll(
  deps: PrivacyDeps,
  { actor }: MutationContext,
  work: RequestWork,
  { requests, proof, filed }: { requests: readonly RequestRow[]; proof: Proof; filed: RequestRow },
): Promise<RequestRow> {
  let current = filed
  for (const { id } of requests.toSorted((one, other) => Number(!!one.grace) - Number(!!other.grace))) {
    const row = await lockedRequest(work.tx, id)
    if (row?.state !== 'received') continue
    requireScopes(actor, kindsOf(row))
    const verified = await verifyRequestIn(deps, work, row, proof)
    if (verified.id === filed.id) current = verified
  }
  return current
}

/** Verifies the filed requests with the proof of the call, or sends the link that does. Returns the current request. */
async function proveOrSendLink(
  deps: PrivacyDeps,
  ctx: MutationContext,
  work: RequestWork,
  filed: FiledRequest,
  body: FilingBody,
): Promise<RequestRow> {
  const { row, isNew, unconfirmed } = filed
  const proof = proofOf(body, ctx.actor)
  const requests = [...unconfirmed, ...(isNew ? [row] : [])]
  let current = row
  if (proof && requests.length > 0) current = await verifyAll(deps, ctx, work, { requests, proof, filed: row })
  // Nobody owns the agent of such a token: the request waits for an admin.
  else if (isNew && (row.contact !== null || !body.confirm_in_person)) await requestLink(work, row, 'verify')
  // A verification executes the verified requests. It does not execute additions to a request that was verified before.
  const isAddedTo = !isNew && !requests.some(({ id }) => id === current.id) && (body.statement ?? body.changes)
  if (proof && isAddedTo && requestPartOf(current, 'rectification')?.state === 'running')
    return rectify(deps, work, current)
  return current
}

function messageOf(ctx: MutationContext, { joined }: FiledRequest, row: RequestRow, body: FilingBody, text: string) {
  const confirmsMore =
    row.state === 'received' && isOwnOf(ctx, row) && kindsOf(row).some((kind) => !body.kinds.includes(kind))
  return [
    text,
    ...(joined.length > 0 ? ['The kinds that were already open joined the open request.'] : []),
    ...(confirmsMore ? [`Confirming it confirms all that it asks for: ${kindsOf(row).join(', ')}.`] : []),
  ].join(' ')
}

/** Files a request of the caller, of one of their agents, or of a member. */
export const fileOwnRequest = (deps: PrivacyDeps) =>
  mutation(fileRequest, async (ctx, { body }) => {
    const { actor, tx, now } = ctx
    const isToken = actor.kind === 'agent'
    requireScopes(actor, body.kinds)
    requireConsistent(body, isToken)
    const about = await subjectOf(deps, ctx, body)
    if (body.password !== undefined) await requirePassword(deps.people, ctx, body.password)
    const work = workOf(ctx, body.member !== undefined ? 'manager' : 'subject')
    const filed = await fileRequestIn(deps, work, filingOf(deps, ctx, body, about))
    const row = await proveOrSendLink(deps, ctx, work, filed, body)
    const { body: answer, ...reply } = await replyAfter(deps, ctx, work, row)
    // The tokens of the agent stop during the grace period, so it needs another way to cancel.
    const needsCancelToken = filed.isNew && isToken && row.state === 'waiting'
    return {
      ...reply,
      body: {
        data: { ...answer.data, cancel_token: needsCancelToken ? await makeRequestLink(tx, row, 'cancel', now) : null },
        message: messageOf(ctx, filed, row, body, answer.message),
        joined: filed.joined,
      },
      status: filed.isNew ? 201 : 200,
      headers: { Location: `/api/privacy/requests/${row.id}` },
    }
  })
