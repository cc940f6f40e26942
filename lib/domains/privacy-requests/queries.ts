import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { agentNames } from '#lib/domains/agents/queries.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { RequestView } from './contract.ts'
import { copyOpen } from './form/rules.ts'
import {
  agentCopyRequests,
  answersByWeek,
  copyRequests,
  countOpenRequests,
  countWaiting,
  kindsReported,
  openRuns,
  requestsByWeek,
  requestsReported,
  requestsSince,
  runsFiledBy,
} from './repository.ts'
import { ownedBy, SubjectName, withParts } from './requests.ts'
import { requestKinds, unforwardedLifetime } from './rules.ts'
import { pauseReasons, requestView } from './views.ts'

/** Returns true when a request about the person is stored, open or closed. */
export const isOnFile = async (tx: Transaction, accountId: string): Promise<boolean> =>
  (await tx.privacyRequest.count({ where: { accountId } })) > 0

/** Ids of the requests about the person or one of the agents, newest first. */
export const requestsOf = async (
  { prisma }: Database,
  { account, agents }: { account: string; agents: readonly string[] },
  max: number,
): Promise<string[]> => {
  const found = await prisma.privacyRequest.findMany({
    where: { OR: [{ accountId: account }, { agentId: { in: [...agents] } }] },
    select: { id: true },
    orderBy: [{ receivedAt: 'desc' }, { id: 'desc' }],
    take: max,
  })
  return found.map(({ id }) => id)
}

/** Counts the open requests about the person or one of their agents. */
export const countOpenRequestsOf = async (db: Database, accountId: string): Promise<number> => {
  const [row] = await countOpenRequests(db, { account: accountId })
  return row?.n ?? 0
}

/** Counts all requests, open and closed. */
export const countRequests = (tx: Transaction): Promise<number> => tx.privacyRequest.count()

/** Returns true when a verified request for access or portability exists for the participant, verified within 30 days. */
export const requestedCopy = async (db: Database, participantId: string, now: Date): Promise<boolean> => {
  const records = await copyRequests(db, { participant: participantId, after: new Date(now.getTime() - copyOpen) })
  return records.length > 0
}

/** The request for access or portability that the agent or its owner confirmed within 30 days. */
export const agentCopyRequest = async (db: Database, agentId: string, now: Date): Promise<string | undefined> => {
  const [found] = await agentCopyRequests(db, { agent: agentId, after: new Date(now.getTime() - copyOpen) })
  return found?.id
}

const weekMs = 7 * 86_400_000

interface RequestWeek {
  /** The start of the week. */
  from: Date
  received: number
  closed: number
  /** Closed and not cancelled. */
  answered: number
  /** Answered within the legal deadline. */
  onTime: number
  /** Median time to answer, of the requests that staff worked on; null if there are none. */
  medianDays: number | null
}
/** Requests received and closed in each of the last weeks, oldest first. */
export async function requestTrend(db: Database, now: Date, weeks: number): Promise<RequestWeek[]> {
  const period = { now, from: new Date(now.getTime() - weeks * weekMs) }
  const [rows, answers] = await Promise.all([requestsByWeek(db, period), answersByWeek(db, period)])
  return Array.from({ length: weeks }, (_, index) => {
    const ago = weeks - 1 - index
    const row = rows.find((one) => one.weeks_ago === ago)
    const answer = answers.find((one) => one.weeks_ago === ago)
    return {
      from: new Date(now.getTime() - (ago + 1) * weekMs),
      received: row?.received ?? 0,
      closed: row?.closed ?? 0,
      answered: answer?.answered ?? 0,
      onTime: answer?.on_time ?? 0,
      medianDays: answer?.median_days ?? null,
    }
  })
}

/** The numbers of requests received and closed after a time. */
export async function requestChanges(db: Database, since: Date): Promise<{ received: number; closed: number }> {
  const [row] = await requestsSince(db, { since })
  return row ?? { received: 0, closed: 0 }
}

