import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { endLinks } from './links.ts'
import { lockAccountRow, lockEmail } from './repository.ts'
import { type Locale, normaliseEmail } from './rules.ts'

/** Fields of an account that a person can have corrected (GDPR art. 16). A new address must be confirmed before. */
export interface AccountChanges {
  name?: string | undefined
  locale?: Locale | undefined
  email?: string | undefined
}

/** Removes an address from the suppression list after its owner showed that they want an account. */
export type Unsuppress = (tx: Transaction, kind: 'email', value: string) => Promise<unknown>

/**
 * Corrects an account and returns the names of the changed fields. A new address deletes the known sign-ins and ends
 * open links to choose a password, which belong to the former address.
 * @throws Problem `not_found`
 * @throws Problem `conflict` when another account uses the address
 */
export async function rectifyAccount(
  tx: Transaction,
  accountId: string,
  changes: AccountChanges,
  { now, unsuppress }: { now: Date; unsuppress: Unsuppress },
): Promise<string[]> {
  await lockAccountRow(tx, { id: accountId })
  const before = await tx.account.findUnique({
    where: { id: accountId },
    select: { name: true, locale: true, email: true },
  })
  if (!before) throw new Problem('not_found', 'There is no such account.')
  const { name = before.name, locale = before.locale } = changes
  const email = changes.email === undefined ? before.email : normaliseEmail(changes.email)
  const after = { name, locale, email }
  const changed = (['name', 'locale', 'email'] as const).filter((field) => after[field] !== before[field])
  if (changed.length === 0) return []
  if (email !== before.email) {
    // Concurrent calls for one address wait here. At the unique index, the second one would fail without a clear error.
    await lockEmail(tx, { email })
    if ((await tx.account.count({ where: { email } })) > 0)
      throw new Problem('conflict', 'An account with this email address already exists. Nothing was changed.')
    await tx.knownSignIn.deleteMany({ where: { accountId } })
    // The links were sent to the former address, whose reader could choose the password.
    await endLinks(tx, accountId, now)
    await unsuppress(tx, 'email', email)
  }
  await tx.account.update({
    where: { id: accountId },
    data: { ...after, ...(email !== before.email && { emailVerifiedAt: now }), updatedAt: now },
  })
  return changed
}
