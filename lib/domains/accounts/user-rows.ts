import type { Transaction } from '#lib/kernel/context.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { OrganisationMember } from './members-contract.ts'
import { countUsers, listUserRows, type UserRow, userById } from './repository.ts'
import { type AccountState, localeNamed, type Role } from './rules.ts'
import type { UserView } from './users-contract.ts'

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
  created_at: row.created_at.toISOString(),
})
/** The view for managers, without anything that the person does about their own data. */
export const memberView = (row: UserRow): OrganisationMember => ({
  account_id: row.id,
  name: row.name,
  email: row.email,
  role: row.role,
  state: row.states.includes('deactivated') ? 'deactivated' : row.states.includes('invited') ? 'invited' : 'active',
  created_at: row.created_at.toISOString(),
})

/**
 * Returns an account within the transaction. Undefined when it is unknown, or belongs to another organization than the
 * given one.
 */
export async function userRow(tx: Transaction, id: string, organisationId?: string): Promise<UserRow | undefined> {
  const [row] = await userById(tx, { id })
  return row && (organisationId === undefined || row.organisation_id === organisationId) ? row : undefined
}

export interface UserListFilters {
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
