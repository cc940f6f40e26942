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

/** Who may come in: not closed, not being erased, and with a password or a linked identity. */
const mayEnter = `(a.deactivated_at IS NULL
    AND (a.password_hash IS NOT NULL
      OR EXISTS (SELECT FROM account_identities i WHERE i.account_id = a.id AND i.unlinked_at IS NULL))
    AND NOT EXISTS (SELECT FROM fenced f WHERE f.kind = 'account' AND f.id = a.id))`
interface StandingAdmin {
  id: string
  stays: boolean
}
const selectAdmins = `SELECT a.id, a.suspended_at IS NULL AND ${mayEnter} AS stays
  FROM accounts a WHERE a.role = 'admin' ORDER BY a.id`
const isOnly = (admins: readonly StandingAdmin[], accountId: string): boolean =>
  admins.some(({ id }) => id === accountId) && !admins.some(({ id, stays }) => id !== accountId && stays)

/** What other domains may ask of accounts, within their own transaction. Outside of one, `db.prisma` takes its place. */
export const accountDirectory = {
  async contactOf(tx: Transaction, accountId: string): Promise<Contact | undefined> {
    const found = await tx.account.findUnique({
      where: { id: accountId },
      select: { email: true, invitedEmail: true, locale: true, name: true },
    })
    if (!found) return undefined
    const { invitedEmail, ...contact } = found
    return { ...contact, email: invitedEmail ?? found.email, locale: localeNamed(found.locale) }
  },

  /** The address at which the person showed that they receive email. */
  async verifiedAddressOf(tx: Transaction, accountId: string): Promise<string | undefined> {
    const found = await tx.account.findFirst({
      where: { id: accountId, emailVerifiedAt: { not: null } },
      select: { email: true },
    })
    return found?.email
  },

  /** Who decides for an organization: its managers, or all its people where there are none; 20 at most. */
  async decidersOf(tx: Transaction, organisationId: string): Promise<string[]> {
    const people = await tx.account.findMany({
      where: {
        ...{ organisationId, deactivatedAt: null },
        OR: [{ passwordHash: { not: null } }, { identities: { some: { unlinkedAt: null } } }],
      },
      select: { id: true, role: true },
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      take: 1_000,
    })
    const managers = people.filter(({ role }) => role === 'manager' || role === 'admin')
    return (managers.length > 0 ? managers : people).slice(0, 20).map(({ id }) => id)
  },

  async byId(tx: Transaction, accountId: string): Promise<KnownAccount | undefined> {
    const found = await tx.account.findUnique({ where: { id: accountId }, select: known })
    return found ? shown(found) : undefined
  },

  /** Whether an admin closed the account, so that nobody signs in to it. */
  isClosed: async (tx: Transaction, accountId: string): Promise<boolean> =>
    (await tx.account.count({ where: { id: accountId, deactivatedAt: { not: null } } })) > 0,

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
    const address = normaliseEmail(email)
    const found =
      (await tx.account.findUnique({ where: { email: address }, select: known })) ??
      // Nobody has the address, and an invitation waits for its owner.
      (await tx.account.findFirst({ where: { invitedEmail: address }, select: known, orderBy: { createdAt: 'desc' } }))
    return found ? shown(found) : undefined
  },

  /**
   * Whether the account is an admin's beside whom no other admin stays: those whose own erasure waits, or is under way, whose account is
   * closed, or who never had a way in, do not count.
   * Two that ask at once wait for each other, so ask in the transaction that then suspends, fences or demotes the account.
   */
  async isLastAdmin(tx: Transaction, accountId: string): Promise<boolean> {
    return isOnly(await tx.$queryRawUnsafe<StandingAdmin[]>(`${selectAdmins} FOR NO KEY UPDATE OF a`), accountId)
  },

  /** As `isLastAdmin`, to be shown: it locks nobody, and decides nothing. */
  async isOnlyAdmin(tx: Transaction, accountId: string): Promise<boolean> {
    return isOnly(await tx.$queryRawUnsafe<StandingAdmin[]>(selectAdmins), accountId)
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

  /** Every admin who may come in, for letters about the installation's duties and for who minds them. */
  async adminContacts(tx: Transaction): Promise<(Contact & { accountId: string })[]> {
    const admins = await tx.$queryRawUnsafe<{ id: string; email: string; locale: string; name: string }[]>(
      `SELECT a.id, a.email, a.locale, a.name FROM accounts a WHERE a.role = 'admin' AND ${mayEnter} ORDER BY a.created_at, a.id`,
    )
    return admins.map(({ id, locale, ...contact }) => ({ ...contact, accountId: id, locale: localeNamed(locale) }))
  },
}
