import { randomBytes } from 'node:crypto'
import { hashOf } from '#lib/kernel/code-hash.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { base62 } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type LinkPurpose, linkLettersPerHour, linkLives } from './rules.ts'

/** Whether the erasure of the account is under way. */
export async function isFenced(tx: Transaction, accountId: string): Promise<boolean> {
  const found = await tx.$queryRaw<unknown[]>`SELECT 1 FROM fenced WHERE kind = 'account' AND id = ${accountId}`
  return found.length > 0
}
/** Locks the account against whoever changes its password, its links or its standing. */
export const lockAccount = (tx: Transaction, accountId: string) =>
  tx.$queryRaw`SELECT 1 FROM accounts WHERE id = ${accountId} FOR NO KEY UPDATE`

/** Who asked for the letter: an admin or manager who is signed in, or whoever knows the address. */
export type LetterAsker = 'admin' | 'anybody'
/**
 * When the next letter with a link may go to the account; undefined: now. Every link was made for a letter. Invitations, which strangers
 * cannot ask for, count apart; of resets an admin has as many beyond those that strangers may use up.
 */
async function nextLetterAt(
  tx: Transaction,
  accountId: string,
  { purpose, by }: { purpose: LinkPurpose; by: LetterAsker },
  now: Date,
): Promise<Date | undefined> {
  const hour = 3_600_000
  const most = purpose === 'reset' && by === 'admin' ? 2 * linkLettersPerHour : linkLettersPerHour
  const sent = await tx.accountLink.findMany({
    where: { accountId, purpose, createdAt: { gt: new Date(now.getTime() - hour) } },
    select: { createdAt: true },
    orderBy: { createdAt: 'desc' },
    take: most,
  })
  const oldest = sent[most - 1]
  return oldest && new Date(oldest.createdAt.getTime() + hour)
}
/** Throws `rate_limited` where another letter would be one too many. */
export async function boundLetters(
  tx: Transaction,
  accountId: string,
  letter: { purpose: LinkPurpose; by: LetterAsker },
  now: Date,
): Promise<void> {
  const at = await nextLetterAt(tx, accountId, letter, now)
  if (!at) return
  const seconds = Math.max(1, Math.ceil((at.getTime() - now.getTime()) / 1000))
  throw new Problem('rate_limited', {
    detail: `No more letters with a link go to this account within the hour. Nothing was changed; try again in ${seconds} seconds.`,
    headers: { 'Retry-After': String(seconds) },
  })
}

/** Whom a letter with a link goes to. */
export interface Addressee {
  email: string
  locale: string
  organisation: string
  /** What stands in the link: 32 random bytes, of which the database has the hash. */
  code: string
}
/**
 * A new link for its letter, so that its time counts from then. Undefined where no letter should go: the account is gone, closed or being
 * erased, an invitation was accepted meanwhile, or the letters of the hour are used up. An invitation takes the place of the one before;
 * links of a reset, which anybody may ask for, live beside each other, so that nobody can spoil another's.
 */
export async function makeLink(
  tx: Transaction,
  accountId: string,
  letter: { purpose: LinkPurpose; by: LetterAsker },
  now: Date,
): Promise<Addressee | undefined> {
  const { purpose } = letter
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
  if (await nextLetterAt(tx, accountId, letter, now)) return undefined
  if (purpose === 'invitation') await endLinks(tx, accountId, now, purpose)
  const code = base62(randomBytes(32), 43)
  await tx.accountLink.create({
    data: {
      codeHash: hashOf(code),
      accountId,
      purpose,
      createdAt: now,
      expiresAt: new Date(now.getTime() + linkLives[purpose]),
    },
  })
  return {
    email: account.invitedEmail ?? account.email,
    locale: account.locale,
    organisation: account.organisation.name,
    code,
  }
}
/** For a letter that could not be sent: it counts as none. */
export const dropLink = (tx: Transaction, code: string) =>
  tx.accountLink.deleteMany({ where: { codeHash: hashOf(code), usedAt: null } })

/** From now on the account's open links do nothing. Their rows still count as letters of the hour. */
export async function endLinks(tx: Transaction, accountId: string, now: Date, purpose?: LinkPurpose): Promise<void> {
  await tx.accountLink.updateMany({
    where: { accountId, usedAt: null, expiresAt: { gt: now }, ...(purpose !== undefined && { purpose }) },
    data: { expiresAt: now },
  })
}

export interface TakenLink {
  accountId: string
  purpose: LinkPurpose
  email: string
  passwordHash: string | null
  mustChangePassword: boolean
}
/** Takes the link and locks its account. Unknown, used, expired, and of an account that is closed are one refusal: `link_spent`. */
export async function takeLink(tx: Transaction, code: string, now: Date): Promise<TakenLink> {
  const spent = () =>
    new Problem('link_spent', 'It was used, has expired, or never was one. Nothing was changed; ask for a new one.')
  const found = await tx.accountLink.findUnique({ where: { codeHash: hashOf(code) }, select: { accountId: true } })
  if (!found) throw spent()
  // The account first, as everywhere: two that use its links wait for each other.
  await lockAccount(tx, found.accountId)
  const [taken] = await tx.accountLink.updateManyAndReturn({
    where: { codeHash: hashOf(code), usedAt: null, expiresAt: { gt: now } },
    data: { usedAt: now },
    select: { accountId: true, purpose: true },
  })
  const account =
    taken &&
    (await tx.account.findUnique({
      where: { id: taken.accountId, deactivatedAt: null },
      select: { email: true, invitedEmail: true, passwordHash: true, mustChangePassword: true },
    }))
  if (!account || (await isFenced(tx, taken.accountId))) throw spent()
  const { invitedEmail, ...known } = account
  return { ...taken, ...known, email: invitedEmail ?? account.email }
}
