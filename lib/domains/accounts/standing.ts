import type { Transaction } from '#lib/kernel/context.ts'
import { freedOf, type Restriction, type RestrictionReason, restrictedBy } from '#lib/kernel/restriction.ts'

/** What the person's agents share: those that they claim later too. */
export interface AccountStanding extends Restriction {
  /** Their erasure was asked for, and its grace runs. */
  suspendedAt: Date | null
}

/** The account's standing, which stays as it is until the transaction ends; undefined without an account. */
export async function standingOf(tx: Transaction, accountId: string): Promise<AccountStanding | undefined> {
  const [row] = await tx.$queryRaw<AccountStanding[]>`
    SELECT restricted_at AS "restrictedAt", restricted_for AS "restrictedFor", suspended_at AS "suspendedAt"
    FROM accounts WHERE id = ${accountId} FOR SHARE`
  return row
}

async function locked(tx: Transaction, accountId: string): Promise<AccountStanding | undefined> {
  await tx.$queryRaw`SELECT 1 FROM accounts WHERE id = ${accountId} FOR NO KEY UPDATE`
  return standingOf(tx, accountId)
}

async function change(
  tx: Transaction,
  accountId: string,
  next: (standing: Restriction) => Restriction,
  now: Date,
): Promise<boolean> {
  const standing = await locked(tx, accountId)
  if (!standing) return false
  const { restrictedAt, restrictedFor } = next(standing)
  const changed = restrictedFor.length !== standing.restrictedFor.length
  if (changed)
    await tx.account.update({ where: { id: accountId }, data: { restrictedAt, restrictedFor, updatedAt: now } })
  return changed
}

/** The account alone; its agents are the agents' domain's. True when it changed. */
export const restrictAccount = (tx: Transaction, accountId: string, reason: RestrictionReason, now: Date) =>
  change(tx, accountId, (standing) => restrictedBy(standing, reason, now), now)
export const freeAccount = (tx: Transaction, accountId: string, reason: RestrictionReason, now: Date) =>
  change(tx, accountId, (standing) => freedOf(standing, reason), now)

/** Ends every open session of the account, but for the one that stays; returns how many that were. */
export async function endSessions(tx: Transaction, accountId: string, now: Date, staying?: string): Promise<number> {
  const { count } = await tx.session.updateMany({
    where: {
      accountId,
      revokedAt: null,
      expiresAt: { gt: now },
      ...(staying !== undefined && { id: { not: staying } }),
    },
    data: { revokedAt: now },
  })
  return count
}

/** Notes that the account waits for its erasure, or waits no more. True when it changed. */
export async function suspendAccount(tx: Transaction, accountId: string, suspendedAt: Date | null): Promise<boolean> {
  const { count } = await tx.account.updateMany({
    where: { id: accountId, suspendedAt: suspendedAt ? null : { not: null } },
    data: { suspendedAt },
  })
  return count > 0
}
