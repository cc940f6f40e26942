import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { freedOf, type Restriction, type RestrictionReason, restrictedBy } from '#lib/kernel/restriction.ts'
import { lockAccountRow, lockedStatus, lockOpenSession, openSession } from './repository.ts'

/** The restriction and suspension of an account, which also apply to its agents, including those claimed later. */
export interface AccountStatus extends Restriction {
  /** When the grace period of the account's erasure began; null without one. */
  suspendedAt: Date | null
}

/** Returns the account's status, locked until the transaction ends; undefined without an account. */
export async function accountStatusOf(tx: Transaction, accountId: string): Promise<AccountStatus | undefined> {
  const [row] = await lockedStatus(tx, { id: accountId })
  return row
}

async function change(
  tx: Transaction,
  accountId: string,
  next: (restriction: Restriction) => Restriction,
  now: Date,
): Promise<boolean> {
  await lockAccountRow(tx, { id: accountId })
  const status = await accountStatusOf(tx, accountId)
  if (!status) return false
  const { restrictedAt, restrictedFor } = next(status)
  const changed = restrictedFor.length !== status.restrictedFor.length
  if (changed)
    await tx.account.update({ where: { id: accountId }, data: { restrictedAt, restrictedFor, updatedAt: now } })
  return changed
}

/** Restricts only the account; the agents domain restricts its agents. Returns true when it changed. */
export const restrictAccount = (tx: Transaction, accountId: string, reason: RestrictionReason, now: Date) =>
  change(tx, accountId, (restriction) => restrictedBy(restriction, reason, now), now)
export const freeAccount = (tx: Transaction, accountId: string, reason: RestrictionReason, now: Date) =>
  change(tx, accountId, (restriction) => freedOf(restriction, reason), now)

/**
 * Locks the account of a person, then its open session, until the transaction ends: neither the session nor the role of its admin can end
 * before. Changes of roles and closures of accounts lock both in the same order.
 * @throws Problem `sign_in_needed` if the session has ended, `forbidden` if an admin lost the role
 */
export async function requireOpenSession(
  tx: Transaction,
  { accountId, sessionId: id, isAdmin }: Pick<Actor, 'accountId' | 'sessionId' | 'isAdmin'>,
  now: Date,
): Promise<void> {
  if (id === undefined) return
  if (accountId !== undefined) await lockedStatus(tx, { id: accountId })
  if ((await lockOpenSession(tx, { id, now })).length === 0)
    throw new Problem('sign_in_needed', 'Your session was ended during the request. Nothing was changed.')
  // Read after the lock, because a change of the role could have held it.
  if (isAdmin && (await openSession(tx, { id, now }))[0]?.role !== 'admin')
    throw new Problem('forbidden', 'Your account lost the role admin during the request. Nothing was changed.')
}

/** Ends the open sessions of the account, except `staying`. Returns their number. */
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

/** Sets or clears the suspension of an account whose erasure waits. Returns true when it changed. */
export async function suspendAccount(tx: Transaction, accountId: string, suspendedAt: Date | null): Promise<boolean> {
  const { count } = await tx.account.updateMany({
    where: { id: accountId, suspendedAt: suspendedAt ? null : { not: null } },
    data: { suspendedAt },
  })
  return count > 0
}
