import { randomBytes } from 'node:crypto'
import type { Transaction } from '#lib/kernel/context.ts'
import { base62, hashOf } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { fenceOfAccount, lockAccountRow } from './repository.ts'
import { type PasswordLinkPurpose, passwordLinkEmailsPerHour, passwordLinkLifetimes } from './rules.ts'

/** Returns true while the account is being erased. */
export const isFenced = async (on: Queryable, accountId: string): Promise<boolean> =>
  (await fenceOfAccount(on, { id: accountId })).length > 0
/** Locks the account for changes of its password, links or status. */
export const lockAccount = (tx: Transaction, accountId: string) => lockAccountRow(tx, { id: accountId })

/** Who requested the email: a signed-in admin or manager, or anybody who knows the address. */
export type EmailRequester = 'admin' | 'anybody'
/**
 * Returns when the next email with a link may be sent; undefined: now. Each email has one link, so the links are
 * counted. Invitations are counted separately, because strangers cannot request them. Admins can send as many resets
 * again as strangers can use up.
 */
async function nextEmailAt(
  tx: Transaction,
  accountId: string,
  { purpose, by }: { purpose: PasswordLinkPurpose; by: EmailRequester },
  now: Date,
): Promise<Date | undefined> {
  const hour = 3_600_000
  const max = purpose === 'reset' && by === 'admin' ? 2 * passwordLinkEmailsPerHour : passwordLinkEmailsPerHour
  const sent = await tx.accountLink.findMany({
    where: { accountId, purpose, createdAt: { gt: new Date(now.getTime() - hour) } },
    select: { createdAt: true },
    orderBy: { createdAt: 'desc' },
    take: max,
  })
  const oldest = sent[max - 1]
  return oldest && new Date(oldest.createdAt.getTime() + hour)
}
/** @throws Problem `rate_limited` when the limit of emails is reached */
export async function boundPasswordLinkEmails(
  tx: Transaction,
  accountId: string,
  email: { purpose: PasswordLinkPurpose; by: EmailRequester },
  now: Date,
): Promise<void> {
  const at = await nextEmailAt(tx, accountId, email, now)
  if (!at) return
  const seconds = Math.max(1, Math.ceil((at.getTime() - now.getTime()) / 1000))
  throw new Problem('rate_limited', {
    detail: `This account has received the maximum number of emails with a link for this hour. Nothing was changed. Try again in ${seconds} seconds.`,
    headers: { 'Retry-After': String(seconds) },
  })
}

/** The recipient of an email with a link. */
export interface Addressee {
  email: string
  locale: string
  organisation: string
  /** The code in the link, made from 32 random bytes; the database stores only its hash. */
  code: string
}
/**
 * Creates a link together with its email, so that its lifetime starts then. Undefined when no email should be sent: the
 * account is deleted, closed or being erased, the invitation was accepted, or the limit is reached.
 * An invitation replaces the previous one. Reset links, which anybody can request, do not, so that nobody can
 * invalidate the link of another.
 */
export async function makePasswordLink(
  tx: Transaction,
  accountId: string,
  email: { purpose: PasswordLinkPurpose; by: EmailRequester },
  now: Date,
): Promise<Addressee | undefined> {
  const { purpose } = email
  await lockAccount(tx, accountId)
  const account = await tx.account.findUnique({
    where: { id: accountId },
    select: {
      email: true,
      invitedEmail: true,
      locale: true,
      passwordHash: true,
      deactivatedAt: true,
      organisation: { select: { name: true } },
    },
  })
  if (!account || account.deactivatedAt || (await isFenced(tx, accountId))) return undefined
  if (purpose === 'invitation' && account.passwordHash !== null) return undefined
  if (await nextEmailAt(tx, accountId, email, now)) return undefined
  if (purpose === 'invitation') await endLinks(tx, accountId, now, purpose)
  const code = base62(randomBytes(32), 43)
  await tx.accountLink.create({
    data: {
      codeHash: hashOf(code),
      accountId,
      purpose,
      createdAt: now,
      expiresAt: new Date(now.getTime() + passwordLinkLifetimes[purpose]),
    },
  })
  return {
    email: account.invitedEmail ?? account.email,
    locale: account.locale,
    organisation: account.organisation.name,
    code,
  }
}
/** Deletes the link of an email that could not be sent, so that it does not count. */
export const dropLink = (tx: Transaction, code: string) =>
  tx.accountLink.deleteMany({ where: { codeHash: hashOf(code), usedAt: null } })

/** Invalidates the account's open links. Their rows still count against the hourly limit. */
export async function endLinks(
  tx: Transaction,
  accountId: string,
  now: Date,
  purpose?: PasswordLinkPurpose,
): Promise<void> {
  await tx.accountLink.updateMany({
    where: { accountId, usedAt: null, expiresAt: { gt: now }, ...(purpose !== undefined && { purpose }) },
    data: { expiresAt: now },
  })
}

export interface TakenLink {
  accountId: string
  purpose: PasswordLinkPurpose
  email: string
  passwordHash: string | null
  mustChangePassword: boolean
  /** Whether only the person could see the link, so that its use proves their address. */
  isProof: boolean
}
/** Records that somebody else saw these links. */
export const noteShown = (tx: Transaction, codes: readonly string[], now: Date) =>
  tx.accountLink.updateMany({ where: { codeHash: { in: codes.map(hashOf) }, shownAt: null }, data: { shownAt: now } })
/**
 * Uses a link and locks its account.
 * @throws Problem `link_spent` for an unknown, used or expired link, or a closed account
 */
export async function takePasswordLink(tx: Transaction, code: string, now: Date): Promise<TakenLink> {
  const spent = () =>
    new Problem('link_spent', 'This link was used, has expired or is invalid. Nothing was changed. Request a new link.')
  const record = await tx.accountLink.findUnique({ where: { codeHash: hashOf(code) }, select: { accountId: true } })
  if (!record) throw spent()
  // The account is locked first, as everywhere, which avoids deadlocks.
  await lockAccount(tx, record.accountId)
  const [taken] = await tx.accountLink.updateManyAndReturn({
    where: { codeHash: hashOf(code), usedAt: null, expiresAt: { gt: now } },
    data: { usedAt: now },
    select: { accountId: true, purpose: true, shownAt: true },
  })
  const account =
    taken &&
    (await tx.account.findUnique({
      where: { id: taken.accountId, deactivatedAt: null },
      select: { email: true, invitedEmail: true, passwordHash: true, mustChangePassword: true },
    }))
  if (!account || (await isFenced(tx, taken.accountId))) throw spent()
  const { invitedEmail, ...known } = account
  const { shownAt, ...used } = taken
  return { ...used, ...known, email: invitedEmail ?? account.email, isProof: shownAt === null }
}
