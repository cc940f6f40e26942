import { z } from 'zod'
import type { Prisma } from '#generated/prisma/client.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import type { EmailSections } from '#lib/stores/mail/email-content.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { EventFacts } from '../contract.ts'
import { hasCopiesToFetch } from '../execution/execution.ts'
import { makeRequestLink, openContact, type RequestLinkPurpose } from '../filing/links.ts'
import { statusPageOf } from '../form/rules.ts'
import type { Agents, PrivacyDeps, RequestContact, RequestLocale } from '../ports.ts'
import { countRequestsForAttention } from '../repository.ts'
import {
  addressJob,
  GraceName,
  isPseudonymous,
  isUnconnected,
  kindsOf,
  lockedRequest,
  notifyAdminJob,
  notifyJob,
  payloadOf,
  type RequestRow,
  requestPartOf,
  StateName,
  waitsForAddress,
} from '../requests.ts'
import { graceEnd, isByOthers, isClosed, leastGraceOfOthers, type RequestKind } from '../rules.ts'
import type { EmailFacts } from './email-facts.ts'
import { addressEmail, dueSection, requestEmail } from './emails.ts'

/**
 * Marks by which emails about a request are found in the mail folder: by account, so that they are deleted with it.
 * Emails about the erasure of the person are marked by the request, which deletes them before its last email. The last
 * email has its own mark, because it stays.
 */
interface EmailMark {
  about: string | undefined
  /** The request itself deletes these emails. */
  isOwn: boolean
}

async function emailMarkOf(tx: Transaction, agents: Pick<Agents, 'ownerOf'>, row: RequestRow): Promise<EmailMark> {
  if (row.subjectKind === 'person' && row.runId !== null) return { about: row.id, isOwn: true }
  const owner = row.agentId === null ? null : await agents.ownerOf(tx, row.agentId)
  return { about: row.accountId ?? owner ?? undefined, isOwn: false }
}
const lastEmailMark = (requestId: string): string => `${requestId}:last`

interface Prepared {
  mark: EmailMark
  contact: RequestContact
  facts: EmailFacts
  events: Prisma.PrivacyRequestEventGetPayload<object>[]
  isLast: boolean
}

const pageOf = ({ origin }: Pick<PrivacyDeps, 'origin'>, purpose: RequestLinkPurpose, token: string): string =>
  `${origin}/privacy/confirm#${purpose}.${token}`

/** Returns false when the account's sessions were ended by a running erasure, or by a grace period in which sign-in stops. */
const canSignIn = (
  { graceSignIn }: Pick<PrivacyDeps, 'graceSignIn'>,
  { accountId, agentId, runId, state }: RequestRow,
): boolean =>
  accountId === null ? agentId !== null : runId === null && (state !== 'waiting' || graceSignIn === 'keep')

/** Returns true when the requester has no console: the status page replaces it. Deleted when the data of the requester is erased. */
const hasStatusPage = (row: RequestRow): boolean =>
  row.channel === 'form' && row.accountId === null && !isPseudonymous(row) && row.runId === null

/** Returns the account of the person, or of the owner of the agent, that the request is about. */
const personOf = async (
  { agents }: Pick<PrivacyDeps, 'agents'>,
  tx: Transaction,
  { accountId, agentId }: RequestRow,
): Promise<string | undefined> => (agentId === null ? accountId : await agents.ownerOf(tx, agentId)) ?? undefined

