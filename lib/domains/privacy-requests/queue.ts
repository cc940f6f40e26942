import type { MutationContext } from '#lib/kernel/context.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import {
  assignRequest,
  commentRequest,
  completePart,
  expediteByAdmin,
  extendRequest,
  fileForSubject,
  listAllRequests,
  pauseRequest,
  readAnyRequest,
  refuseRequest,
  resumeRequest,
  retryRequest,
  verifyByAdmin,
} from './admin-contract.ts'
import { assign, comment, complete, expedite, extend, pause, refuse, resume, retry } from './deciding.ts'
import type { PrivacyParts } from './ports.ts'
import { countedTo, pageOf, pauseReasons, placeOf, storyOf } from './reading.ts'
import { type About, askForLink, checkFiling, file, invalid, plainWords } from './requesting.ts'
import { lockedRequest, type RequestRow, withParts } from './requests.ts'
import { receivedAtMost } from './rules.ts'
import { note, tell, type Work, workOf } from './timeline.ts'
import { verify } from './verifying.ts'
import { adminView, eventView, runView, statementOf } from './views.ts'
import { wordsFor } from './words.ts'

const notThere = () => new Problem('not_found', 'There is no such request.')

/** The queue as the filters and the clocks have it. */
async function matching(
  parts: PrivacyParts,
  query: Input<typeof listAllRequests>['query'],
  now: Date,
): Promise<Prisma.PrivacyRequestWhereInput> {
  const due = query.due === undefined ? undefined : await dueIds(parts, query.due, now)
  return {
    ...(query.state !== undefined && { state: query.state }),
    ...(query.kind !== undefined && { kinds: { has: query.kind } }),
    ...(query.channel !== undefined && { channel: query.channel }),
    ...(query.assignee !== undefined && { assignedTo: query.assignee === 'none' ? null : query.assignee }),
    AND: [
      query.q === undefined ? {} : { id: { startsWith: query.q } },
      query.open === undefined ? {} : query.open ? { closedAt: null } : { closedAt: { not: null } },
      due === undefined ? {} : { id: { in: due } },
    ],
  }
}

/** Open requests whose clocks go on and that are nearly due or overdue; {@link dueNow} says the same of one. */
async function dueIds({ db }: PrivacyParts, due: 'near' | 'overdue', now: Date): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    'privacy-due',
    `SELECT id FROM (SELECT id, least(legal_due_at, due_at) AS due,
         least(legal_due_at - (legal_due_at - received_at) / 4, due_at - interval '18 hours') AS near
       FROM privacy_requests WHERE closed_at IS NULL AND paused_at IS NULL AND state <> 'partly_completed') AS open
     WHERE CASE WHEN $1 THEN due < $2 ELSE near < $2 AND due >= $2 END LIMIT 10000`,
    [due === 'overdue', now],
  )
  return rows.map(({ id }) => id)
}

