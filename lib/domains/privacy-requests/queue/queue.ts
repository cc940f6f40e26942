import { timelineTextFor } from '#lib/domains/privacy-requests/emails/status-texts.ts'
import { checkFiling, fileRequestIn, requestLink } from '#lib/domains/privacy-requests/filing/filing.ts'
import type { About } from '#lib/domains/privacy-requests/filing/joining.ts'
import { verifyRequestIn } from '#lib/domains/privacy-requests/filing/verification.ts'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { besideOf, pauseReasons, requestsCountedTo, storyOf } from '#lib/domains/privacy-requests/reading.ts'
import {
  lockedRequest,
  type RequestRow,
  requestSubjectOf,
  StateName,
  withParts,
} from '#lib/domains/privacy-requests/requests.ts'
import { isClosed, receivedAtMost } from '#lib/domains/privacy-requests/rules.ts'
import { note, notifyParties, type RequestWork, workOf } from '#lib/domains/privacy-requests/timeline.ts'
import { adminView, eventView, runView, statementOf } from '#lib/domains/privacy-requests/views.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/plain-words.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { pageOf, parseCursor, type TimeCursor } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import {
  assignRequest,
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
import { countQueue, listQueue, type QueueCondition } from './repository.ts'

const notThere = () => new Problem('not_found', 'There is no such request.')