export interface NamedSubject {
  kind: ReturnType<(typeof SubjectName)['parse']>
  /** Null once the subject is deleted, and for subjects without a name. */
  name: string | null
}

/** Returns the subjects of requests with their current names, by request id. */
export async function requestSubjects(db: Database, requestIds: readonly string[]): Promise<Map<string, NamedSubject>> {
  if (requestIds.length === 0) return new Map()
  const rows = await db.prisma.privacyRequest.findMany({
    where: { id: { in: [...requestIds] } },
    select: { id: true, subjectKind: true, accountId: true, agentId: true },
  })
  const idsOf = (ids: (string | null)[]) => [...new Set(ids.filter((id) => id !== null))]
  const [accounts, named] = await Promise.all([
    accountDirectory.namesOf(db.prisma, idsOf(rows.map(({ accountId }) => accountId))),
    agentNames(db.prisma, idsOf(rows.map(({ agentId }) => agentId))),
  ])
  return new Map(
    rows.map(({ id, subjectKind, accountId, agentId }) => [
      id,
      {
        kind: SubjectName.parse(subjectKind),
        name: accounts.get(accountId ?? '') ?? named.get(agentId ?? '') ?? null,
      },
    ]),
  )
}

/** Returns the names of the subjects by request id. Deleted subjects have none. */
export async function requestSubjectNames(db: Database, requestIds: readonly string[]): Promise<Map<string, string>> {
  const subjects = await requestSubjects(db, requestIds)
  return new Map([...subjects].flatMap(([id, { name }]) => (name === null ? [] : [[id, name]])))
}

/** The number of open requests that {@link openRequests} sorts. A person usually has fewer. */
const sortedRequests = 50

/** Returns the open requests of a person and their agents, those with the least time left first. */
export async function openRequests(
  db: Database,
  actor: Actor,
  now: Date,
  limit: number,
): Promise<{ open: number; shown: RequestView[] }> {
  const where = { AND: [ownedBy({ actor }), { closedAt: null }] }
  const [open, rows] = await Promise.all([
    db.prisma.privacyRequest.count({ where }),
    db.prisma.privacyRequest.findMany({
      where,
      orderBy: { legalDueAt: 'asc' },
      take: sortedRequests,
      include: withParts,
    }),
  ])
  const reasons = await pauseReasons(db.prisma, rows)
  const left = ({ seconds_left }: RequestView) => seconds_left ?? Number.POSITIVE_INFINITY
  const shown = rows.map((row) => requestView(row, now, reasons)).sort((one, other) => left(one) - left(other))
  return { open, shown: shown.slice(0, limit) }
}

interface WaitingRequests {
  open: number
  /** With less than a quarter of the time left. */
  near: number
  /** Due within seven days. */
  week: number
  overdue: number
}
/** The most open requests among which those to notice are looked for, by their legal deadline. */
const maxNoticed = 500

/** Counts like the admins' queue. */
export async function waitingRequests(db: Database, now: Date): Promise<WaitingRequests> {
  const [row] = await countWaiting(db, { now })
  return row ?? { open: 0, near: 0, week: 0, overdue: 0 }
}

/** Requests from the form whose link nobody has used, oldest first; at most 100. */
export const unconfirmedForms = (tx: Transaction, now: Date) =>
  tx.unconfirmedRequest.findMany({
    where: { usedAt: null, expiresAt: { gt: now }, content: { not: null } },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    take: 100,
  })

/** Without a mail server: the requests from the form whose link no admin has forwarded, oldest first. */
export const unforwardedForms = async (db: Database, now: Date) =>
  (await unconfirmedForms(db.prisma, now)).filter(
    ({ createdAt, expiresAt }) => expiresAt.getTime() === createdAt.getTime() + unforwardedLifetime,
  )

/** The number of {@link unforwardedForms}. */
export const countUnforwarded = async (db: Database, now: Date): Promise<number> =>
  (await unforwardedForms(db, now)).length

