import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { seal, unseal } from '#lib/config/secret.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { base62, hashOf } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { RequestContact } from '../ports.ts'
import { lockedRequest, type RequestRow } from '../requests.ts'
import { addMonths, requestLinkEmailsPerHour, requestLinkLifetimes, statusLinkEnd, statusLinkMonths } from '../rules.ts'

export type RequestLinkPurpose = 'verify' | 'cancel' | 'address' | 'status'

/**
 * Creates a link of a request from 32 random bytes; the database stores only the hash. A link to verify or confirm an
 * address replaces the previous one. A link to cancel is valid until a while after the grace period, and a link to the
 * status page until 30 days after the request is closed.
 */
export async function makeRequestLink(
  tx: Transaction,
  row: Pick<RequestRow, 'id' | 'waitingUntil' | 'closedAt'>,
  purpose: RequestLinkPurpose,
  now: Date,
): Promise<string> {
  const token = base62(randomBytes(32), 43)
  const expiresAt =
    purpose === 'status'
      ? // Closing the request sets the end.
        statusLinkEnd(row.closedAt ?? addMonths(now, statusLinkMonths))
      : purpose === 'cancel'
        ? // A late cancellation thus gets a response that lists the erased data.
          new Date((row.waitingUntil ?? now).getTime() + requestLinkLifetimes.cancelledLate)
        : new Date(now.getTime() + requestLinkLifetimes[purpose])
  if (purpose !== 'cancel' && purpose !== 'status')
    await tx.privacyLink.deleteMany({ where: { requestId: row.id, purpose } })
  await tx.privacyLink.create({ data: { hash: hashOf(token), requestId: row.id, purpose, createdAt: now, expiresAt } })
  return token
}

/** Records that an admin saw the links with these secrets, in an email to somebody else. */
export const noteRequestLinksShown = (tx: Transaction, tokens: readonly string[], now: Date) =>
  tx.privacyLink.updateMany({ where: { hash: { in: tokens.map(hashOf) }, shownAt: null }, data: { shownAt: now } })

/**
 * Uses a link and locks its request. A link that an admin saw does not prove who uses it.
 * @throws Problem `link_spent` for an unknown, used, shown or expired link, or one of another purpose
 */
export async function takeRequestLink(
  tx: Transaction,
  token: string,
  purpose: RequestLinkPurpose,
  now: Date,
): Promise<RequestRow> {
  const spent = () =>
    new Problem('link_spent', 'This link was used, has expired or is invalid. Nothing was changed. Request a new link.')
  const record = await tx.privacyLink.findUnique({ where: { hash: hashOf(token) }, select: { requestId: true } })
  // The request is locked first, as everywhere, which avoids deadlocks.
  const row = record && (await lockedRequest(tx, record.requestId))
  const { count } = await tx.privacyLink.updateMany({
    where: { hash: hashOf(token), purpose, usedAt: null, shownAt: null, expiresAt: { gt: now } },
    data: { usedAt: now },
  })
  if (count === 0 || !row) throw spent()
  return row
}

/**
 * Limits the emails with a link to one subject within an hour, regardless of the caller.
 * @throws Problem `rate_limited`
 */
export async function boundRequestLinkEmails(tx: Transaction, subjectKey: string, now: Date): Promise<void> {
  const hourAgo = new Date(now.getTime() - 3_600_000)
  const sent = await tx.privacyRequestEvent.findMany({
    where: { event: { in: ['link_sent', 'address_asked'] }, at: { gt: hourAgo }, request: { subjectKey } },
    select: { at: true },
    orderBy: { at: 'desc' },
    take: requestLinkEmailsPerHour,
  })
  const oldest = sent[requestLinkEmailsPerHour - 1]
  if (!oldest) return
  const seconds = Math.max(1, Math.ceil((oldest.at.getTime() - hourAgo.getTime()) / 1000))
  throw new Problem('rate_limited', {
    detail: `At most ${requestLinkEmailsPerHour} emails with a link are sent to one address per hour. Nothing was changed. Try again in ${seconds} seconds.`,
    headers: { 'Retry-After': String(seconds) },
  })
}

const Sealed = z.strictObject({ email: z.string(), locale: z.enum(['en', 'zh']), requesterName: z.string().optional() })

/** Seals the address for emails about a request: only this installation can read it, and only for this request. */
export const sealContact = (
  key: Uint8Array,
  requestId: string,
  { email, locale, requesterName }: RequestContact,
): Uint8Array<ArrayBuffer> =>
  new Uint8Array(seal(key, Buffer.from(JSON.stringify({ email, locale, requesterName })), requestId))

export const openContact = (key: Uint8Array, requestId: string, sealed: Uint8Array): RequestContact =>
  Sealed.parse(JSON.parse(unseal(key, sealed, requestId).toString('utf8')))
