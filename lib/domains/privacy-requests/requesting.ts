import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { sanitize } from '#lib/domains/sanitizer/sanitizer.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { sealContact } from './contact.ts'
import { boundLinkLetters } from './links.ts'
import type { Changes, Contact, PrivacyParts } from './ports.ts'
import { GraceName, KindName, payloadOf, type RequestRow, subjectHash, withParts } from './requests.ts'
import { type Channel, closedStates, type Grace, inOrder, type Kind, legalDueAt } from './rules.ts'
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
}
export interface Filed {
  row: RequestRow
  isNew: boolean
  joined: { kind: Kind; request_id: string }[]
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
async function addWords(work: Work, row: RequestRow, { statement, changes, isProven }: Filing): Promise<RequestRow> {
  if (statement === undefined && !changes) return row
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

/**
 * Files a request: the kinds that are open for the subject are joined, the others make one new request. The caller then shows
 * identity or sends the link.
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
  const openFor = (kind: Kind) =>
    open.find((row) =>
      row.parts.some(
        (part) => part.kind === kind && ['pending', 'running', 'partly_done', 'failed'].includes(part.state),
      ),
    )
  const asked = inOrder(filing.kinds)
  const joined = asked.flatMap((kind) => {
    const row = openFor(kind)
    return row ? [{ kind, request_id: row.id }] : []
  })
  const fresh = asked.filter((kind) => !openFor(kind))
  const last = joined.at(-1)
  const lastRow = last && open.find((row) => row.id === last.request_id)
  if (fresh.length === 0 && lastRow) return { row: await addWords(work, lastRow, filing), isNew: false, joined }

  if (fresh.includes('erasure')) await refuseLastAdmin(parts, tx, about)
  const requestId = newId('preq')
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
      receivedAt: filing.receivedAt,
      legalDueAt: legalDueAt(filing.receivedAt),
      ...(contact && { contact: sealContact(parts.contactKey(), requestId, contact) }),
      ...(Object.keys(words).length > 0 && { payload: words as Prisma.InputJsonObject }),
      parts: { create: fresh.map((kind) => ({ kind: KindName.parse(kind) })) },
    },
    include: withParts,
  })
  await note(work, row, {
    event: 'received',
    to: 'received',
    details: { kinds: fresh.join(','), channel: filing.channel, received_at: filing.receivedAt.toISOString() },
  })
  return { row, isNew: true, joined }
}

/** The letter with the link that the request waits for. Throws `rate_limited`; `wrong_state` where nobody waits for one. */
export async function askForLink(work: Work, row: RequestRow, purpose: 'verify' | 'address'): Promise<void> {
  if (row.contact === null)
    throw new Problem('wrong_state', 'No address is on file for this agent: an admin has to check who asks.')
  await boundLinkLetters(work.tx, row.subjectKey, work.now)
  await note(work, row, { event: 'link_sent', details: { purpose }, isSilent: purpose === 'address' })
  if (purpose === 'address') await enqueue(work.tx, addressJob, { requestId: row.id }, { maxAttempts: 12 })
}