type Filters = Input<typeof listAllRequests>['query']
/** Returns one page of the queue and one more row, and the number of matching requests. */
async function matching({ db }: PrivacyDeps, query: Filters, after: TimeCursor | undefined, now: Date) {
  const { state, kind, channel, assignee, q, hold, open, due, sort, limit } = query
  const conditions = [
    ...conditionsOf({ state, kind, channel, q, hold }),
    ...(assignee === undefined ? [] : [assignee === 'none' ? ('unassigned' as const) : ('assignee' as const)]),
    ...(open === undefined ? [] : [open ? ('open' as const) : ('closed' as const)]),
    ...(due === undefined ? [] : [due]),
  ]
  const values = {
    ...{ state: state ?? null, kind: kind ?? null, channel: channel ?? null, assignee: assignee ?? null },
    ...{ q: q ?? null, hold: hold ?? null, now },
  }
  const [counted] = await countQueue(db, { ...values, most: requestsCountedTo }, conditions)
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

/** Use cases of admins for privacy requests. */
export function requestQueue(deps: PrivacyDeps) {
  const { db, people } = deps
  const words = (text: string, field: string) => plainTextPhrases(text, field, deps.strict)

  /** The response to a POST is stored for idempotent repetition, longer than an erasure may take, so it contains no names. */
  const viewed = async (ctx: MutationContext, row: RequestRow) =>
    adminView(row, ctx.now, { reasons: await pauseReasons(ctx.tx, [row]), people: new Map(), agents: new Map() })
  const replied = async (ctx: MutationContext, work: RequestWork, row: RequestRow) => {
    await notifyParties(work)
    return {
      body: { data: await viewed(ctx, row), message: timelineTextFor(deps, row) },
      resourceId: row.id,
      ...(work.entries.length > 0 && { entries: work.entries }),
    }
  }
  /** Returns the subject's stored address, with which an admin compares the sender of a mailed request. */
  async function emailOf({ accountId, agentId }: RequestRow): Promise<string | null> {
    const owner = agentId === null ? accountId : await deps.agents.ownerOf(db.prisma, agentId)
    return owner ? ((await people.contactOf(db.prisma, owner))?.email ?? null) : null
  }
  /** Executes one action of an admin on a locked request. */
  const acting = async (
    ctx: MutationContext,
    id: string,
    act: (work: RequestWork, row: RequestRow) => Promise<RequestRow>,
    lock: (tx: MutationContext['tx'], id: string) => Promise<RequestRow | undefined> = lockedRequest,
  ) => {
    const row = await lock(ctx.tx, id)
    if (!row) throw notThere()
    const work = workOf(ctx, 'admin')
    return replied(ctx, work, await act(work, row))
  }

  async function aboutOf({ tx }: MutationContext, body: Input<typeof fileForSubject>['body']): Promise<About> {
    if (body.agent_id !== undefined) {
      if ((await deps.agents.ownerOf(tx, body.agent_id)) === undefined)
        throw new Problem('not_found', 'No agent with this id exists.')
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

  return {
    listAll: read(listAllRequests, async (ctx, { query }) => {
      const { found, total } = await matching(deps, query, parseCursor(query.cursor), ctx.now)
      const { shown: places, page } = pageOf(found, query.limit, total, (place) => place)
      const rows = await db.prisma.privacyRequest.findMany({
        where: { id: { in: places.map(({ id }) => id) } },
        include: withParts,
      })
      const byId = new Map(rows.map((row) => [row.id, row]))
      const shown = places.flatMap(({ id }) => byId.get(id) ?? [])
      const beside = await besideOf(deps, db.prisma, shown)
      return {
        body: { data: shown.map((row) => adminView(row, ctx.now, beside)), ...page },
        resourceId: 'list',
        details: { count: shown.length },
      }
    }),

    listMinders: read(listMinders, async () => {
      const minders = await people.adminContacts(db.prisma)
      return {
        body: { data: minders.map(({ accountId, name }) => ({ account_id: accountId, name })) },
        resourceId: 'list',
        details: { count: minders.length },
      }
    }),

    readAny: read(readAnyRequest, async (ctx, { params: { id } }) => {
      const row = await db.prisma.privacyRequest.findUnique({ where: { id }, include: withParts })
      if (!row) throw notThere()
      const { events, run } = await storyOf(deps, row)
      const subject = await requestSubjectOf(db.prisma, row, deps.agents)
      const keeping = run?.steps.flatMap(({ held }) => held.map(({ hold }) => hold)) ?? []
      const holds = isClosed(StateName.parse(row.state)) ? [] : await deps.holdsOn(db.prisma, subject, ctx.now)
      return {
        body: {
          data: {
            ...adminView(row, ctx.now, await besideOf(deps, db.prisma, [row])),
            subject_email: await emailOf(row),
            statement: statementOf(row),
            holds: [...new Set([...holds, ...keeping])],
            timeline: events.map((event) => ({ ...eventView(event), internal: event.isInternal })),
            erasure: run ? runView(run) : null,
          },
        },
        resourceId: id,
      }
    }),

    fileFor: mutation(fileForSubject, async (ctx, { body }) => {
      checkFiling(body, body.agent_id !== undefined)
      if (body.received_at > ctx.now) throw invalid(['received_at'], 'is in the future')
      if (ctx.now.getTime() - body.received_at.getTime() > receivedAtMost)
        throw invalid(['received_at'], 'is more than 60 days ago')
      const work = workOf(ctx, 'admin')
      const filed = await fileRequestIn(deps, work, {
        about: await aboutOf(ctx, body),
        kinds: body.kinds,
        channel: 'mail',
        filedBy: ctx.actor.id,
        receivedAt: body.received_at,
        isProven: false,
        grace: body.grace,
        redacts: body.redact,
        ...(body.statement !== undefined && { statement: words(body.statement, 'statement') }),
      })
      if (filed.isNew && filed.row.contact !== null) await requestLink(work, filed.row, 'verify')
      const reply = await replied(ctx, work, filed.row)
      return {
        ...reply,
        body: { ...reply.body, joined: filed.joined },
        status: filed.isNew ? 201 : 200,
        headers: { Location: `/api/admin/privacy/requests/${filed.row.id}` },
      }
    }),

    assign: mutation(assignRequest, (ctx, { params: { id }, body }) =>
      acting(ctx, id, (work, row) => assign(deps, work, row, body.account_id)),
    ),
    verifyByAdmin: mutation(verifyByAdmin, (ctx, { params: { id }, body }) =>
      acting(ctx, id, async (work, row) => {
        await note(work, row, { event: 'evidence', note: words(body.note, 'note'), isInternal: true })
        return verifyRequestIn(deps, work, row, 'admin')
      }),
    ),
    refuse: mutation(refuseRequest, (ctx, { params: { id }, body }) =>
      acting(ctx, id, (work, row) =>
        refuse(deps, work, row, { ground: body.ground, reason: words(body.reason, 'reason') }),
      ),
    ),
    extend: mutation(extendRequest, (ctx, { params: { id }, body }) =>
      acting(ctx, id, (work, row) => extend(work, row, body.days, words(body.reason, 'reason'))),
    ),
    pause: mutation(pauseRequest, (ctx, { params: { id }, body }) =>
      acting(ctx, id, (work, row) => pause(work, row, words(body.reason, 'reason'))),
    ),
    resume: mutation(resumeRequest, (ctx, { params: { id } }) =>
      acting(ctx, id, (work, row) => resume(deps, work, row)),
    ),
    expediteByAdmin: mutation(expediteByAdmin, (ctx, { params: { id }, body }) =>
      acting(ctx, id, (work, row) =>
        expediteRequestIn(deps, work, row, { reason: words(body.reason, 'reason'), dropCopies: body.drop_copies }),
      ),
    ),
    retry: mutation(retryRequest, (ctx, { params: { id }, body }) =>
      acting(
        ctx,
        id,
        (work, row) => retry(deps, work, row, body.holder),
        (tx, id) => requestForRetry(deps, tx, id),
      ),
    ),
    complete: mutation(completePart, (ctx, { params: { id }, body }) =>
      acting(ctx, id, (work, row) => complete(work, row, body.kind, words(body.note, 'note'))),
    ),
    comment: mutation(commentRequest, (ctx, { params: { id }, body }) =>
      acting(ctx, id, (work, row) => comment(work, row, words(body.note, 'note'))),
    ),
  }
}