/** What admins do with requests. */
export function requestQueue(parts: PrivacyParts) {
  const { db, people } = parts
  const words = (text: string, field: string) => plainWords(text, field, parts.strict)

  const viewed = async (ctx: MutationContext, row: RequestRow) =>
    adminView(row, ctx.now, await pauseReasons(ctx.tx, [row]))
  const replied = async (ctx: MutationContext, work: Work, row: RequestRow) => {
    await tell(work)
    return {
      body: { data: await viewed(ctx, row), message: wordsFor(parts, row) },
      resourceId: row.id,
      ...(work.entries.length > 0 && { entries: work.entries }),
    }
  }
  /** One thing that an admin does with a locked request. */
  const acting = async (
    ctx: MutationContext,
    id: string,
    act: (work: Work, row: RequestRow) => Promise<RequestRow>,
  ) => {
    const row = await lockedRequest(ctx.tx, id)
    if (!row) throw notThere()
    const work = workOf(ctx, 'admin')
    return replied(ctx, work, await act(work, row))
  }

  async function aboutOf({ tx }: MutationContext, body: Input<typeof fileForSubject>['body']): Promise<About> {
    if (body.agent_id !== undefined) {
      if ((await parts.agents.ownerOf(tx, body.agent_id)) === undefined)
        throw new Problem('not_found', 'There is no such agent.')
      return { agent: body.agent_id }
    }
    const found =
      body.email !== undefined
        ? await people.byEmail(tx, body.email)
        : body.account_id !== undefined
          ? await people.byId(tx, body.account_id)
          : undefined
    if (!found) throw new Problem('not_found', 'Nobody here has this account or address.')
    return { account: found.accountId }
  }

  return {
    listAll: read(listAllRequests, async (ctx, { query }) => {
      const after = placeOf(query.cursor)
      const where = await matching(parts, query, ctx.now)
      const isByDue = query.sort === 'due'
      const rest = !after
        ? {}
        : isByDue
          ? { OR: [{ legalDueAt: { gt: after.at } }, { legalDueAt: after.at, id: { gt: after.id } }] }
          : { OR: [{ receivedAt: { lt: after.at } }, { receivedAt: after.at, id: { lt: after.id } }] }
      const [found, total] = await Promise.all([
        db.prisma.privacyRequest.findMany({
          where: { AND: [where, rest] },
          orderBy: isByDue ? [{ legalDueAt: 'asc' }, { id: 'asc' }] : [{ receivedAt: 'desc' }, { id: 'desc' }],
          take: query.limit + 1,
          include: withParts,
        }),
        db.prisma.privacyRequest.count({ where, take: countedTo }),
      ])
      const { shown, page } = pageOf(found, query.limit, total, (row) => ({
        at: isByDue ? row.legalDueAt : row.receivedAt,
        id: row.id,
      }))
      const reasons = await pauseReasons(db.prisma, shown)
      return {
        body: { data: shown.map((row) => adminView(row, ctx.now, reasons)), ...page },
        resourceId: 'list',
        details: { count: shown.length },
      }
    }),

    readAny: read(readAnyRequest, async (ctx, { params: { id } }) => {
      const row = await db.prisma.privacyRequest.findUnique({ where: { id }, include: withParts })
      if (!row) throw notThere()
      const { events, run } = await storyOf(parts, row)
      return {
        body: {
          data: {
            ...adminView(row, ctx.now, await pauseReasons(db.prisma, [row])),
            statement: statementOf(row),
            timeline: events.map((event) => ({ ...eventView(event), internal: event.isInternal })),
            erasure: run ? runView(run) : null,
          },
        },
        resourceId: id,
      }
    }),

    fileFor: mutation(fileForSubject, async (ctx, { body }) => {
      checkFiling(body, body.agent_id !== undefined)
      if (body.received_at > ctx.now) throw invalid(['received_at'], 'lies in the future')
      if (ctx.now.getTime() - body.received_at.getTime() > receivedAtMost)
        throw invalid(['received_at'], 'lies more than 60 days back')
      const work = workOf(ctx, 'admin')
      const filed = await file(parts, work, {
        about: await aboutOf(ctx, body),
        kinds: body.kinds,
        channel: 'mail',
        filedBy: ctx.actor.id,
        receivedAt: body.received_at,
        isProven: false,
        grace: body.grace,
        ...(body.statement !== undefined && { statement: words(body.statement, 'statement') }),
      })
      if (filed.isNew && filed.row.contact !== null) await askForLink(work, filed.row, 'verify')
      const reply = await replied(ctx, work, filed.row)
      return {
        ...reply,
        body: { ...reply.body, joined: filed.joined },
        status: filed.isNew ? 201 : 200,
        headers: { Location: `/api/admin/privacy/requests/${filed.row.id}` },
      }
    }),

    assign: mutation(assignRequest, (ctx, { params: { id }, body }) =>
      acting(ctx, id, (work, row) => assign(parts, work, row, body.account_id)),
    ),
    verifyByAdmin: mutation(verifyByAdmin, (ctx, { params: { id }, body }) =>
      acting(ctx, id, async (work, row) => {
        await note(work, row, { event: 'evidence', note: words(body.note, 'note'), isInternal: true })
        return verify(parts, work, row, 'admin')
      }),
    ),
    refuse: mutation(refuseRequest, (ctx, { params: { id }, body }) =>
      acting(ctx, id, (work, row) =>
        refuse(parts, work, row, { ground: body.ground, reason: words(body.reason, 'reason') }),
      ),
    ),
    extend: mutation(extendRequest, (ctx, { params: { id }, body }) =>
      acting(ctx, id, (work, row) => extend(work, row, body.days, words(body.reason, 'reason'))),
    ),
    pause: mutation(pauseRequest, (ctx, { params: { id }, body }) =>
      acting(ctx, id, (work, row) => pause(work, row, words(body.reason, 'reason'))),
    ),
    resume: mutation(resumeRequest, (ctx, { params: { id } }) =>
      acting(ctx, id, (work, row) => resume(parts, work, row)),
    ),
    expediteByAdmin: mutation(expediteByAdmin, (ctx, { params: { id }, body }) =>
      acting(ctx, id, (work, row) => expedite(parts, work, row, words(body.reason, 'reason'))),
    ),
    retry: mutation(retryRequest, (ctx, { params: { id }, body }) =>
      acting(ctx, id, (work, row) => retry(parts, work, row, body.holder)),
    ),
    complete: mutation(completePart, (ctx, { params: { id }, body }) =>
      acting(ctx, id, (work, row) => complete(work, row, body.kind, words(body.note, 'note'))),
    ),
    comment: mutation(commentRequest, (ctx, { params: { id }, body }) =>
      acting(ctx, id, (work, row) => comment(work, row, words(body.note, 'note'))),
    ),
  }
}
