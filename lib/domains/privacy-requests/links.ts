import { randomBytes } from 'node:crypto'
import { hashOf } from '#lib/kernel/code-hash.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { base62 } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { lockedRequest, type RequestRow } from './requests.ts'
import { linkLettersPerHour, linkLives } from './rules.ts'

export type LinkPurpose = 'verify' | 'cancel' | 'address'

/**
 * A new link of a request: 32 random bytes, of which the database has the hash. One that verifies or confirms takes the place of the
 * one before; those that cancel live as long as the grace, and a day.
 */
export async function makeLink(
  tx: Transaction,
  row: Pick<RequestRow, 'id' | 'waitingUntil'>,
  purpose: LinkPurpose,
  now: Date,
): Promise<string> {
  const token = base62(randomBytes(32), 43)
  const expiresAt =
    purpose === 'cancel'
      ? // Whoever comes too late is told what has gone already.
        new Date((row.waitingUntil ?? now).getTime() + linkLives.cancelledLate)
      : new Date(now.getTime() + linkLives[purpose])
  if (purpose !== 'cancel') await tx.privacyLink.deleteMany({ where: { requestId: row.id, purpose } })
  await tx.privacyLink.create({ data: { hash: hashOf(token), requestId: row.id, purpose, createdAt: now, expiresAt } })
  return token
}

/** Takes the link and locks its request. Unknown, used, expired and of another purpose are one refusal: `link_spent`. */
export async function takeLink(tx: Transaction, token: string, purpose: LinkPurpose, now: Date): Promise<RequestRow> {
  const spent = () =>
    new Problem('link_spent', 'It was used, has expired, or never was one. Nothing was changed; ask for a new one.')
  const found = await tx.privacyLink.findUnique({ where: { hash: hashOf(token) }, select: { requestId: true } })
  // The request first, as everywhere: two that change it wait for each other in one order.
  const row = found && (await lockedRequest(tx, found.requestId))
  const { count } = await tx.privacyLink.updateMany({
    where: { hash: hashOf(token), purpose, usedAt: null, expiresAt: { gt: now } },
    data: { usedAt: now },
  })
  if (count === 0 || !row) throw spent()
  return row
}

/** At most so many letters with a link go to one subject within an hour, whoever asks. Throws `rate_limited`. */
export async function boundLinkLetters(tx: Transaction, subjectKey: string, now: Date): Promise<void> {
  const hourAgo = new Date(now.getTime() - 3_600_000)
  const sent = await tx.privacyRequestEvent.findMany({
    where: { event: { in: ['link_sent', 'address_asked'] }, at: { gt: hourAgo }, request: { subjectKey } },
    select: { at: true },
    orderBy: { at: 'desc' },
    take: linkLettersPerHour,
  })
  const oldest = sent[linkLettersPerHour - 1]
  if (!oldest) return
  const seconds = Math.max(1, Math.ceil((oldest.at.getTime() - hourAgo.getTime()) / 1000))
  throw new Problem('rate_limited', {
    detail: `${linkLettersPerHour} letters with a link go to one address within an hour. Nothing was changed; try again in ${seconds} seconds.`,
    headers: { 'Retry-After': String(seconds) },
  })
}
