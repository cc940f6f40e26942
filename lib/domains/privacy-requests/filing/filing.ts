import type { Prisma } from '#generated/prisma/client.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import type { PrivacyDeps, RequestContact } from '../ports.ts'
import { lockSubject } from '../repository.ts'
import {
  GraceName,
  KindName,
  lockedRequest,
  type RequestRow,
  requestSubjectHash,
  StateName,
  withParts,
} from '../requests.ts'
import {
  type Channel,
  closedStates,
  filingsPerDay,
  isClosed,
  legalDueAt,
  type RequestKind,
  requestKindsInOrder,
} from '../rules.ts'
import { addressJob, note, type RequestWork } from '../timeline.ts'
import { type About, addStatement, type Filing, isOpenIn, mayJoin, settleGrace, takeOver } from './joining.ts'
import { boundRequestLinkEmails, sealContact } from './links.ts'

export interface FiledRequest {
  row: RequestRow
  isNew: boolean
  joined: { kind: RequestKind; request_id: string }[]
  /** Joined requests that wait for a proof of identity. A proof in this call also confirms them. */
  unconfirmed: RequestRow[]
}

type RepeatedFiling = Pick<Filing, 'kinds' | 'grace' | 'statement' | 'changes'> & { redact?: boolean | undefined }
/** Rejects inconsistent input before any query. */
export function checkFiling({ kinds, grace, redact, statement, changes }: RepeatedFiling, isAgent: boolean): void {
  if (grace !== undefined && !kinds.includes('erasure')) throw invalid(['grace'], 'is only for an erasure')
  if (redact && (isAgent || !kinds.includes('erasure')))
    throw invalid(['redact'], 'is only for the erasure of a person')
  if (changes && !kinds.includes('rectification')) throw invalid(['changes'], 'is only for a rectification')
  if (kinds.includes('rectification') && statement === undefined && !changes)
    throw invalid(['statement'], 'is required for a rectification without `changes`')
  if (isAgent && kinds.includes('erasure') && (kinds.includes('access') || kinds.includes('portability')))
    throw invalid(
      ['kinds'],
      'cannot combine a copy of an agent with its erasure: download GET /v1/export/{agent_id} first',
    )
}

async function contactFor(
  { people, agents }: PrivacyDeps,
  tx: Transaction,
  { about, contact }: Filing,
): Promise<RequestContact | undefined> {
  if ('requester' in about) return contact
  if ('account' in about) return people.contactOf(tx, about.account)
  // An address that an application reported is unverified. Only a request by a token is announced to it.
  if ('participant' in about) return contact
  const owner = await agents.ownerOf(tx, about.agent)
  return owner ? people.contactOf(tx, owner) : undefined
}

/** Erasing the last admin would leave the installation without an admin. */
export async function refuseLastAdmin({ people }: PrivacyDeps, tx: Transaction, about: About): Promise<void> {
  if (!('account' in about) || (await people.byId(tx, about.account))?.role !== 'admin') return
  if (await people.isLastAdmin(tx, about.account))
    throw new Problem(
      'conflict',
      'This is the last admin of the installation, so the account cannot be erased. Make another account an admin first (kp admin account role <email> admin), then try again. Nothing was changed.',
    )
}

export function subjectNamedBy(about: About): ['account' | 'agent' | 'participant' | 'requester', string] {
  if ('account' in about) return ['account', about.account]
  if ('requester' in about) return ['requester', about.requester]
  return 'agent' in about ? ['agent', about.agent] : ['participant', about.participant]
}

/** Returns the open requests of the subject, oldest first. */
export const openRequestsOf = (tx: Transaction, subjectKey: string): Promise<RequestRow[]> =>
  tx.privacyRequest.findMany({
    where: { subjectKey, state: { notIn: [...closedStates] } },
    include: withParts,
    orderBy: [{ receivedAt: 'asc' }, { id: 'asc' }],
  })

/** While an erasure of the subject runs, only a further erasure is accepted. */
export function refuseDuringErasure(open: readonly RequestRow[], { kinds }: Pick<Filing, 'kinds'>): void {
  if (
    open.some(({ runId, state }) => runId !== null && state !== 'partly_completed' && state !== 'failed') &&
    kinds.some((kind) => kind !== 'erasure')
  )
    throw new Problem(
      'fenced',
      'An erasure of this subject is running, so it accepts no further requests. Nothing was changed.',
    )
}

