import type { RequestCause } from '#lib/domains/privacy-requests/erasures/contract.ts'
import type { PrivacyDeps, RequestContact } from '#lib/domains/privacy-requests/ports.ts'
import { besideOf, requesterOf, requestsCountedTo, storyOf } from '#lib/domains/privacy-requests/reading.ts'
import {
  formHash,
  type RequestRow,
  requestSubjectOf,
  StateName,
  withParts,
} from '#lib/domains/privacy-requests/requests.ts'
import { isClosed } from '#lib/domains/privacy-requests/rules.ts'
import { adminView, eventView, runView, statementOf } from '#lib/domains/privacy-requests/views.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { pageOf, parseCursor, type TimeCursor } from '#lib/kernel/pages.ts'
import { read } from '#lib/kernel/use-case.ts'
import { causesOfRequest } from './causes.ts'
import { listAllRequests, listMinders, readAnyRequest } from './contract.ts'
import { noSuchRequest } from './replies.ts'
import { countQueue, listQueue, type QueueCondition } from './repository.ts'

/** People whose requests a text finds. */
const mostMatching = 200

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
    q === undefined ? null : (await people.matching(db.prisma, q, mostMatching)).map((one) => one.accountId)
  const values = {
    ...{ state: state ?? null, kind: kind ?? null, channel: channel ?? null, assignee: assignee ?? null },
    ...{ q: q ?? null, accounts, hold: hold ?? null, now },
    address: q === undefined ? null : formHash(subjectKey(), 'address', q),
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
  const actors = await actorsOf(row.id, now)
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
export const listRequestsOfAll = (
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
export const listAssignees = ({ db, people }: Pick<PrivacyDeps, 'db' | 'people'>) =>
  read(listMinders, async () => {
    const minders = await people.adminContacts(db.prisma)
    return {
      body: { data: minders.map(({ accountId, name }) => ({ account_id: accountId, name })) },
      resourceId: 'list',
      details: { count: minders.length },
    }
  })

/** Reads one request with its timeline, its erasure, and the legal holds on its subject. */
export const readRequestAsAdmin = (
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
