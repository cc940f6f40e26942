import { agentsOfAccount } from '#lib/domains/agents/queries.ts'
import { holdsInForce } from '#lib/domains/holds/queries.ts'
import { isOnFile } from '#lib/domains/privacy-requests/queries.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { Returned } from '#lib/kernel/operation.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { boundPasswordLinkEmails, endLinks, isFenced, lockAccount } from './links.ts'
import { countUsers, listUserRows, noteWithdrawnInvitation, type UserRow, userById } from './repository.ts'
import { type AccountState, type Locale, localeNamed, type Role } from './rules.ts'
import type { listMembers, UserView } from './users-contract.ts'
import { enqueueNotice } from './writes.ts'

/** Operations that create accounts and organizations. */
export interface AccountMaking {
  createAccount(
    tx: Transaction,
    account: {
      organisationId: string
      email: string
      name: string
      role: Role
      mustChangePassword: boolean
      locale: Locale
      isPending?: boolean
      now: Date
    },
  ): Promise<string>
  createOrganisation(tx: Transaction, name: string, now: Date): Promise<string>
}
interface Invitation {
  organisationId: string
  email: string
  name: string
  role: Role
  locale: Locale
  /** See `NewAccount`. */
  isPending?: boolean
}

export const noAccount = () => new Problem('not_found', 'There is no such account.')

export const userView = (row: UserRow): UserView => ({
  account_id: row.id,
  name: row.name,
  email: row.email,
  role: row.role,
  organisation: { organisation_id: row.organisation_id, name: row.organisation },
  locale: localeNamed(row.locale),
  states: row.states,
  has_password: row.has_password,
  has_second_factor: row.has_second_factor,
  created_at: row.created_at,
})
/** The view for managers, without anything that the person does about their own data. */
export const memberView = (row: UserRow): Returned<typeof listMembers>['data'][number] => ({
  account_id: row.id,
  name: row.name,
  email: row.email,
  role: row.role,
  state: row.states.includes('deactivated') ? 'deactivated' : row.states.includes('invited') ? 'invited' : 'active',
  created_at: row.created_at,
})

/**
 * Returns an account within the transaction. Undefined when it is unknown, or belongs to another organization than the
 * given one.
 */
export async function userRow(tx: Transaction, id: string, organisationId?: string): Promise<UserRow | undefined> {
  const [row] = await userById(tx, { id })
  return row && (organisationId === undefined || row.organisation_id === organisationId) ? row : undefined
}

interface UserListFilters {
  q?: string | undefined
  role?: Role | undefined
  state?: AccountState | undefined
  organisation?: string | undefined
  secondFactor?: 'missing' | undefined
  cursor?: string | undefined
  limit: number
}
/** Returns a page of accounts, newest first, and the total of all matches. */
export async function userPage(
  db: Database,
  { q, role, state, organisation, secondFactor, cursor, limit }: UserListFilters,
) {
  const after = parseCursor(cursor)
  const values = {
    q: q === undefined ? null : `%${q.replace(/[\\%_]/g, '\\$&')}%`,
    role: role ?? null,
    organisation: organisation ?? null,
    second_factor: secondFactor ?? null,
  }
  const filters = (['q', 'role', 'organisation', 'second_factor'] as const).filter((name) => values[name] !== null)
  const [counted] = await countUsers(db, values, { filters, state })
  const records = await listUserRows(
    db,
    { ...values, at: after?.at ?? null, id: after?.id ?? null, limit: limit + 1 },
    { filters, state },
  )
  return pageOf(records, limit, counted?.n ?? 0, ({ created_at, id }) => ({ at: created_at, id }))
}

/**
 * Locks the account and returns it, if it is visible to the caller.
 * @throws Problem `not_found`
 * @throws Problem `fenced` while its erasure runs
 */
export async function lockedUser(tx: Transaction, id: string, organisationId?: string): Promise<UserRow> {
  await lockAccount(tx, id)
  const row = await userRow(tx, id, organisationId)
  if (!row) throw noAccount()
  if (await isFenced(tx, id)) throw new Problem('fenced', 'This account is being erased and cannot be changed.')
  return row
}

/**
 * Creates an account without a password and enqueues the email with the link to choose one.
 * @throws Problem `conflict` when an account uses the address
 */
export async function invite(
  { tx, now }: MutationContext,
  making: AccountMaking,
  invitation: Invitation,
): Promise<UserRow> {
  const id = await making.createAccount(tx, { ...invitation, mustChangePassword: false, now })
  await enqueueNotice(tx, { kind: 'invitation', accountId: id, at: now })
  const row = await userRow(tx, id)
  if (!row) throw noAccount()
  return row
}

/**
 * Sends the invitation again; earlier links stop working.
 * @throws Problem `wrong_state`
 * @throws Problem `rate_limited`
 */
export async function inviteAgain({ tx, now }: MutationContext, row: UserRow): Promise<void> {
  if (!row.states.includes('invited'))
    throw new Problem(
      'wrong_state',
      'This person has already accepted the invitation. To choose a new password, they need a reset link.',
    )
  if (row.states.includes('deactivated'))
    throw new Problem('wrong_state', 'This account is closed, so no email with a link is sent to it. Reopen it first.')
  await boundPasswordLinkEmails(tx, row.id, { purpose: 'invitation', by: 'admin' }, now)
  await endLinks(tx, row.id, now)
  // The account is deleted 30 days after its last email unless it is accepted: see `removeUninvited`.
  await tx.account.update({ where: { id: row.id }, data: { updatedAt: now } })
  await enqueueNotice(tx, { kind: 'invitation', accountId: row.id, at: now })
}

/** Returns true when an agent, a privacy request or a legal hold belongs to the account, which prevents its deletion. */
export async function isOnRecord(tx: Transaction, accountId: string, now: Date): Promise<boolean> {
  // A hold that is created meanwhile waits until the account is deleted, and then finds none.
  await holdsInForce.lock(tx, now)
  return (
    (await agentsOfAccount(tx, accountId)).length > 0 ||
    (await isOnFile(tx, accountId)) ||
    (await holdsInForce.inForce(tx, { account: accountId, agents: [] }, now)).account !== null
  )
}

/**
 * Deletes an account whose invitation nobody accepted, with its links.
 * @throws Problem `wrong_state` when it was accepted, or when an agent, a privacy request or a legal hold belongs to it
 */
export async function withdrawInvitation({ tx, now }: MutationContext, row: UserRow): Promise<void> {
  if (!row.states.includes('invited'))
    throw new Problem('wrong_state', 'This person has already accepted the invitation, so it cannot be withdrawn.')
  if (await isOnRecord(tx, row.id, now))
    throw new Problem(
      'wrong_state',
      'A privacy request, a legal hold or an agent belongs to this account. Nothing was deleted.',
    )
  const since = new Date(now.getTime() - 24 * 3_600_000)
  await noteWithdrawnInvitation(tx, { id: row.organisation_id, since, made: row.created_at })
  await tx.account.delete({ where: { id: row.id } })
}
