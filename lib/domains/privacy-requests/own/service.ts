import type { Prisma } from '#generated/prisma/client.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/sanitizer.ts'
import type { Actor, Context, MutationContext } from '#lib/kernel/context.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { guardOwnAct, mutation, read } from '#lib/kernel/use-case.ts'
import {
  cancelRequest,
  expediteRequest,
  fileRequest,
  listRequests,
  readRequest,
  retryOwnRequest,
  sendRequestLink,
  verifyRequest,
} from '../contract.ts'
import { notedReply } from '../deadlines-in-ledger.ts'
import { timelineTextFor } from '../emails/email-facts.ts'
import { cancelRequestIn, rectify } from '../execution/execution.ts'
import type { About, Filing } from '../filing/filing.ts'
import {
  checkFiling,
  type FiledRequest,
  fileRequestIn,
  type Proof,
  requestLink,
  verifyRequestIn,
} from '../filing/filing.ts'
import { makeRequestLink } from '../filing/links.ts'
import type { People, PrivacyDeps } from '../ports.ts'
import { expediteRequestIn, requestForRetry, retry } from '../queue/decisions.ts'
import { lockSubject } from '../repository.ts'
import {
  filedFor,
  isOwnOf,
  kindsOf,
  lockedRequest,
  noRequest,
  notifyParties,
  ownedBy,
  type RequestRow,
  type RequestWork,
  requestPartOf,
  waitsForAddress,
  withParts,
  workOf,
} from '../requests.ts'
import { type RequestKind, scopeFor } from '../rules.ts'
import {
  eventView,
  filerView,
  pauseReasons,
  requestsCountedTo,
  requestView,
  runView,
  statementOf,
  storyOf,
} from '../views.ts'

/** Locks a request about the caller or one of their agents. */
async function lockedOwn(ctx: MutationContext, id: string): Promise<RequestRow> {
  const row = await lockedRequest(ctx.tx, id, ownedBy(ctx))
  if (!row) throw noRequest()
  return row
}

/** Filter: the requests that an application filed for participants, also after they were erased. */
const filedByApplication = ({ actor }: Pick<Context, 'actor'>): Prisma.PrivacyRequestWhereInput[] =>
  actor.kind === 'agent' && actor.scopes.includes('privacy')
    ? [{ subjectKind: 'participant', channel: 'api', filedBy: actor.id }]
    : []

/** Returns the view of a request for the caller. A manager who filed it for a member sees less than the member. */
function viewForCaller(ctx: Context, row: RequestRow, reasons: ReadonlyMap<string, string>) {
  const view = requestView(row, ctx.now, reasons)
  const isByApplication = row.channel === 'api' && row.subjectKind === 'participant' && row.filedBy === ctx.actor.id
  return isOwnOf(ctx, row) || isByApplication ? view : filerView(view)
}

/** Notifies the parties of the changes, and returns the reply with the changed request. */
async function replyAfter(deps: PrivacyDeps, ctx: MutationContext, work: RequestWork, row: RequestRow) {
  await notifyParties(work)
  return {
    body: {
      data: viewForCaller(ctx, row, await pauseReasons(ctx.tx, [row])),
      message: timelineTextFor(deps, row),
    },
    resourceId: row.id,
    // Without changes, the pipeline's default audit entry records the call.
    ...(work.entries.length > 0 && { entries: work.entries }),
  }
}

const list = ({ db, people }: Pick<PrivacyDeps, 'db' | 'people'>) =>
  read(listRequests, async (ctx, { query: { open, cursor, limit } }) => {
    const after = parseCursor(cursor)
    const where: Prisma.PrivacyRequestWhereInput = {
      AND: [
        ownedBy(ctx, await filedFor(people, db.prisma, ctx)),
        open === undefined ? {} : { closedAt: open ? null : { not: null } },
      ],
    }
    const [found, total] = await Promise.all([
      db.prisma.privacyRequest.findMany({
        where: {
          AND: [
            where,
            after ? { OR: [{ receivedAt: { lt: after.at } }, { receivedAt: after.at, id: { lt: after.id } }] } : {},
          ],
        },
        orderBy: [{ receivedAt: 'desc' }, { id: 'desc' }],
        take: limit + 1,
        include: withParts,
      }),
      db.prisma.privacyRequest.count({ where, take: requestsCountedTo }),
    ])
    const { shown, page } = pageOf(found, limit, total, ({ receivedAt, id }) => ({ at: receivedAt, id }))
    const reasons = await pauseReasons(db.prisma, shown)
    return {
      body: { data: shown.map((row) => viewForCaller(ctx, row, reasons)), ...page },
      resourceId: 'list',
      details: { count: shown.length },
    }
  })

