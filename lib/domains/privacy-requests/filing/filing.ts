import type { Prisma } from '#generated/prisma/client.ts'
import type { PrivacyDeps, RequestContact } from '#lib/domains/privacy-requests/ports.ts'
import { lockSubject } from '#lib/domains/privacy-requests/repository.ts'
import {
  GraceName,
  KindName,
  lockedRequest,
  type RequestRow,
  requestSubjectHash,
  StateName,
  withParts,
} from '#lib/domains/privacy-requests/requests.ts'
import {
  closedStates,
  isClosed,
  legalDueAt,
  type RequestKind,
  requestKindsInOrder,
} from '#lib/domains/privacy-requests/rules.ts'
import { addressJob, note, type RequestWork } from '#lib/domains/privacy-requests/timeline.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { sealContact } from './contact.ts'
import { boundFilings } from './filing-bound.ts'
import { type About, addStatement, type Filing, isOpenIn, mayJoin, settleGrace, takeOver } from './joining.ts'
import { boundRequestLinkEmails } from './links.ts'

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
  about: About,
): Promise<RequestContact | undefined> {
  if ('account' in about) return people.contactOf(tx, about.account)
  // An address that an application reported is unverified: no email is sent to it.
  if ('participant' in about) return undefined
  const owner = await agents.ownerOf(tx, about.agent)
  return owner ? people.contactOf(tx, owner) : undefined
}

/** Erasing the last admin would leave the installation without an admin. */
async function refuseLastAdmin({ people }: PrivacyDeps, tx: Transaction, about: About): Promise<void> {
  if (!('account' in about) || (await people.byId(tx, about.account))?.role !== 'admin') return
  if (await people.isLastAdmin(tx, about.account))
    throw new Problem(
      'conflict',
      'This is the last admin of the installation, so the account cannot be erased. Make another account an admin first (kp admin account role <email> admin), then try again. Nothing was changed.',
    )
}

function namedBy(about: About): ['account' | 'agent' | 'participant', string] {
  if ('account' in about) return ['account', about.account]
  return 'agent' in about ? ['agent', about.agent] : ['participant', about.participant]
}

/**
 * Files a request. Kinds that are already open for the subject join the open request where {@link mayJoin} allows it;
 * the other kinds form one new request. The caller then verifies identity or sends the link.
 */
export async function fileRequestIn(deps: PrivacyDeps, work: RequestWork, filing: Filing): Promise<FiledRequest> {
  const { tx } = work
  const { about } = filing
  const [kindOfSubject, id] = namedBy(about)
  const subjectKey = requestSubjectHash(deps.subjectKey(), kindOfSubject, id)
  await lockSubject(tx, { subjectKey })
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
      'An erasure of this subject is running, so it accepts no further requests. Nothing was changed.',
    )
  const asked = requestKindsInOrder(filing.kinds)
  const met: RequestRow[] = []
  for (const { id: openId } of open.toSorted((one, other) => (one.id < other.id ? -1 : 1)))
    if (open.some((row) => row.id === openId && asked.some((kind) => isOpenIn(row, kind)))) {
      const row = await lockedRequest(tx, openId)
      if (row && !isClosed(StateName.parse(row.state))) met.push(row)
    }
  met.sort((one, other) => one.receivedAt.getTime() - other.receivedAt.getTime() || (one.id < other.id ? -1 : 1))
  // A subject has one open erasure. An owner joins the erasure that the agent asked for, but not the reverse.
  const isTheErasure = (row: RequestRow) =>
    filing.channel !== 'api' && row.state !== 'received' && isOpenIn(row, 'erasure')
  const openFor = (kind: RequestKind) =>
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
    const row = await addStatement(work, last, filing)
    return { row, isNew: false, joined, unconfirmed: joinedRows.filter(({ state }) => state === 'received') }
  }

  await boundFilings(tx, { subjectKey, kinds: fresh, channel: filing.channel, isProven: filing.isProven }, work.now)
  if (fresh.includes('erasure')) await refuseLastAdmin(deps, tx, about)
  const requestId = newId('preq')
  const receivedAt = await takeOver(work, met, filing, fresh, requestId)
  const contact = await contactFor(deps, tx, about)
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
      participantId: 'participant' in about ? about.participant : null,
      subjectKind: kindOfSubject === 'account' ? 'person' : kindOfSubject,
      subjectKey,
      filedBy: filing.filedBy,
      grace: fresh.includes('erasure') ? GraceName.parse(filing.grace ?? '24h') : null,
      redacts: fresh.includes('erasure') && (filing.redacts ?? false),
      receiptId: fresh.includes('erasure') ? newId('rcpt') : null,
      receivedAt,
      legalDueAt: legalDueAt(receivedAt),
      ...(contact && { contact: sealContact(deps.contactKey(), requestId, contact) }),
      ...(Object.keys(words).length > 0 && { payload: words as Prisma.InputJsonObject }),
      parts: { create: fresh.map((kind) => ({ kind: KindName.parse(kind) })) },
    },
    include: withParts,
  })
  await note(work, row, {
    event: 'received',
    to: 'received',
    details: {
      kinds: fresh.join(','),
      channel: filing.channel,
      received_at: receivedAt.toISOString(),
      ...(row.redacts && { redact: true }),
    },
  })
  return { row, isNew: true, joined, unconfirmed: joinedRows.filter(({ state }) => state === 'received') }
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
