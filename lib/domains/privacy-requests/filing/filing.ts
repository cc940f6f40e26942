import type { Prisma } from '#generated/prisma/client.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { useLink } from '../contract.ts'
import { cancelRequestIn, confirmAddress, executeVerifiedRequest } from '../execution/execution.ts'
import type { Changes, PrivacyDeps, RequestContact } from '../ports.ts'
import { lockSubject } from '../repository.ts'
import {
  addressJob,
  change,
  GraceName,
  isUnconnected,
  KindName,
  kindsOf,
  lockedRequest,
  note,
  notifyParties,
  payloadOf,
  type RequestRow,
  type RequestWork,
  requestSubjectHash,
  StateName,
  withParts,
  workOf,
} from '../requests.ts'
import {
  type Channel,
  closedStates,
  filingsPerDay,
  type Grace,
  graceEnd,
  type IdentityProof,
  isClosed,
  legalDueAt,
  longerGrace,
  type RequestKind,
  requestKindsInOrder,
} from '../rules.ts'
import { boundRequestLinkEmails, sealContact, takeRequestLink } from './links.ts'

/** requester: the keyed hash of the confirmed email address of a request from the form. */
export type About = { account: string } | { agent: string } | { participant: string } | { requester: string }
export interface Filing {
  about: About
  kinds: readonly RequestKind[]
  channel: Channel
  filedBy: string
  receivedAt: Date
  grace?: Grace | undefined
  /** For an erasure: also removes the name from texts of others in graphs. */
  redacts?: boolean | undefined
  statement?: string | undefined
  changes?: Changes | undefined
  /** For a requester: the confirmed address. For a participant: the reported address. Otherwise the address on file is used. */
  contact?: RequestContact
  /** Whether this call proves the caller's identity. */
  isProven: boolean
  /** Whether the caller's scopes allow all of these kinds. If omitted, they allow everything. */
  reaches?: (kinds: readonly RequestKind[]) => boolean
}
/** Adds a statement or changes to an open request, and keeps the earlier ones. */
async function addStatement(work: RequestWork, row: RequestRow, filing: Filing): Promise<RequestRow> {
  const { statement, changes, isProven } = filing
  if (statement === undefined && !changes) return row
  if (!isOnSide(row, filing))
    throw new Problem(
      'conflict',
      'The agent filed the open request and could read this statement. File the request without a statement. Nothing was changed.',
    )
  if (row.state !== 'received' && !isProven)
    throw new Problem(
      'conflict',
      'The open request is already confirmed. Only its subject can add to it, with their password.',
    )
  const before = payloadOf(row)
  if ((before.statements?.length ?? 0) >= 20)
    throw new Problem('conflict', 'The open request already has 20 statements. Wait until it is decided.')
  const after = {
    statements: [...(before.statements ?? []), ...(statement === undefined ? [] : [statement])],
    changes: { ...before.changes, ...changes },
  }
  // A link proves only the address to which it was sent, so it must not confirm the new one.
  if (changes?.email !== undefined)
    await work.tx.privacyLink.deleteMany({ where: { requestId: row.id, purpose: 'address' } })
  return change(work, row, { event: 'added_to', data: { payload: after }, isSilent: true })
}

/**
 * Returns true when request and filing belong to the same side. A token acts for its agent, never for the owner: it
 * joins only requests that the agent filed, and only it joins these.
 */
const isOnSide = (row: RequestRow, { channel, filedBy }: Filing): boolean =>
  channel === 'api' ? row.channel === 'api' && row.filedBy === filedBy : row.channel !== 'api'

/**
 * Returns true when the filing may join the request. A proof of identity must not confirm kinds that somebody else
 * added: with a proof, an unconfirmed request is joined only when all its kinds are requested.
 */
const mayJoin = (row: RequestRow, filing: Filing): boolean =>
  isOnSide(row, filing) &&
  (filing.reaches?.(kindsOf(row)) ?? true) &&
  !(filing.isProven && row.state === 'received' && kindsOf(row).some((kind) => !filing.kinds.includes(kind)))

export const isOpenIn = (row: RequestRow, kind: RequestKind): boolean =>
  row.parts.some((part) => part.kind === kind && ['pending', 'running', 'partly_done', 'failed'].includes(part.state))

/**
 * Moves kinds of an unconfirmed request to the request of a caller who proved identity. A request without remaining
 * kinds is closed.
 */
async function takeOut(work: RequestWork, row: RequestRow, taken: readonly RequestKind[], into: string): Promise<void> {
  const left = kindsOf(row).filter((kind) => !taken.includes(kind))
  const details = { kinds: taken.join(','), request_id: into }
  const noErasure = taken.includes('erasure') ? { grace: null, receiptId: null, redacts: false } : {}
  if (left.length > 0) {
    await work.tx.privacyRequestPart.deleteMany({ where: { requestId: row.id, kind: { in: [...taken] } } })
    await change(work, row, { event: 'taken_over', data: { kinds: left, ...noErasure }, details, isSilent: true })
    return
  }
  await work.tx.privacyRequestPart.updateMany({
    where: { requestId: row.id },
    data: { state: 'cancelled', finishedAt: work.now },
  })
  // The emails about the new request report the rest.
  await change(work, row, {
    event: 'cancelled',
    to: 'cancelled',
    data: { contact: null, ...noErasure },
    details,
    isSilent: true,
    by: 'system',
  })
}

