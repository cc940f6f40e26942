import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { sanitize } from '#lib/domains/sanitizer/sanitizer.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { sealContact } from './contact.ts'
import { boundFilings } from './filing-bound.ts'
import { boundLinkLetters } from './links.ts'
import type { Changes, Contact, PrivacyParts } from './ports.ts'
import {
  GraceName,
  KindName,
  kindsOf,
  lockedRequest,
  payloadOf,
  type RequestRow,
  StateName,
  subjectHash,
  withParts,
} from './requests.ts'
import {
  type Channel,
  closedStates,
  type Grace,
  graceEnd,
  inOrder,
  isClosed,
  type Kind,
  legalDueAt,
  longerGrace,
} from './rules.ts'
import { addressJob, change, note, type Work } from './timeline.ts'

export const invalid = (path: (string | number)[], message: string): Problem =>
  new Problem('invalid', { detail: 'One field is not valid.', issues: [{ path, message }] })

/** Somebody's words as plain text. Throws `content_rejected`, and `invalid` where nothing is left of them. */
export function plainWords(text: string, field: string, strict: boolean): string {
  try {
    const words = sanitize(text, 'plain', { strict }).text.trim()
    if (words === '') throw invalid([field], 'nothing is left of it once markup is removed')
    return words
  } catch (error) {
    if (!SanitizationError.is(error)) throw error
    const { stage, rule, place } = error
    throw new Problem('content_rejected', {
      detail: `The text was refused at the stage "${stage}" (${rule}). Nothing was changed.`,
      issues: [{ path: [field], message: `${rule} at character ${place}` }],
    })
  }
}

export type About = { account: string } | { agent: string }
export interface Filing {
  about: About
  kinds: readonly Kind[]
  channel: Channel
  filedBy: string
  receivedAt: Date
  grace?: Grace | undefined
  statement?: string | undefined
  changes?: Changes | undefined
  /** Identity is shown with this very call. */
  isProven: boolean
  /** Whether the caller's scopes reach all of these; everything does where nothing is said. */
  reaches?: (kinds: readonly Kind[]) => boolean
}
export interface Filed {
  row: RequestRow
  isNew: boolean
  joined: { kind: Kind; request_id: string }[]
  /** Joined, and waiting for somebody to show who they are. Whoever does with this call confirms them with it. */
  unconfirmed: RequestRow[]
}

/** What does not fit together is refused before anything is looked up. */
export function checkFiling(
  { kinds, grace, statement, changes }: Pick<Filing, 'kinds' | 'grace' | 'statement' | 'changes'>,
  isAgent: boolean,
): void {
  if (grace !== undefined && !kinds.includes('erasure')) throw invalid(['grace'], 'is for an erasure')
  if (changes && !kinds.includes('rectification')) throw invalid(['changes'], 'is for a rectification')
  if (kinds.includes('rectification') && statement === undefined && !changes)
    throw invalid(['statement'], 'says what is to be corrected, unless `changes` does')
  if (isAgent && kinds.includes('erasure') && (kinds.includes('access') || kinds.includes('portability')))
    throw invalid(['kinds'], 'asks for a copy beside the erasure: of an agent, fetch GET /v1/export/{agent_id} first')
}

/** Filing for one subject goes one after the other, so that of two at once the second joins the first. */
export const lockSubject = (tx: Transaction, subjectKey: string) =>
  tx.$queryRaw`SELECT 1 AS locked FROM (SELECT pg_advisory_xact_lock(hashtextextended(${`privacy:${subjectKey}`}, 0))) AS l`

async function contactFor(
  { people, agents }: PrivacyParts,
  tx: Transaction,
  about: About,
): Promise<Contact | undefined> {
  if ('account' in about) return people.contactOf(tx, about.account)
  const owner = await agents.ownerOf(tx, about.agent)
  return owner ? people.contactOf(tx, owner) : undefined
}

/** Erasing the last admin would lock everybody out. */
export async function refuseLastAdmin({ people }: PrivacyParts, tx: Transaction, about: About): Promise<void> {
  if (!('account' in about) || (await people.byId(tx, about.account))?.role !== 'admin') return
  if (await people.isLastAdmin(tx, about.account))
    throw new Problem(
      'conflict',
      'This is the last admin: nobody could run this installation any more. Make somebody else an admin first (kp admin account role <e-mail> admin), then ask again. Nothing was changed.',
    )
}