const readOne = (deps: Pick<PrivacyDeps, 'db' | 'people' | 'erasures'>) =>
  read(readRequest, async (ctx, { params: { id } }) => {
    const { db, people } = deps
    const row = await db.prisma.privacyRequest.findFirst({
      where: { id, OR: [ownedBy(ctx, await filedFor(people, db.prisma, ctx, id)), ...filedByApplication(ctx)] },
      include: withParts,
    })
    if (!row) throw noRequest()
    const { events, run } = await storyOf(deps, row)
    // A manager who filed the request for a member sees its state, but no texts and no result.
    const isOwn = isOwnOf(ctx, row)
    // A token with only the scope `write` follows the request without reading texts.
    const seesTexts = isOwn && ctx.actor.can('privacy:read')
    return {
      body: {
        data: {
          ...viewForCaller(ctx, row, await pauseReasons(db.prisma, [row])),
          statement: seesTexts ? statementOf(row) : null,
          timeline: events
            .filter(({ isInternal }) => !isInternal)
            .map((event) =>
              eventView(
                isOwn ? { ...event, ...(!seesTexts && { note: null }) } : { ...event, note: null, details: {} },
              ),
            ),
          erasure: run && isOwn ? runView(run) : null,
        },
      },
      resourceId: id,
    }
  })

/** Returns a scope that the kinds require and that the token does not have. */
const missingScope = ({ kind, scopes }: Actor, kinds: readonly RequestKind[]): string | undefined =>
  kind !== 'agent' || scopes.includes('admin')
    ? undefined
    : kinds.map(scopeFor).find((scope) => !scopes.includes(scope))

/** Rejects a token whose scopes do not allow the kinds. */
function requireScopes(actor: Actor, kinds: readonly RequestKind[]): void {
  const missing = missingScope(actor, kinds)
  if (missing) throw new Problem('scope_too_small', `This operation requires the scope "${missing}".`)
}

/** Rejects a read-only token: cancelling a request and sending emails need a write scope. */
function requireWriteScope({ kind, scopes }: Actor): void {
  if (kind === 'agent' && !scopes.some((scope) => scope === 'write' || scope === 'admin'))
    throw new Problem('scope_too_small', 'This operation requires the scope "write".')
}

/** @throws Problem `invalid` at `password` for a wrong password and for a token; `step_up_required` */
async function requireOwnProof(
  people: Pick<People, 'requireOwnProof'>,
  ctx: MutationContext,
  password: string,
): Promise<void> {
  const { accountId } = ctx.actor
  if (accountId === undefined) throw invalid(['password'], 'is only for people: a token already identifies its agent')
  await people.requireOwnProof(ctx, accountId, password)
}

const verify = (deps: PrivacyDeps) =>
  mutation(verifyRequest, async (ctx, { params: { id }, body: { password } }) => {
    await requireOwnProof(deps.people, ctx, password)
    const row = await lockedOwn(ctx, id)
    const work = workOf(ctx, 'subject')
    return replyAfter(deps, ctx, work, await verifyRequestIn(deps, work, row, 'password'))
  })

const retryOwn = (deps: PrivacyDeps) =>
  mutation(retryOwnRequest, async (ctx, { params: { id } }) => {
    if ((await ctx.tx.privacyRequest.count({ where: { AND: [{ id }, ownedBy(ctx)] } })) === 0) throw noRequest()
    requireWriteScope(ctx.actor)
    const row = await requestForRetry(deps, ctx.tx, id)
    if (!row) throw noRequest()
    const work = workOf(ctx, 'subject')
    return replyAfter(deps, ctx, work, await retry(deps, work, row))
  })