/**
 * Moves newly requested kinds out of requests that the filing does not join. Returns the time from which the legal
 * month counts.
 */
async function takeOver(
  work: RequestWork,
  met: readonly RequestRow[],
  filing: Filing,
  fresh: readonly RequestKind[],
  into: string,
): Promise<Date> {
  let { receivedAt } = filing
  for (const row of met) {
    const taken = fresh.filter((kind) => isOpenIn(row, kind) && (kind === 'erasure' || isOnSide(row, filing)))
    if (row.state !== 'received' && taken.includes('erasure'))
      throw new Problem(
        'conflict',
        'Another requester has already requested the erasure of this agent, and only they can follow or cancel it. Nothing was changed.',
      )
    if (taken.length === 0 || row.state !== 'received' || !filing.isProven) continue
    await takeOut(work, row, taken, into)
    // Counts from the first request. Not for an erasure, because that could cut the grace period chosen now.
    if (!fresh.includes('erasure') && row.receivedAt < receivedAt) receivedAt = row.receivedAt
  }
  return receivedAt
}

/**
 * Sets the grace period of an unconfirmed erasure: the one chosen by the caller with a proof of identity, otherwise the
 * longer of the two. If the legal deadline would cut it, the deadline counts from this call.
 * Redaction of others' texts: as chosen with a proof, otherwise only if both callers asked for it.
 */
async function settleGrace(
  work: RequestWork,
  row: RequestRow,
  { grace, redacts: wanted = false, isProven }: Filing,
): Promise<RequestRow> {
  if (row.state !== 'received' || !kindsOf(row).includes('erasure')) return row
  const before = GraceName.parse(row.grace ?? '24h')
  const asked = grace ?? '24h'
  const next = isProven ? asked : longerGrace(before, asked)
  const isCut = isProven && graceEnd(next, row.legalDueAt, work.now).isShortened
  const redacts = isProven ? wanted : wanted && row.redacts
  if (next === before && redacts === row.redacts && !isCut) return row
  return change(work, row, {
    event: 'added_to',
    data: {
      grace: next,
      redacts,
      ...(isCut && { legalDueAt: legalDueAt(work.now), nearlyToldAt: null, overdueToldAt: null }),
    },
    details: { grace: next, redact: redacts },
    isSilent: true,
  })
}

/** manager: the owner of a project or a manager confirmed the participant's identity. */
export type Proof = 'password' | 'token' | 'link' | 'admin' | 'manager'

/**
 * Records the proof of identity and starts the request or its grace period.
 * @throws Problem `wrong_state` when the request is already verified or closed
 */
export async function verifyRequestIn(
  deps: PrivacyDeps,
  work: RequestWork,
  row: RequestRow,
  proof: Proof,
  /** How an application confirmed the identity of the person on whose behalf it files. */
  identity?: IdentityProof,
): Promise<RequestRow> {
  const state = StateName.parse(row.state)
  if (state !== 'received')
    throw new Problem(
      'wrong_state',
      `The request is ${state.replace('_', ' ')}, and the identity of the requester is already verified.`,
    )
  if (isUnconnected(row))
    throw new Problem(
      'wrong_state',
      'The request came from the form, and only its email address is confirmed. Connect it to an account or participant first, or answer it. Nothing was changed.',
    )
  await work.tx.privacyLink.deleteMany({ where: { requestId: row.id, purpose: 'verify', usedAt: null } })
  // A pause because of doubts about identity ends here.
  const paused = row.pausedAt ? work.now.getTime() - row.pausedAt.getTime() : 0
  const verified = await change(work, row, {
    event: 'verified',
    to: 'verified',
    data: {
      verifiedBy: proof,
      verifiedAt: work.now,
      ...(row.pausedAt && { pausedAt: null, legalDueAt: new Date(row.legalDueAt.getTime() + paused) }),
    },
    details: { by: proof, ...(identity && { identity }) },
    by: proof === 'admin' || proof === 'manager' ? proof : work.by === 'manager' ? 'manager' : 'subject',
  })
  return executeVerifiedRequest(deps, work, verified)
}

/**
 * Uses a link from an email. The token proves that the caller can read the email; nothing else about the caller is
 * checked or disclosed.
 */
export const requestLinkUse = (deps: PrivacyDeps) => ({
  useLink: mutation(useLink, async (ctx, { body: { token, purpose } }) => {
    await deps.countTry(ctx.ip)
    const row = await takeRequestLink(ctx.tx, token, purpose, ctx.now)
    const work = workOf(ctx, 'subject')
    const settled = async () => {
      switch (purpose) {
        case 'verify':
          return verifyRequestIn(deps, work, row, 'link')
        case 'cancel':
          return cancelRequestIn(deps, work, row)
        case 'address':
          return confirmAddress(deps, work, row)
      }
    }
    const next = await settled()
    if (work.entries.length === 0)
      throw new Problem('link_spent', 'This link is no longer needed. The request does not wait for it.')
    await notifyParties(work)
    return {
      body: { data: { purpose, state: StateName.parse(next.state) } },
      resourceId: next.id,
      entries: work.entries,
    }
  }),
})

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