/** Returns the facts for an email about the events. Creates the links that the email contains. */
async function factsFor(
  deps: PrivacyDeps,
  tx: Transaction,
  row: RequestRow,
  { has, isShut, now }: { has: (event: string) => boolean; isShut: boolean; now: Date },
): Promise<EmailFacts> {
  const { origin } = deps
  const token = (purpose: RequestLinkPurpose) => makeRequestLink(tx, row, purpose, now)
  const link = async (purpose: RequestLinkPurpose) => pageOf(deps, purpose, await token(purpose))
  const isWaiting =
    row.state === 'waiting' && (has('waiting') || has('reminded') || has('expedited') || has('address_moved'))
  return {
    id: row.id,
    kinds: kindsOf(row),
    isAgent: row.subjectKind === 'agent',
    agentId: row.agentId,
    legalDueAt: row.legalDueAt,
    waitingUntil: row.waitingUntil,
    ifConfirmed: ifConfirmed(row, now),
    redacts: row.redacts,
    waitsForCopy: row.state === 'waiting' && hasCopiesToFetch(row),
    hasBegun: row.runId !== null,
    stays: has('cancelled') ? await carriedOut(tx, row) : [],
    receipt: isSigned(row) ? `${origin}/receipts/${row.receiptId}` : undefined,
    page: canSignIn(deps, row) && !isShut ? `${origin}/settings/privacy/requests/${row.id}` : undefined,
    statusPage: hasStatusPage(row) ? statusPageOf(deps, await token('status')) : undefined,
    isUnconnected: isUnconnected(row),
    isParticipant: row.subjectKind === 'participant',
    isClosed: isShut,
    tokensStop: deps.graceTokens === 'stop',
    signInStays: deps.graceSignIn === 'keep',
    privacyEmail: deps.privacyEmail,
    links: {
      ...(row.state === 'received' && has('link_sent') && { verify: await link('verify') }),
      ...(isWaiting && { cancel: await link('cancel') }),
    },
  }
}

async function prepare(
  deps: PrivacyDeps,
  tx: Transaction,
  { requestId, eventIds, now }: { requestId: string; eventIds: string[]; now: Date },
): Promise<Prepared | undefined> {
  const row = await lockedRequest(tx, requestId)
  // No recipient exists, or the address was already deleted.
  if (!row || row.contact === null) return undefined
  const events = await tx.privacyRequestEvent.findMany({
    // A request that was disconnected since has nobody to confirm it.
    where: { requestId, id: { in: eventIds }, ...(isUnconnected(row) && { event: { not: 'link_sent' } }) },
    orderBy: [{ at: 'asc' }, { id: 'asc' }],
  })
  const personId = await personOf(deps, tx, row)
  // Prefers the current address of the account over the sealed address from the time of filing.
  const today = personId === undefined ? undefined : await deps.people.contactOf(tx, personId)
  const isShut = personId !== undefined && (await deps.people.isClosed(tx, personId))
  const has = (event: string) => events.some((one) => one.event === event)
  return {
    mark: await emailMarkOf(tx, deps.agents, row),
    contact: today ?? openContact(deps.contactKey(), row.id, row.contact),
    events,
    isLast: isClosed(StateName.parse(row.state)) && events.some(({ to }) => to !== null && isClosed(to)),
    facts: await factsFor(deps, tx, row, { has, isShut, now }),
  }
}

const isForgotten = async ({ db }: Pick<PrivacyDeps, 'db'>, id: string): Promise<boolean> =>
  (await db.prisma.privacyRequest.count({ where: { id, contact: { not: null } } })) === 0

/** Sends one email about events of a request to its subject. */
const notify = (deps: PrivacyDeps, mail: MailPort) =>
  job({
    name: notifyJob,
    payload: z.strictObject({ requestId: z.string(), events: z.string() }),
    async run(ctx, { requestId, events }) {
      const ready = await ctx.pipeline.transaction((tx) =>
        prepare(deps, tx, { requestId, eventIds: events.split(','), now: ctx.now }),
      )
      if (!ready) return
      const { contact, mark, isLast } = ready
      // Includes emails of an earlier attempt that failed.
      if (isLast && mark.isOwn)
        for (const one of [requestId, lastEmailMark(requestId)]) await mail.folder.removeMarked(one)
      const about = isLast && mark.isOwn ? lastEmailMark(requestId) : mark.about
      const content = requestEmail(
        contact.locale,
        ready.events.map((event) => ({ ...event, details: EventFacts.parse(event.details) })),
        ready.facts,
      )
      if (content) await mail.send({ to: contact.email, ...(about !== undefined && { about }), ...content })
      // The address is deleted after the last email.
      if (ready.isLast)
        await deps.db.prisma.privacyRequest.updateMany({ where: { id: requestId }, data: { contact: null } })
      // Deletes emails that a concurrent job has added since.
      if (mark.isOwn && (isLast || (await isForgotten(deps, requestId)))) await mail.folder.removeMarked(requestId)
    },
  })