const sendLink = (deps: PrivacyDeps) =>
  mutation(sendRequestLink, async (ctx, { params: { id } }) => {
    const { tx } = ctx
    const found = await tx.privacyRequest.findFirst({
      where: { AND: [{ id }, ownedBy(ctx, await filedFor(deps.people, tx, ctx, id))] },
    })
    if (!found) throw noRequest()
    requireWriteScope(ctx.actor)
    // The lock of the subject serializes the emails to it, across requests, so that their limit is exact.
    await lockSubject(tx, { subjectKey: found.subjectKey })
    const row = await lockedRequest(tx, id)
    if (!row) throw noRequest()
    const work = workOf(ctx, found.filedBy === ctx.actor.id && found.channel === 'manager' ? 'manager' : 'subject')
    if (row.state !== 'received' && !waitsForAddress(row))
      throw new Problem('wrong_state', 'This request does not wait for a confirmation by link. No email was sent.')
    await requestLink(work, row, row.state === 'received' ? 'verify' : 'address')
    return replyAfter(deps, ctx, work, row)
  })

const cancel = (deps: PrivacyDeps) =>
  mutation(cancelRequest, async (ctx, { params: { id } }) => {
    const row = await lockedOwn(ctx, id)
    requireWriteScope(ctx.actor)
    const work = workOf(ctx, 'subject')
    return replyAfter(deps, ctx, work, await cancelRequestIn(deps, work, row))
  })

const expedite = (deps: PrivacyDeps) =>
  mutation(expediteRequest, async (ctx, { params: { id }, body: { password } }) => {
    await requireOwnProof(deps.people, ctx, password)
    const row = await lockedOwn(ctx, id)
    const work = workOf(ctx, 'subject')
    return replyAfter(deps, ctx, work, await expediteRequestIn(deps, work, row, { dropCopies: true }))
  })

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
  // Who holds such a token may have used a session that the owner ended since.
  return actor.kind === 'agent' && !actor.needsOwner ? 'token' : undefined
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
const fileOwnRequest = (deps: PrivacyDeps) =>
  mutation(fileRequest, async (ctx, { body }) => {
    const { actor, tx, now } = ctx
    const isToken = actor.kind === 'agent'
    requireScopes(actor, body.kinds)
    requireConsistent(body, isToken)
    const about = await subjectOf(deps, ctx, body)
    if (body.password !== undefined) await requireOwnProof(deps.people, ctx, body.password)
    // Nothing is proven: a link to the address of the subject confirms the request, or the token that identifies its agent.
    else guardOwnAct(ctx, false)
    const work = workOf(ctx, body.member !== undefined ? 'manager' : 'subject')
    const filed = await fileRequestIn(deps, work, filingOf(deps, ctx, body, about))
    const row = await proveOrSendLink(deps, ctx, work, filed, body)
    const { body: answer, ...reply } = await replyAfter(deps, ctx, work, row)
    // The tokens of the agent stop during the grace period, so it needs another way to cancel.
    const needsCancelToken = filed.isNew && isToken && row.state === 'waiting'
    const replied = {
      ...reply,
      body: {
        data: { ...answer.data, cancel_token: needsCancelToken ? await makeRequestLink(tx, row, 'cancel', now) : null },
        message: messageOf(ctx, filed, row, body, answer.message),
        joined: filed.joined,
      },
      status: filed.isNew ? 201 : 200,
      headers: { Location: `/api/privacy/requests/${row.id}` },
    }
    return notedReply(deps, filed, replied, now)
  })

/** Use cases for the subject's own requests. Each change commits together with its timeline entry, audit entry and email job. */
export const ownRequests = (deps: PrivacyDeps) => ({
  file: fileOwnRequest(deps),
  list: list(deps),
  read: readOne(deps),
  verify: verify(deps),
  retryOwn: retryOwn(deps),
  sendLink: sendLink(deps),
  cancel: cancel(deps),
  expedite: expedite(deps),
})
