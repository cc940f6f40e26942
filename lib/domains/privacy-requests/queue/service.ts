import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { agentNames } from '#lib/domains/agents/queries.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/sanitizer.ts'
import { type Approvable, approvable } from '#lib/kernel/approval.ts'
import type { Context, MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { Input, OperationShape } from '#lib/kernel/operation.ts'
import { pageOf, parseCursor, type TimeCursor } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { batched, mutation, read, requireRecentPassword } from '#lib/kernel/use-case.ts'
import { fileForParticipant } from '../contract.ts'
import { notedReply } from '../deadlines-in-ledger.ts'
import { timelineTextFor } from '../emails/email-facts.ts'
import type { RequestCause } from '../erasures/contract.ts'
import type { About } from '../filing/filing.ts'
import { checkFiling, fileRequestIn, requestLink, verifyRequestIn } from '../filing/filing.ts'
import type { PrivacyDeps, RequestContact } from '../ports.ts'
import { countQueue, listQueue, type QueueCondition } from '../repository.ts'
import {
  addressHashes,
  kindsOf,
  lockedRequest,
  noRequest,
  note,
  notifyParties,
  type RequestRow,
  type RequestWork,
  requestSubjectOf,
  StateName,
  settle,
  withParts,
  workOf,
} from '../requests.ts'
import { isClosed, maxReceivedAge } from '../rules.ts'
import {
  adminView,
  besideOf,
  eventView,
  pauseReasons,
  requesterOf,
  requestsCountedTo,
  runView,
  statementOf,
  storyOf,
} from '../views.ts'
import {
  assignRequest,
  bulkRequests,
  commentRequest,
  completePart,
  expediteByAdmin,
  extendRequest,
  fileForSubject,
  listAllRequests,
  listMinders,
  pauseRequest,
  readAnyRequest,
  refuseRequest,
  resumeRequest,
  retryRequest,
  verifyByAdmin,
} from './contract.ts'
import {
  assign,
  comment,
  complete,
  expediteRequestIn,
  extend,
  pause,
  refuse,
  requestForRetry,
  resume,
  retry,
} from './decisions.ts'
import { causesOfRequest } from './request-causes.ts'

type Act = (work: RequestWork, row: RequestRow) => Promise<RequestRow>
type Lock = (tx: MutationContext['tx'], id: string) => Promise<RequestRow | undefined>

export const noSuchRequest = () => new Problem('not_found', 'There is no such request.')

/**
 * Notifies the parties of the changes, and returns the reply with the changed request. The response to a POST is stored
 * for idempotent repetition, longer than an erasure may take, so it contains no names.
 */
export async function replyToAdmin(deps: PrivacyDeps, ctx: MutationContext, work: RequestWork, row: RequestRow) {
  await notifyParties(work)
  const reasons = await pauseReasons(ctx.tx, [row])
  return {
    body: {
      data: adminView(row, ctx.now, { reasons, people: new Map(), agents: new Map(), requesters: new Map() }),
      message: timelineTextFor(deps, row),
    },
    resourceId: row.id,
    ...(work.entries.length > 0 && { entries: work.entries }),
  }
}

/** Executes one action of an admin on a locked request. */
async function acting(deps: PrivacyDeps, ctx: MutationContext, id: string, act: Act, lock: Lock = lockedRequest) {
  const row = await lock(ctx.tx, id)
  if (!row) throw noSuchRequest()
  const work = workOf(ctx, 'admin')
  return replyToAdmin(deps, ctx, work, await act(work, row))
}

/** Use cases with which admins decide about one request. */
function decisions(deps: PrivacyDeps) {
  const words = (text: string, field: string) => plainTextPhrases(text, field, deps.strict)
  return {
    assign: mutation(assignRequest, (ctx, { params: { id }, body }) =>
      acting(deps, ctx, id, (work, row) => assign(deps, work, row, body.account_id)),
    ),
    verifyByAdmin: mutation(verifyByAdmin, (ctx, { params, body }) =>
      acting(deps, ctx, params.id, async (work, row) => {
        if (kindsOf(row).includes('erasure') && row.state === 'received')
          await deps.requireApproval(ctx, { operation: verifyByAdmin, input: { params, body } })
        await note(work, row, { event: 'evidence', note: words(body.note, 'note'), isInternal: true })
        return verifyRequestIn(deps, work, row, 'admin')
      }),
    ),
    refuse: mutation(refuseRequest, (ctx, { params: { id }, body }) =>
      acting(deps, ctx, id, (work, row) =>
        refuse(deps, work, row, { ground: body.ground, reason: words(body.reason, 'reason') }),
      ),
    ),
    extend: mutation(extendRequest, (ctx, { params: { id }, body }) =>
      acting(deps, ctx, id, (work, row) => extend(work, row, body.days, words(body.reason, 'reason'))),
    ),
    pause: mutation(pauseRequest, (ctx, { params: { id }, body }) =>
      acting(deps, ctx, id, (work, row) => pause(work, row, words(body.reason, 'reason'))),
    ),
    resume: mutation(resumeRequest, (ctx, { params: { id } }) =>
      acting(deps, ctx, id, (work, row) => resume(deps, work, row)),
    ),
    expediteByAdmin: mutation(expediteByAdmin, (ctx, { params: { id }, body }) =>
      acting(deps, ctx, id, (work, row) =>
        expediteRequestIn(deps, work, row, { reason: words(body.reason, 'reason'), dropCopies: body.drop_copies }),
      ),
    ),
    retry: mutation(retryRequest, (ctx, { params: { id }, body }) =>
      acting(
        deps,
        ctx,
        id,
        (work, row) => retry(deps, work, row, body.holder),
        (tx, id) => requestForRetry(deps, tx, id),
      ),
    ),
    complete: mutation(completePart, (ctx, { params: { id }, body }) =>
      acting(deps, ctx, id, (work, row) => complete(work, row, body.kind, words(body.note, 'note'))),
    ),
    comment: mutation(commentRequest, (ctx, { params: { id }, body }) =>
      acting(deps, ctx, id, (work, row) => comment(work, row, words(body.note, 'note'))),
    ),
  }
}

/** @throws Problem `not_found` for an unknown agent, account or address */
async function subjectOf(
  { agents, people }: Pick<PrivacyDeps, 'agents' | 'people'>,
  { tx }: MutationContext,
  body: Input<typeof fileForSubject>['body'],
): Promise<About> {
  if (body.agent_id !== undefined) {
    if ((await agents.ownerOf(tx, body.agent_id)) === undefined)
      throw new Problem('not_found', 'There is no such agent.')
    return { agent: body.agent_id }
  }
  const found =
    body.email !== undefined
      ? await people.byEmail(tx, body.email)
      : body.account_id !== undefined
        ? await people.byId(tx, body.account_id)
        : undefined
  if (!found) throw new Problem('not_found', 'No account has this id or address.')
  return { account: found.accountId }
}

/** Files a request that a person or the owner of an agent sent to the controller, for example by mail. */
const fileForRequester = (deps: PrivacyDeps) =>
  mutation(fileForSubject, async (ctx, { body }) => {
    checkFiling(body, body.agent_id !== undefined)
    if (body.received_at > ctx.now) throw invalid(['received_at'], 'is in the future')
    if (ctx.now.getTime() - body.received_at.getTime() > maxReceivedAge)
      throw invalid(['received_at'], 'is more than 60 days ago')
    const work = workOf(ctx, 'admin')
    const filed = await fileRequestIn(deps, work, {
      about: await subjectOf(deps, ctx, body),
      kinds: body.kinds,
      channel: 'mail',
      filedBy: ctx.actor.id,
      receivedAt: body.received_at,
      isProven: false,
      grace: body.grace,
      redacts: body.redact,
      ...(body.statement !== undefined && { statement: plainTextPhrases(body.statement, 'statement', deps.strict) }),
    })
    if (filed.isNew && filed.row.contact !== null) await requestLink(work, filed.row, 'verify')
    const reply = await replyToAdmin(deps, ctx, work, filed.row)
    const replied = {
      ...reply,
      body: { ...reply.body, joined: filed.joined },
      status: filed.isNew ? 201 : 200,
      headers: { Location: `/api/admin/privacy/requests/${filed.row.id}` },
    }
    return notedReply(deps, filed, replied, ctx.now)
  })

/** People whose requests a text finds. */
const maxMatching = 200

type Filters = Input<typeof listAllRequests>['query']
/** Returns one page of the queue and one more row, and the number of matching requests. */
async function matching(
  { db, people, subjectKey }: Pick<PrivacyDeps, 'db' | 'people' | 'subjectKey'>,
  query: Filters,
  after: TimeCursor | undefined,
  now: Date,
) {
  const { state, kind, channel, assignee, q, hold, open, due, sort, limit } = query
  const conditions = [
    ...conditionsOf({ state, kind, channel, q, hold }),
    ...(assignee === undefined ? [] : [assignee === 'none' ? ('unassigned' as const) : ('assignee' as const)]),
    ...(open === undefined ? [] : [open ? ('open' as const) : ('closed' as const)]),
    ...(due === undefined ? [] : [due]),
  ]
  const accounts =
    q === undefined ? null : (await people.matching(db.prisma, q, maxMatching)).map((one) => one.accountId)
  const values = {
    state: state ?? null,
    kind: kind ?? null,
    channel: channel ?? null,
    assignee: assignee ?? null,
    q: q ?? null,
    accounts,
    hold: hold ?? null,
    now,
    addresses: q === undefined ? [] : addressHashes(subjectKey(), q),
  }
  const [counted] = await countQueue(db, { ...values, max: requestsCountedTo }, conditions)
  const found = await listQueue(
    db,
    { ...values, at: after?.at ?? null, id: after?.id ?? null, limit: limit + 1 },
    { conditions, isByDue: sort === 'due' },
  )
  return { found, total: counted?.n ?? 0 }
}
/** The names of the given filters. */
const conditionsOf = <N extends QueueCondition>(given: Readonly<Record<N, unknown>>): N[] =>
  (Object.keys(given) as N[]).filter((name) => given[name] !== undefined)

/** Returns the subject's stored address, with which an admin compares the sender of a mailed request, and their language. */
async function contactOf(
  { db, agents, people, contactKey }: Pick<PrivacyDeps, 'db' | 'agents' | 'people' | 'contactKey'>,
  row: RequestRow,
): Promise<RequestContact | undefined> {
  const { accountId, agentId } = row
  const requester = requesterOf(contactKey(), row)
  if (requester) return requester
  const owner = agentId === null ? accountId : await agents.ownerOf(db.prisma, agentId)
  return owner ? people.contactOf(db.prisma, owner) : undefined
}

/** Finds the admin or manager behind an event. Both are written with the same time, in one transaction. */
async function namedActors(
  { db, people, actorsOf }: Pick<PrivacyDeps, 'db' | 'people' | 'actorsOf'>,
  row: RequestRow,
  now: Date,
) {
  const actors = await actorsOf(db, row.id, now)
  const accountOf = (actor: string | null) => (actor?.startsWith('user:') ? actor.slice('user:'.length) : undefined)
  const accounts = [row.filedBy, ...actors.map(({ actor }) => actor)].flatMap((actor) => accountOf(actor) ?? [])
  const names = await people.namesOf(db.prisma, [...new Set(accounts)])
  const nameOf = (actor: string | null): string | null => names.get(accountOf(actor) ?? '') ?? null
  return {
    filedBy: nameOf(row.filedBy),
    of: ({ at, event, by }: { at: Date; event: string; by: string }): string | null =>
      by === 'admin' || by === 'manager'
        ? nameOf(actors.find((one) => one.event === event && one.at.getTime() === at.getTime())?.actor ?? null)
        : null,
  }
}

/** Lists all requests, filtered and sorted as the admin asked for. */
const listRequestsOfAll = (
  deps: Pick<PrivacyDeps, 'db' | 'people' | 'agents' | 'erasures' | 'contactKey' | 'subjectKey'>,
) =>
  read(listAllRequests, async (ctx, { query }) => {
    const { found, total } = await matching(deps, query, parseCursor(query.cursor), ctx.now)
    const { shown: places, page } = pageOf(found, query.limit, total, (place) => place)
    const rows = await deps.db.prisma.privacyRequest.findMany({
      where: { id: { in: places.map(({ id }) => id) } },
      include: withParts,
    })
    const byId = new Map(rows.map((row) => [row.id, row]))
    const shown = places.flatMap(({ id }) => byId.get(id) ?? [])
    const beside = await besideOf(deps, deps.db.prisma, shown)
    const causes = new Map<string, RequestCause[]>()
    if (query.due === 'overdue' || query.due === 'late')
      for (const row of shown) causes.set(row.id, causesOfRequest(row, await storyOf(deps, row), ctx.now))
    const listed = (row: RequestRow) => ({ ...adminView(row, ctx.now, beside), causes: causes.get(row.id) ?? null })
    return {
      body: { data: shown.map(listed), ...page },
      resourceId: 'list',
      details: { count: shown.length },
    }
  })

/** Lists the admins to whom requests can be assigned. */
const listAssignees = ({ db, people }: Pick<PrivacyDeps, 'db' | 'people'>) =>
  read(listMinders, async () => {
    const minders = await people.adminContacts(db.prisma)
    return {
      body: { data: minders.map(({ accountId, name }) => ({ account_id: accountId, name })) },
      resourceId: 'list',
      details: { count: minders.length },
    }
  })

/** Reads one request with its timeline, its erasure, and the legal holds on its subject. */
const readRequestAsAdmin = (
  deps: Pick<PrivacyDeps, 'db' | 'people' | 'agents' | 'erasures' | 'holdsOn' | 'actorsOf' | 'contactKey'>,
) =>
  read(readAnyRequest, async (ctx, { params: { id } }) => {
    const row = await deps.db.prisma.privacyRequest.findUnique({ where: { id }, include: withParts })
    if (!row) throw noSuchRequest()
    const { events, run } = await storyOf(deps, row)
    const subject = await requestSubjectOf(deps.db.prisma, row, deps.agents)
    const keeping = run?.steps.flatMap(({ held }) => held.map(({ hold }) => hold)) ?? []
    const [contact, named] = await Promise.all([contactOf(deps, row), namedActors(deps, row, ctx.now)])
    const holds = isClosed(StateName.parse(row.state)) ? [] : await deps.holdsOn(deps.db.prisma, subject, ctx.now)
    return {
      body: {
        data: {
          ...adminView(row, ctx.now, await besideOf(deps, deps.db.prisma, [row])),
          subject_email: contact?.email ?? null,
          subject_locale: contact?.locale ?? null,
          filed_by_name: named.filedBy,
          statement: statementOf(row),
          holds: [...new Set([...holds, ...keeping])],
          timeline: events.map((event) => ({
            ...eventView(event),
            internal: event.isInternal,
            by_name: named.of(event),
          })),
          erasure: run ? runView(run) : null,
        },
      },
      resourceId: id,
    }
  })

/** Use cases of admins for privacy requests. */
export const requestQueue = (deps: PrivacyDeps) => ({
  listAll: listRequestsOfAll(deps),
  listMinders: listAssignees(deps),
  readAny: readRequestAsAdmin(deps),
  fileFor: fileForRequester(deps),
  ...decisions(deps),
})

/** The operations that do the same to one request. An action for many needs a recently entered password if its operation does. */
const ofOne: Record<Input<typeof bulkRequests>['body']['action'], OperationShape> = {
  assign: assignRequest,
  expedite: expediteByAdmin,
  comment: commentRequest,
  retry: retryRequest,
  pause: pauseRequest,
  resume: resumeRequest,
}

/** Executes the same action for many requests, each in its own transaction with its timeline entry and audit entry. */
export function bulk(deps: PrivacyDeps) {
  const words = (text: string, field: string) => plainTextPhrases(text, field, deps.strict)

  function act(work: RequestWork, row: RequestRow, body: Input<typeof bulkRequests>['body']): Promise<RequestRow> {
    switch (body.action) {
      case 'assign':
        return assign(deps, work, row, body.account_id)
      case 'expedite':
        return expediteRequestIn(deps, work, row, {
          reason: words(body.reason, 'reason'),
          dropCopies: body.drop_copies,
        })
      case 'comment':
        return comment(work, row, words(body.note, 'note'))
      case 'retry':
        return retry(deps, work, row)
      case 'pause':
        return pause(work, row, words(body.reason, 'reason'))
      case 'resume':
        return resume(deps, work, row)
    }
  }
  const one = (ctx: Context, id: string, body: Input<typeof bulkRequests>['body']): Promise<RequestRow> =>
    ctx.pipeline.transaction(async (tx) => {
      const row = body.action === 'retry' ? await requestForRetry(deps, tx, id) : await lockedRequest(tx, id)
      if (!row) throw noRequest()
      const work = workOf({ ...ctx, tx }, 'admin')
      const next = await act(work, row, body)
      await settle(deps, work, ctx.ip)
      return next
    })

  return {
    bulk: batched(bulkRequests, async (ctx, { body }) => {
      if (ofOne[body.action].needsRecentPassword) requireRecentPassword(ctx)
      const data = []
      for (const id of body.ids) {
        try {
          const row = await one(ctx, id, body)
          data.push({ id, ok: true, state: StateName.parse(row.state), code: null, detail: null })
        } catch (error) {
          if (!Problem.is(error)) throw error
          // The change is rolled back, so the request still has this state.
          const row = await deps.db.prisma.privacyRequest.findUnique({ where: { id }, select: { state: true } })
          data.push({
            id,
            ok: false,
            state: row && StateName.parse(row.state),
            code: error.code,
            detail: error.detail ?? null,
          })
        }
      }
      return { body: { data }, resourceId: 'bulk' }
    }),
  }
}

type ProjectOfParticipant = (tx: Transaction, participantId: string) => Promise<string | undefined>

/** Actions with which an admin identifies the subject of an erasure. */
export const requestApprovables = (projectOf: ProjectOfParticipant): readonly Approvable[] => [
  approvable(verifyByAdmin, async (tx, { params: { id } }) => {
    const row = await tx.privacyRequest.findUnique({ where: { id } })
    if (!row) throw new Problem('not_found', 'There is no such request.')
    const { accountId, agentId, participantId, kinds, grace, state } = row
    const subject = accountId ?? agentId ?? participantId
    const people = await accountDirectory.namesOf(tx, accountId ? [accountId] : [])
    const agents = await agentNames(tx, agentId ? [agentId] : [])
    return {
      subjects: [accountId ?? [], agentId ?? []].flat(),
      facts: {
        request: id,
        kinds: kinds.join(', '),
        grace,
        state,
        target: subject,
        name: people.get(subject ?? '') ?? agents.get(subject ?? '') ?? null,
      },
    }
  }),
  approvable(fileForParticipant, async (tx, { params: { projectId, participantId }, body: { kinds, grace } }) => {
    if ((await projectOf(tx, participantId)) !== projectId)
      throw new Problem('not_found', 'There is no such participant.')
    return { facts: { kinds: kinds.join(', '), grace: grace ?? '24h', target: participantId, project: projectId } }
  }),
]