/** Locks the open requests that contain one of the kinds, in the order of their ids. Returns them oldest first. */
async function lockWithKinds(
  tx: Transaction,
  open: readonly RequestRow[],
  kinds: readonly RequestKind[],
): Promise<RequestRow[]> {
  const matching = open.filter((row) => kinds.some((kind) => isOpenIn(row, kind)))
  const locked: RequestRow[] = []
  for (const { id } of matching.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
    const row = await lockedRequest(tx, id)
    if (row && !isClosed(StateName.parse(row.state))) locked.push(row)
  }
  return locked.sort(
    (one, other) => one.receivedAt.getTime() - other.receivedAt.getTime() || (one.id < other.id ? -1 : 1),
  )
}

/** Returns the open request that the kind joins. */
function requestToJoin(open: readonly RequestRow[], filing: Filing, kind: RequestKind): RequestRow | undefined {
  // A subject has one open erasure. An owner joins the erasure that the agent asked for, but not the reverse.
  const isTheErasure = (row: RequestRow) =>
    kind === 'erasure' && filing.channel !== 'api' && row.state !== 'received' && isOpenIn(row, 'erasure')
  return open.find((row) => isOpenIn(row, kind) && (mayJoin(row, filing) || isTheErasure(row)))
}

/** Settles the grace period of each joined request. Returns the requests without duplicates. */
async function joinRequests(work: RequestWork, rows: readonly RequestRow[], filing: Filing): Promise<RequestRow[]> {
  const joined: RequestRow[] = []
  for (const row of rows) if (!joined.some(({ id }) => id === row.id)) joined.push(await settleGrace(work, row, filing))
  return joined
}

/** Stores a new request, and records it in its timeline. */
async function createRequest(
  { contactKey }: Pick<PrivacyDeps, 'contactKey'>,
  work: RequestWork,
  filing: Filing,
  given: {
    requestId: string
    kinds: RequestKind[]
    subjectKey: string
    receivedAt: Date
    contact: RequestContact | undefined
  },
): Promise<RequestRow> {
  const { requestId, kinds, subjectKey, receivedAt, contact } = given
  const { about } = filing
  const [subjectType] = subjectNamedBy(about)
  const isErasure = kinds.includes('erasure')
  const words = {
    ...(filing.statement !== undefined && { statements: [filing.statement] }),
    ...(filing.changes && { changes: filing.changes }),
  }
  const row = await work.tx.privacyRequest.create({
    data: {
      id: requestId,
      kinds,
      channel: filing.channel,
      accountId: 'account' in about ? about.account : null,
      agentId: 'agent' in about ? about.agent : null,
      participantId: 'participant' in about ? about.participant : null,
      subjectKind: subjectType === 'account' ? 'person' : subjectType,
      subjectKey,
      addressKey: 'requester' in about ? about.requester : null,
      filedBy: filing.filedBy,
      grace: isErasure ? GraceName.parse(filing.grace ?? '24h') : null,
      redacts: isErasure && (filing.redacts ?? false),
      // Nothing is erased before the request is connected to an account or participant.
      receiptId: isErasure && !('requester' in about) ? newId('rcpt') : null,
      receivedAt,
      legalDueAt: legalDueAt(receivedAt),
      ...(contact && { contact: sealContact(contactKey(), requestId, contact) }),
      ...(Object.keys(words).length > 0 && { payload: words as Prisma.InputJsonObject }),
      parts: { create: kinds.map((kind) => ({ kind: KindName.parse(kind) })) },
    },
    include: withParts,
  })
  await note(work, row, {
    event: 'received',
    to: 'received',
    details: {
      kinds: kinds.join(','),
      channel: filing.channel,
      received_at: receivedAt.toISOString(),
      ...(row.redacts && { redact: true }),
    },
  })
  return row
}

const day = 86_400_000

interface Filings {
  subjectKey: string
  /** The kinds that do not join an open request. */
  kinds: readonly RequestKind[]
  channel: Channel
  /** Whether this call proves the caller's identity. */
  isProven: boolean
}