/** More is said about what is open already: it is kept beside what was said. */
async function addWords(work: Work, row: RequestRow, filing: Filing): Promise<RequestRow> {
  const { statement, changes, isProven } = filing
  if (statement === undefined && !changes) return row
  if (!isOnSide(row, filing))
    throw new Problem(
      'conflict',
      'What is open was asked for by the agent itself, who would read these words. Ask without them. Nothing was changed.',
    )
  if (row.state !== 'received' && !isProven)
    throw new Problem(
      'conflict',
      'The open request is confirmed already: its subject alone adds to it, with their password.',
    )
  const before = payloadOf(row)
  if ((before.statements?.length ?? 0) >= 20)
    throw new Problem('conflict', 'The open request has twenty statements already. Wait until it is decided.')
  const after = {
    statements: [...(before.statements ?? []), ...(statement === undefined ? [] : [statement])],
    changes: { ...before.changes, ...changes },
  }
  return change(work, row, { event: 'added_to', data: { payload: after }, isSilent: true })
}

/** A token acts for its agent, and never for the agent's owner: it joins what its agent asked for, and nobody else does. */
const isOnSide = (row: RequestRow, { channel, filedBy }: Filing): boolean =>
  channel === 'api' ? row.channel === 'api' && row.filedBy === filedBy : row.channel !== 'api'

/**
 * Showing who one is confirms what one asked for, and nothing that somebody else put beside it: what nobody confirmed yet is joined
 * with a proof only where all of it is asked for.
 */
const mayJoin = (row: RequestRow, filing: Filing): boolean =>
  isOnSide(row, filing) &&
  (filing.reaches?.(kindsOf(row)) ?? true) &&
  !(filing.isProven && row.state === 'received' && kindsOf(row).some((kind) => !filing.kinds.includes(kind)))

const isOpenIn = (row: RequestRow, kind: Kind): boolean =>
  row.parts.some((part) => part.kind === kind && ['pending', 'running', 'partly_done', 'failed'].includes(part.state))

/** What was asked for by somebody who did not show who they are goes over to whoever did; a request with nothing left is closed. */
async function takeOut(work: Work, row: RequestRow, taken: readonly Kind[], into: string): Promise<void> {
  const left = kindsOf(row).filter((kind) => !taken.includes(kind))
  const details = { kinds: taken.join(','), request_id: into }
  const noErasure = taken.includes('erasure') ? { grace: null, receiptId: null } : {}
  if (left.length > 0) {
    await work.tx.privacyRequestPart.deleteMany({ where: { requestId: row.id, kind: { in: [...taken] } } })
    await change(work, row, { event: 'taken_over', data: { kinds: left, ...noErasure }, details, isSilent: true })
    return
  }
  await work.tx.privacyRequestPart.updateMany({
    where: { requestId: row.id },
    data: { state: 'cancelled', finishedAt: work.now },
  })
  // The letters of the request that takes its place tell the rest.
  await change(work, row, {
    event: 'cancelled',
    to: 'cancelled',
    data: { contact: null, ...noErasure },
    details,
    isSilent: true,
    by: 'system',
  })
}

/** Takes what is asked for anew out of the requests that it does not join. Gives the time from which the law's month counts. */
async function takeOver(
  work: Work,
  met: readonly RequestRow[],
  filing: Filing,
  fresh: readonly Kind[],
  into: string,
): Promise<Date> {
  let { receivedAt } = filing
  for (const row of met) {
    const taken = fresh.filter((kind) => isOpenIn(row, kind) && (kind === 'erasure' || isOnSide(row, filing)))
    if (row.state !== 'received' && taken.includes('erasure'))
      throw new Problem(
        'conflict',
        'The erasure of this agent is asked for already, and not by the agent itself: whoever asked follows it, or takes it back. Nothing was changed.',
      )
    if (taken.length === 0 || row.state !== 'received' || !filing.isProven) continue
    await takeOut(work, row, taken, into)
    // From when it was asked first; of an erasure that would cut the grace that is chosen now.
    if (!fresh.includes('erasure') && row.receivedAt < receivedAt) receivedAt = row.receivedAt
  }
  return receivedAt
}

/**
 * The grace of an erasure that nobody confirmed yet is that of whoever shows who they are; of two who did not, the longer one. Where the
 * law's limit would cut it, it counts from this call, which asks anew.
 */
async function settleGrace(work: Work, row: RequestRow, { grace, isProven }: Filing): Promise<RequestRow> {
  if (row.state !== 'received' || !kindsOf(row).includes('erasure')) return row
  const before = GraceName.parse(row.grace ?? '24h')
  const asked = grace ?? '24h'
  const next = isProven ? asked : longerGrace(before, asked)
  const isCut = isProven && graceEnd(next, row.legalDueAt, work.now).isShortened
  if (next === before && !isCut) return row
  return change(work, row, {
    event: 'added_to',
    data: { grace: next, ...(isCut && { legalDueAt: legalDueAt(work.now), nearlyToldAt: null, overdueToldAt: null }) },
    details: { grace: next },
    isSilent: true,
  })
}

/**
 * Files a request: the kinds that are open for the subject are joined where the caller may ({@link mayJoin}), the others make one new
 * request. The caller then shows identity or sends the link.
 */
