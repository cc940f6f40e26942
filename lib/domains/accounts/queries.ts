import { storedForms } from '#lib/kernel/address-forms.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { namePatterns } from '#lib/kernel/name-search.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { sameName } from '#lib/text/names.ts'
import {
  adminAccounts,
  contactsOfAdmins,
  countEmptyNamed,
  foundPeople,
  newestSignIns,
  organisationOfAccount,
  organisationsWithPeople,
  readNoticesOf,
} from './repository.ts'
import { type Locale, localeNamed, normaliseEmail, type Role } from './rules.ts'

/** The address and language for emails to a person. */
interface AccountContact {
  email: string
  locale: Locale
  name: string
}
interface DirectoryAccount {
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

const isOnly = (admins: readonly { id: string; stays: boolean }[], accountId: string): boolean =>
  admins.some(({ id }) => id === accountId) && !admins.some(({ id, stays }) => id !== accountId && stays)

/** Maximum number of accounts whose names one query returns. */
const namesAtOnce = 10_000

/** Queries about accounts for other domains, within their transaction, or with `db.prisma` outside of one. */
export const accountDirectory = {
  async contactOf(tx: Transaction, accountId: string): Promise<AccountContact | undefined> {
    const record = await tx.account.findUnique({
      where: { id: accountId },
      select: { email: true, invitedEmail: true, locale: true, name: true },
    })
    if (!record) return undefined
    const { invitedEmail, ...contact } = record
    return { ...contact, email: invitedEmail ?? record.email, locale: localeNamed(record.locale) }
  },

  /**
   * Returns the name and the proven address of a person, as far as both have been unchanged since before the time. Empty for a recent
   * change: the person could have chosen a name that means somebody else.
   */
  async namesHeldSince(tx: Transaction, accountId: string, before: Date): Promise<string[]> {
    const record = await tx.account.findFirst({
      where: { id: accountId, nameSince: { lte: before } },
      select: { name: true, email: true, emailVerifiedAt: true },
    })
    return record ? [record.name, ...(record.emailVerifiedAt === null ? [] : [record.email])] : []
  },
  /** Passes the name of every account to `visit`. */
  async everyName(tx: Pick<Transaction, 'account'>, visit: (name: string) => void): Promise<void> {
    for (let after = ''; ; ) {
      const page = await tx.account.findMany({
        where: { id: { gt: after } },
        orderBy: { id: 'asc' },
        take: namesAtOnce,
        select: { id: true, name: true },
      })
      for (const { name } of page) visit(name)
      const last = page.at(-1)
      if (!last) return
      after = last.id
    }
  },
  /** Whether another account has this name in any usual form, or this address, ignoring case. */
  async isBorneByOthers(tx: Transaction, name: string, accountId: string | null): Promise<boolean> {
    const same = { equals: name, mode: 'insensitive' } as const
    const others = await tx.account.count({
      where: { OR: [{ name: same }, { email: same }], ...(accountId !== null && { id: { not: accountId } }) },
    })
    if (others > 0 || name.includes('@')) return others > 0
    const isSame = sameName(name)
    for (let after = ''; ; ) {
      const page = await tx.account.findMany({
        where: { id: { gt: after, ...(accountId !== null && { not: accountId }) } },
        orderBy: { id: 'asc' },
        take: namesAtOnce,
        select: { id: true, name: true },
      })
      if (page.some((one) => isSame(one.name))) return true
      const last = page.at(-1)
      if (!last) return false
      after = last.id
    }
  },

  /** Returns the address if the person has proven that they receive its emails. */
  async verifiedAddressOf(tx: Transaction, accountId: string): Promise<string | undefined> {
    const record = await tx.account.findFirst({
      where: { id: accountId, emailVerifiedAt: { not: null } },
      select: { email: true },
    })
    return record?.email
  },

  /** Returns who decides for an organization: its managers and admins, or all its people if there are none; at most 20. */
  async decidersOf(tx: Transaction, organisationId: string): Promise<string[]> {
    const people = await tx.account.findMany({
      where: {
        organisationId,
        deactivatedAt: null,
        OR: [{ passwordHash: { not: null } }, { identities: { some: { unlinkedAt: null } } }],
      },
      select: { id: true, role: true },
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      take: 1_000,
    })
    const managers = people.filter(({ role }) => role === 'manager' || role === 'admin')
    return (managers.length > 0 ? managers : people).slice(0, 20).map(({ id }) => id)
  },

  /** Returns the oldest account with the role admin. */
  async firstAdmin(tx: Transaction): Promise<DirectoryAccount | undefined> {
    const record = await tx.account.findFirst({
      where: { role: 'admin' },
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      select: known,
    })
    return record ? shown(record) : undefined
  },

  /** Returns all accounts, oldest first. */
  async all(tx: Transaction): Promise<(DirectoryAccount & { email: string; name: string })[]> {
    const records = await tx.account.findMany({
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      select: { ...known, email: true, name: true },
    })
    return records.map(({ id, ...fields }) => ({ accountId: id, ...fields }))
  },

  /** Counts accounts; `members`: those that are not admins. */
  async count(tx: Transaction): Promise<{ accounts: number; members: number; organisations: number }> {
    const [accounts, members, organisations] = await Promise.all([
      tx.account.count(),
      tx.account.count({ where: { role: { not: 'admin' } } }),
      tx.organisation.count(),
    ])
    return { accounts, members, organisations }
  },

  async byId(tx: Transaction, accountId: string): Promise<DirectoryAccount | undefined> {
    const record = await tx.account.findUnique({ where: { id: accountId }, select: known })
    return record ? shown(record) : undefined
  },

  /** Returns the roles of those accounts that exist, by id. */
  async rolesOf(tx: Transaction, accountIds: readonly string[]): Promise<Map<string, Role>> {
    const records = await tx.account.findMany({
      where: { id: { in: [...accountIds] } },
      select: { id: true, role: true },
    })
    return new Map(records.map(({ id, role }) => [id, role]))
  },

  /** Returns true when an admin closed the account, so that nobody can sign in to it. */
  isClosed: async (tx: Transaction, accountId: string): Promise<boolean> =>
    (await tx.account.count({ where: { id: accountId, deactivatedAt: { not: null } } })) > 0,

  /**
   * Returns those of the actors, as the audit log names them, that were admins and are not anymore: accounts that are closed, deleted or have
   * another role. Other actors, and a name from before, are not known to have lost anything.
   */
  async formerAdmins(tx: Transaction, actors: readonly string[]): Promise<Set<string>> {
    const accounts = actors.filter((actor) => actor.startsWith('user:'))
    const admins = await tx.account.findMany({
      where: { id: { in: accounts.map((actor) => actor.slice('user:'.length)) }, role: 'admin', deactivatedAt: null },
      select: { id: true },
    })
    const present = new Set(admins.map(({ id }) => `user:${id}`))
    return new Set(accounts.filter((actor) => !present.has(actor)))
  },

  /** Returns names by account id, without unknown accounts. */
  async namesOf(tx: Transaction, accountIds: readonly string[]): Promise<Map<string, string>> {
    const records = await tx.account.findMany({
      where: { id: { in: [...accountIds] } },
      select: { id: true, name: true },
    })
    return new Map(records.map(({ id, name }) => [id, name]))
  },

  /** Returns accounts whose name, address or id contains the text, by name. */
  async matching(
    tx: Transaction,
    text: string,
    max: number,
  ): Promise<{ accountId: string; name: string; email: string }[]> {
    // Prisma does not escape the wildcards of LIKE.
    const contains = text.replace(/[\\%_]/g, '\\$&')
    const part = { contains, mode: 'insensitive' } as const
    const records = await tx.account.findMany({
      where: { OR: [{ name: part }, { email: part }, { id: { contains } }] },
      orderBy: [{ name: 'asc' }, { id: 'asc' }],
      select: { id: true, name: true, email: true },
      take: max,
    })
    return records.map(({ id, ...shown }) => ({ accountId: id, ...shown }))
  },

  /** Returns the account that uses the address, whatever its case. Invitations that nobody accepted do not count. */
  async withAddress(tx: Transaction, email: string): Promise<DirectoryAccount | undefined> {
    const record =
      (await tx.account.findUnique({ where: { email: normaliseEmail(email) }, select: known })) ??
      (await tx.account.findFirst({
        where: { email: { in: storedForms(email) } },
        select: known,
        orderBy: { createdAt: 'asc' },
      }))
    return record ? shown(record) : undefined
  },

  /** Like `withAddress`, but an open invitation to the address counts too. */
  async byEmail(tx: Transaction, email: string): Promise<DirectoryAccount | undefined> {
    const found = await accountDirectory.withAddress(tx, email)
    if (found) return found
    // No account has the address yet; an invitation to it is open.
    const where = { invitedEmail: { in: storedForms(email) } }
    const record = await tx.account.findFirst({ where, select: known, orderBy: { createdAt: 'desc' } })
    return record ? shown(record) : undefined
  },

  /**
   * Returns true when the account is the only admin that remains. Admins with a waiting or running erasure, with a closed account
   * or without a way to sign in do not count. An admin with a one-time password counts: the operator can renew it.
   * Concurrent calls are serialized, so call it in the transaction that suspends, fences or demotes the account.
   */
  async isLastAdmin(tx: Transaction, accountId: string): Promise<boolean> {
    return isOnly(await adminAccounts(tx, {}, 'lock'), accountId)
  },

  /** Like `isLastAdmin` but without locks: only for display, not for decisions. */
  async isOnlyAdmin(tx: Transaction, accountId: string): Promise<boolean> {
    return isOnly(await adminAccounts(tx, {}, 'read'), accountId)
  },

  /** Returns true when the first account manages the organization of the second. False for oneself. */
  async sameOrganisation(tx: Transaction, managerId: string, memberId: string): Promise<boolean> {
    if (managerId === memberId) return false
    const records = await tx.account.findMany({
      where: { id: { in: [managerId, memberId] } },
      select: { id: true, organisationId: true, role: true },
    })
    const manager = records.find(({ id }) => id === managerId)
    const member = records.find(({ id }) => id === memberId)
    return (
      manager !== undefined &&
      member?.organisationId === manager.organisationId &&
      (manager.role === 'manager' || manager.role === 'admin')
    )
  },

  /** Returns the admins who can sign in, with their addresses. */
  async adminContacts(tx: Transaction): Promise<(AccountContact & { accountId: string })[]> {
    const admins = await contactsOfAdmins(tx, {})
    return admins.map(({ id, locale, ...contact }) => ({ ...contact, accountId: id, locale: localeNamed(locale) }))
  },
}

/** Finds people by name, email address or id: for admins all accounts, for managers those of their organization, for others none. */
export const findPeople = (
  db: Database,
  actor: Pick<Actor, 'accountId' | 'can'>,
  q: string,
  limit: number,
): Promise<{ id: string; name: string; email: string }[]> =>
  foundPeople(db, {
    ...namePatterns(q),
    id: q,
    everyone: actor.can('accounts:admin'),
    manager: actor.accountId ?? null,
    limit,
  })

/** The times and browsers of a person's last sign-ins, newest first, while their sessions are stored; at most 3. */
export const lastSignIns = (
  db: Database,
  accountId: string,
  sessionId: string | undefined,
): Promise<{ at: Date; browser: string; isCurrent: boolean }[]> =>
  newestSignIns(db, { account: accountId, current: sessionId ?? '' })

/** The ids of admins who can sign in, have replaced a one-time password, and are not about to be erased. */
export const activeAdminIds = async (on: Database | Transaction): Promise<string[]> =>
  (await adminAccounts(on, {}, 'read')).filter(({ acts }) => acts).map(({ id }) => id)

/** Returns the number of active admins. */
export const countActiveAdmins = async (db: Database): Promise<number> => (await activeAdminIds(db)).length

export const organisationExists = async (tx: Transaction, id: string): Promise<boolean> =>
  (await tx.organisation.count({ where: { id } })) > 0

/** Ids of the organizations that have people, in order, after `after`. */
export const organisationIdsWithPeople = async (tx: Transaction, after: string, limit: number): Promise<string[]> =>
  (await organisationsWithPeople(tx, { after, limit })).map(({ id }) => id)

/** Number of organizations with one of these names that have neither people nor agents. */
export const countEmptyOrganisations = async (tx: Transaction, names: readonly string[]): Promise<number> =>
  (await countEmptyNamed(tx, { names }))[0]?.n ?? 0

/** The organization and language of an account. */
export async function organisationAndLocale(
  db: Database,
  accountId: string,
): Promise<{ organisationId: string; locale: Locale } | undefined> {
  const [row] = await organisationOfAccount(db, { id: accountId })
  return row && { organisationId: row.organisation_id, locale: localeNamed(row.locale) }
}

/** The language of an account; English if the account does not exist. */
export const localeOf = async (db: Database, accountId: string): Promise<Locale> =>
  (await organisationAndLocale(db, accountId))?.locale ?? localeNamed('')

/** The notifications of the console that the person has read. */
export const noticesReadBy = async (on: Database | Transaction, accountId: string): Promise<Set<string>> =>
  new Set((await readNoticesOf(on, { account: accountId })).map(({ notice }) => notice))