interface NoticedRequest {
  view: RequestView
  isMine: boolean
  /** Null once the subject is deleted, and for subjects without a name. */
  name: string | null
}
/** Open requests that an admin should notice, at most `limit`: assigned to the admin, failed, or of nobody with a deadline that is near or over. */
export async function noticedRequests(
  db: Database,
  accountId: string,
  now: Date,
  limit: number,
): Promise<NoticedRequest[]> {
  const rows = await db.prisma.privacyRequest.findMany({
    where: { closedAt: null, OR: [{ assignedTo: accountId }, { assignedTo: null }, { state: 'failed' }] },
    orderBy: [{ legalDueAt: 'asc' }, { id: 'asc' }],
    take: maxNoticed,
    include: withParts,
  })
  const reasons = await pauseReasons(db.prisma, rows)
  const noticed = rows
    .map((row) => ({ view: requestView(row, now, reasons), isMine: row.assignedTo === accountId }))
    .filter(({ view, isMine }) => isMine || view.state === 'failed' || view.due === 'near' || view.due === 'overdue')
    .slice(0, limit)
  const names = await requestSubjectNames(
    db,
    noticed.map(({ view }) => view.id),
  )
  return noticed.map((one) => ({ ...one, name: names.get(one.view.id) ?? null }))
}

/** Returns the erasure runs of the actor's open requests. */
export const runsOfOpenRequests = (
  db: Database,
  { accountId, agents }: Pick<Actor, 'accountId' | 'agents'>,
): Promise<{ requestId: string; runId: string }[]> => openRuns(db, { account: accountId ?? null, agents })

/** Returns the erasure runs of agents that a person requested in the console. These requests no longer name the agents' owner. */
export const runsRequestedBy = async (db: Database, accountId: string): Promise<string[]> =>
  (await runsFiledBy(db, { actor: `user:${accountId}` })).map(({ id }) => id)

interface FoundRequest {
  id: string
  kinds: readonly string[]
  /** The name of the person concerned. Only for admins, and while the request names the person. */
  person: string | null
}
const idPrefix = 'preq_'

/** Finds requests by the beginning of their id, or by the people whom they concern, newest first: for admins all, for others their own. */
export async function findRequests(
  db: Database,
  actor: Actor,
  { q, accounts }: { q: string; accounts: readonly string[] },
  limit: number,
): Promise<FoundRequest[]> {
  const matching = [
    ...(q.startsWith(idPrefix) ? [{ id: { startsWith: q } }] : []),
    ...(accounts.length > 0 ? [{ accountId: { in: [...accounts] } }] : []),
  ]
  if (matching.length === 0) return []
  const isAdmin = actor.can('privacy:admin')
  const rows = await db.prisma.privacyRequest.findMany({
    where: { AND: [{ OR: matching }, isAdmin ? {} : ownedBy({ actor })] },
    orderBy: { receivedAt: 'desc' },
    take: limit,
    select: { id: true, kinds: true, accountId: true },
  })
  const ids = isAdmin ? rows.flatMap(({ accountId }) => accountId ?? []) : []
  const names = ids.length > 0 ? await accountDirectory.namesOf(db.prisma, ids) : new Map<string, string>()
  return rows.map(({ id, kinds, accountId }) => ({ id, kinds, person: names.get(accountId ?? '') ?? null }))
}

/** The requests of a period and their kinds, for the report. */
export async function reportOfRequests(db: Database, period: { from: Date; until: Date }) {
  const [[totals], kinds] = await Promise.all([requestsReported(db, period), kindsReported(db, period)])
  if (!totals) throw new Error('An aggregate returns one row.')
  return {
    totals,
    kinds: requestKinds.map((kind) => {
      const known = kinds.find((one) => one.kind === kind)
      return { kind, received: known?.received ?? 0, done: known?.done ?? 0, refused: known?.refused ?? 0 }
    }),
  }
}
