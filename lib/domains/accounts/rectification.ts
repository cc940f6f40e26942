import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { endLinks } from './links.ts'
import { type Locale, normaliseEmail } from './rules.ts'

/** What of their account a person may have corrected (GDPR art. 16). A new address is confirmed before it comes here. */
export interface AccountChanges {
  name?: string | undefined
  locale?: Locale | undefined
  email?: string | undefined
}

/** Called where a person shows that an address is theirs, and wants to be here: it is no erased one any more. */
export type Unsuppress = (tx: Transaction, kind: 'email', value: string) => Promise<unknown>

/**
 * Corrects an account; returns the names of the fields that changed. With the address, where the account is known from is forgotten,
 * and open links to choose a password end: both belong to the former one. Throws `not_found`, and `conflict` when another account has the address.
 */
export async function rectifyAccount(
  tx: Transaction,
  accountId: string,
  changes: AccountChanges,
  { now, unsuppress }: { now: Date; unsuppress: Unsuppress },
): Promise<string[]> {
  await tx.$queryRaw`SELECT 1 FROM accounts WHERE id = ${accountId} FOR NO KEY UPDATE`
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
    // Two that want one address: the second waits for the first here, and not at the unique index, where it could not be told.
    await tx.$queryRaw`SELECT 1 AS locked FROM (SELECT pg_advisory_xact_lock(hashtext(${`email:${email}`}))) AS l`
    if ((await tx.account.count({ where: { email } })) > 0)
      throw new Problem('conflict', 'An account with this e-mail address exists already. Nothing was changed.')
    await tx.knownSignIn.deleteMany({ where: { accountId } })
    // Links went to the former address, and whoever reads it there would choose the password.
    await endLinks(tx, accountId, now)
    await unsuppress(tx, 'email', email)
  }
  await tx.account.update({
    where: { id: accountId },
    data: { ...after, ...(email !== before.email && { emailVerifiedAt: now }), updatedAt: now },
  })
  return changed
}