/**
 * Limits the number of requests per kind, subject and channel within a day, open and closed. Joining an open request
 * does not count.
 * Channels, and requests with verified identity, are counted separately, so that a flood without proof does not block
 * anybody else. The subject must be locked (`lockSubject`), which makes the limit exact.
 * @throws Problem `rate_limited` with the seconds until the next request is accepted
 */
async function boundFilings(
  tx: Transaction,
  { subjectKey, kinds, channel, isProven }: Filings,
  now: Date,
): Promise<void> {
  const since = new Date(now.getTime() - day)
  for (const kind of kinds) {
    // Counts by the time of filing, not by the time when a mailed request was received.
    const filed = await tx.privacyRequestEvent.findMany({
      where: {
        event: 'received',
        at: { gt: since },
        request: { subjectKey, channel, kinds: { has: kind }, ...(isProven && { verifiedBy: { not: null } }) },
      },
      select: { at: true },
      orderBy: { at: 'desc' },
      take: filingsPerDay,
    })
    const oldest = filed[filingsPerDay - 1]
    if (!oldest) continue
    const seconds = Math.max(1, Math.ceil((oldest.at.getTime() - since.getTime()) / 1000))
    throw new Problem('rate_limited', {
      detail: `At most ${filingsPerDay} requests for ${kind} are accepted per day. Nothing was changed, and open requests continue. Try again in ${seconds} seconds.`,
      headers: { 'Retry-After': String(seconds) },
    })
  }
}

/**
 * Files a request. Kinds that are already open for the subject join the open request where {@link mayJoin} allows it;
 * the other kinds form one new request. The caller then verifies identity or sends the link.
 */
export async function fileRequestIn(deps: PrivacyDeps, work: RequestWork, filing: Filing): Promise<FiledRequest> {
  const { tx } = work
  const { about, channel, isProven } = filing
  const subjectKey = requestSubjectHash(deps.subjectKey(), ...subjectNamedBy(about))
  await lockSubject(tx, { subjectKey })
  const open = await openRequestsOf(tx, subjectKey)
  refuseDuringErasure(open, filing)
  const asked = requestKindsInOrder(filing.kinds)
  const met = await lockWithKinds(tx, open, asked)
  const joins = asked.flatMap((kind) => {
    const row = requestToJoin(met, filing, kind)
    return row ? [{ kind, row }] : []
  })
  const kinds = asked.filter((kind) => !joins.some((join) => join.kind === kind))
  const joinedRows = await joinRequests(
    work,
    joins.map(({ row }) => row),
    filing,
  )
  const joined = joins.map(({ kind, row }) => ({ kind, request_id: row.id }))
  const unconfirmed = joinedRows.filter(({ state }) => state === 'received')
  const last = joinedRows.at(-1)
  if (kinds.length === 0 && last)
    return { row: await addStatement(work, last, filing), isNew: false, joined, unconfirmed }

  await boundFilings(tx, { subjectKey, kinds, channel, isProven }, work.now)
  if (kinds.includes('erasure')) await refuseLastAdmin(deps, tx, about)
  const requestId = newId('preq')
  const receivedAt = await takeOver(work, met, filing, kinds, requestId)
  const contact = await contactFor(deps, tx, filing)
  const row = await createRequest(deps, work, filing, { requestId, kinds, subjectKey, receivedAt, contact })
  return { row, isNew: true, joined, unconfirmed }
}

/**
 * Sends the email with the link that the request waits for.
 * @throws Problem `rate_limited` after too many emails
 * @throws Problem `wrong_state` when no address is known
 */
export async function requestLink(work: RequestWork, row: RequestRow, purpose: 'verify' | 'address'): Promise<void> {
  if (row.contact === null)
    throw new Problem(
      'wrong_state',
      'No email address is stored for this agent. An admin must verify the identity of the requester.',
    )
  await boundRequestLinkEmails(work.tx, row.subjectKey, work.now)
  await note(work, row, { event: 'link_sent', details: { purpose }, isSilent: purpose === 'address' })
  if (purpose === 'address') await enqueue(work.tx, addressJob, { requestId: row.id }, { maxAttempts: 12 })
}