export async function file(parts: PrivacyParts, work: Work, filing: Filing): Promise<Filed> {
  const { tx } = work
  const { about } = filing
  const [kindOfSubject, id] =
    'account' in about ? (['account', about.account] as const) : (['agent', about.agent] as const)
  const subjectKey = subjectHash(parts.subjectKey(), kindOfSubject, id)
  await lockSubject(tx, subjectKey)
  const open = await tx.privacyRequest.findMany({
    where: { subjectKey, state: { notIn: [...closedStates] } },
    include: withParts,
    orderBy: [{ receivedAt: 'asc' }, { id: 'asc' }],
  })
  if (
    open.some(({ runId, state }) => runId !== null && state !== 'partly_completed' && state !== 'failed') &&
    filing.kinds.some((kind) => kind !== 'erasure')
  )
    throw new Problem(
      'fenced',
      'An erasure is under way: nothing more is begun for whom it is about. Nothing was changed.',
    )
  const asked = inOrder(filing.kinds)
  const met: RequestRow[] = []
  for (const { id: openId } of open.toSorted((one, other) => (one.id < other.id ? -1 : 1)))
    if (open.some((row) => row.id === openId && asked.some((kind) => isOpenIn(row, kind)))) {
      const row = await lockedRequest(tx, openId)
      if (row && !isClosed(StateName.parse(row.state))) met.push(row)
    }
  met.sort((one, other) => one.receivedAt.getTime() - other.receivedAt.getTime() || (one.id < other.id ? -1 : 1))
  // A subject has one open erasure: its owner is told of the one that its agent asked for, and not the other way about.
  const isTheErasure = (row: RequestRow) =>
    filing.channel !== 'api' && row.state !== 'received' && isOpenIn(row, 'erasure')
  const openFor = (kind: Kind) =>
    met.find((row) => isOpenIn(row, kind) && (mayJoin(row, filing) || (kind === 'erasure' && isTheErasure(row))))
  const joined = asked.flatMap((kind) => {
    const row = openFor(kind)
    return row ? [{ kind, request_id: row.id }] : []
  })
  const fresh = asked.filter((kind) => !openFor(kind))
  const joinedRows: RequestRow[] = []
  for (const row of asked.flatMap((kind) => openFor(kind) ?? []))
    if (!joinedRows.some((one) => one.id === row.id)) joinedRows.push(await settleGrace(work, row, filing))
  const last = joinedRows.at(-1)
  if (fresh.length === 0 && last) {
    const row = await addWords(work, last, filing)
    return { row, isNew: false, joined, unconfirmed: joinedRows.filter(({ state }) => state === 'received') }
  }

  await boundFilings(tx, { subjectKey, kinds: fresh, channel: filing.channel, isProven: filing.isProven }, work.now)
  if (fresh.includes('erasure')) await refuseLastAdmin(parts, tx, about)
  const requestId = newId('preq')
  const receivedAt = await takeOver(work, met, filing, fresh, requestId)
  const contact = await contactFor(parts, tx, about)
  const words = {
    ...(filing.statement !== undefined && { statements: [filing.statement] }),
    ...(filing.changes && { changes: filing.changes }),
  }
  const row = await tx.privacyRequest.create({
    data: {
      id: requestId,
      kinds: fresh,
      channel: filing.channel,
      accountId: 'account' in about ? about.account : null,
      agentId: 'agent' in about ? about.agent : null,
      subjectKind: 'account' in about ? 'person' : 'agent',
      subjectKey,
      filedBy: filing.filedBy,
      grace: fresh.includes('erasure') ? GraceName.parse(filing.grace ?? '24h') : null,
      receiptId: fresh.includes('erasure') ? newId('rcpt') : null,
      receivedAt,
      legalDueAt: legalDueAt(receivedAt),
      ...(contact && { contact: sealContact(parts.contactKey(), requestId, contact) }),
      ...(Object.keys(words).length > 0 && { payload: words as Prisma.InputJsonObject }),
      parts: { create: fresh.map((kind) => ({ kind: KindName.parse(kind) })) },
    },
    include: withParts,
  })
  await note(work, row, {
    event: 'received',
    to: 'received',
    details: { kinds: fresh.join(','), channel: filing.channel, received_at: receivedAt.toISOString() },
  })
  return { row, isNew: true, joined, unconfirmed: joinedRows.filter(({ state }) => state === 'received') }
}

/** The letter with the link that the request waits for. Throws `rate_limited`; `wrong_state` where nobody waits for one. */
export async function askForLink(work: Work, row: RequestRow, purpose: 'verify' | 'address'): Promise<void> {
  if (row.contact === null)
    throw new Problem('wrong_state', 'No address is on file for this agent: an admin has to check who asks.')
  await boundLinkLetters(work.tx, row.subjectKey, work.now)
  await note(work, row, { event: 'link_sent', details: { purpose }, isSilent: purpose === 'address' })
  if (purpose === 'address') await enqueue(work.tx, addressJob, { requestId: row.id }, { maxAttempts: 12 })
}
