import type { Transaction } from '#lib/kernel/context.ts'
import { type Locale, localeNamed, normaliseEmail, type Role } from './rules.ts'

/** Where letters to a person go, and in which language. */
export interface Contact {
  email: string
  locale: Locale
  name: string
}
export interface KnownAccount {
  accountId: string
  organisationId: string
  role: Role
  createdAt: Date
}
const known = { id: true, organisationId: true, role: true, createdAt: true } as const
const shown = ({ id, ...fields }: { id: string; organisationId: string; role: Role; createdAt: Date }) => ({
  accountId: id,
  ...fields,
})

/** What other domains may ask of accounts, within their own transaction. Outside of one, `db.prisma` takes its place. */
export const accountDirectory = {
  async contactOf(tx: Transaction, accountId: string): Promise<Contact | undefined> {
    const found = await tx.account.findUnique({
      where: { id: accountId },
      select: { email: true, locale: true, name: true },
    })
    return found ? { ...found, locale: localeNamed(found.locale) } : undefined
  },

  async byId(tx: Transaction, accountId: string): Promise<KnownAccount | undefined> {
    const found = await tx.account.findUnique({ where: { id: accountId }, select: known })
    return found ? shown(found) : undefined
  },

  /** The names of those of the accounts that there are. */
  async namesOf(tx: Transaction, accountIds: readonly string[]): Promise<Map<string, string>> {
    const found = await tx.account.findMany({
      where: { id: { in: [...accountIds] } },
      select: { id: true, name: true },
    })
    return new Map(found.map(({ id, name }) => [id, name]))
  },

  /** In whatever case the address is written. */
  async byEmail(tx: Transaction, email: string): Promise<KnownAccount | undefined> {
    const found = await tx.account.findUnique({ where: { email: normaliseEmail(email) }, select: known })
    return found ? shown(found) : undefined
  },

  /**
   * Whether the account is an admin's beside whom no other admin stays: those whose own erasure waits, or is under way, whose account is
   * closed, or who never had a way in, do not count.
   * Two that ask at once wait for each other, so ask in the transaction that then suspends, fences or demotes the account.
   */
  async isLastAdmin(tx: Transaction, accountId: string): Promise<boolean> {
    const admins = await tx.$queryRaw<{ id: string; leaves: boolean }[]>`
      SELECT id, suspended_at IS NOT NULL OR deactivated_at IS NOT NULL
        OR (password_hash IS NULL AND NOT EXISTS (SELECT FROM account_identities i WHERE i.account_id = accounts.id))
        OR EXISTS (SELECT FROM fenced f WHERE f.kind = 'account' AND f.id = accounts.id) AS leaves
      FROM accounts WHERE role = 'admin' ORDER BY id FOR NO KEY UPDATE OF accounts`
    return admins.some(({ id }) => id === accountId) && !admins.some(({ id, leaves }) => id !== accountId && !leaves)
  },

  /** Whether the first, who manages, and the second belong to one organisation. Nobody manages themself. */
  async sameOrganisation(tx: Transaction, managerId: string, memberId: string): Promise<boolean> {
    if (managerId === memberId) return false
    const found = await tx.account.findMany({
      where: { id: { in: [managerId, memberId] } },
      select: { id: true, organisationId: true, role: true },
    })
    const manager = found.find(({ id }) => id === managerId)
    const member = found.find(({ id }) => id === memberId)
    return (
      manager !== undefined &&
      member?.organisationId === manager.organisationId &&
      (manager.role === 'manager' || manager.role === 'admin')
    )
  },

  /** Every admin, for letters about the installation's duties. */
  async adminContacts(tx: Transaction): Promise<(Contact & { accountId: string })[]> {
    const admins = await tx.account.findMany({
      where: { role: 'admin' },
      select: { id: true, email: true, locale: true, name: true },
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    })
    return admins.map(({ id, locale, ...contact }) => ({ ...contact, accountId: id, locale: localeNamed(locale) }))
  },
}