/** Sends the email with which the owner of a new address confirms it. */
const confirmAddress = (deps: PrivacyDeps, mail: MailPort) =>
  job({
    name: addressJob,
    payload: z.strictObject({ requestId: z.string() }),
    async run(ctx, { requestId }) {
      const ready = await ctx.pipeline.transaction(async (tx) => {
        const row = await lockedRequest(tx, requestId)
        const email = row && waitsForAddress(row) ? payloadOf(row).changes?.email : undefined
        if (!row?.contact || email === undefined) return undefined
        const { locale } = openContact(deps.contactKey(), row.id, row.contact)
        const link = pageOf(deps, 'address', await makeRequestLink(tx, row, 'address', ctx.now))
        return { email, locale, link, mark: await emailMarkOf(tx, deps.agents, row) }
      })
      if (!ready) return
      const { email, locale, link, mark } = ready
      // The new address is unverified and may belong to somebody else.
      await mail.send({
        to: email,
        ...(mark.about !== undefined && { about: mark.about }),
        ...addressEmail(locale, link),
      })
    },
  })

/** The numbers of requests that are nearly due, overdue, failed, or to be confirmed again. */
async function requestsForAttention(
  db: Database,
  now: Date,
): Promise<{ near: number; overdue: number; failed: number; doubted: number }> {
  const [counts] = await countRequestsForAttention(db, { now })
  return counts ?? { near: 0, overdue: 0, failed: 0, doubted: 0 }
}

/** The section of the daily digest of admins; undefined when no request needs attention. */
export async function dueSectionAt(
  { db, origin }: Pick<PrivacyDeps, 'db' | 'origin'>,
  now: Date,
): Promise<((locale: RequestLocale) => EmailSections[number]) | undefined> {
  const counts = await requestsForAttention(db, now)
  if (counts.near + counts.overdue + counts.failed + counts.doubted === 0) return undefined
  return (locale) => dueSection(locale, { ...counts, page: `${origin}/admin/requests?open=true&sort=due` })
}

/** Sends an admin the number of requests that need attention, if they get such emails at once. */
const notifyAdmin = ({ db, origin, sendToAdmin }: Pick<PrivacyDeps, 'db' | 'origin' | 'sendToAdmin'>) =>
  job({
    name: notifyAdminJob,
    payload: z.strictObject({ accountId: z.string() }),
    async run({ now }, { accountId }) {
      const counts = await requestsForAttention(db, now)
      await sendToAdmin(accountId, (locale) =>
        dueSection(locale, { ...counts, page: `${origin}/admin/requests?open=true&sort=due` }),
      )
    },
  })

/**
 * Jobs that send emails. A job contains only ids: text, links and addresses are loaded when the email is sent. A link
 * is created with its email, so that its lifetime starts then.
 */
export const notifying = (deps: PrivacyDeps, mail: MailPort) => [
  notify(deps, mail),
  confirmAddress(deps, mail),
  notifyAdmin(deps),
]

/** Returns true when the receipt exists. Its id is reserved long before. */
const isSigned = (row: RequestRow): boolean =>
  row.receiptId !== null && ['done', 'partly_done'].includes(requestPartOf(row, 'erasure')?.state ?? '')

function ifConfirmed(row: RequestRow, now: Date): EmailFacts['ifConfirmed'] {
  if (row.state !== 'received' || !kindsOf(row).includes('erasure')) return null
  const least = isByOthers(row) ? leastGraceOfOthers : 'now'
  const { at } = graceEnd(GraceName.parse(row.grace ?? '24h'), row.legalDueAt, now, least)
  return { at, isAtOnce: at <= now }
}

/**
 * Returns the kinds of a cancelled request that were carried out and remain in effect. Copies are omitted, because they
 * expire after four hours.
 */
async function carriedOut(tx: Transaction, row: RequestRow): Promise<RequestKind[]> {
  const done = row.parts.filter(({ state }) => state === 'done').map(({ kind }) => kind)
  // Name and language are corrected before the other parts of a rectification.
  const isCorrected = await tx.privacyRequestEvent.count({ where: { requestId: row.id, event: 'rectified' } })
  return kindsOf(row).filter((kind) =>
    kind === 'rectification' ? isCorrected > 0 || done.includes(kind) : stayingKinds.has(kind) && done.includes(kind),
  )
}
const stayingKinds: ReadonlySet<RequestKind> = new Set<RequestKind>(['restriction', 'objection'])
