import type { Transaction } from '#lib/kernel/context.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type AccountState, accountStates, localeNamed, type Role } from './rules.ts'
import type { OrganisationMember, UserView } from './users-contract.ts'

/** SQL conditions for the states of an account `a`. */
const stateSql = {
  invited:
    '(a.password_hash IS NULL AND NOT EXISTS (SELECT FROM account_identities i WHERE i.account_id = a.id AND i.unlinked_at IS NULL))',
  deactivated: '(a.deactivated_at IS NOT NULL)',
  erasing: "(a.suspended_at IS NOT NULL OR EXISTS (SELECT FROM fenced f WHERE f.kind = 'account' AND f.id = a.id))",
  restricted: '(a.restricted_at IS NOT NULL)',
} as const
const conditionOf = (state: AccountState): string =>
  state === 'active' ? `NOT (${stateSql.invited} OR ${stateSql.deactivated} OR ${stateSql.erasing})` : stateSql[state]

export interface UserRow {
  id: string
  name: string
  email: string
  role: Role
  organisation_id: string
  organisation: string
  locale: string
  states: AccountState[]
  has_password: boolean
  created_at: Date
}
const columns = `a.id, a.name, coalesce(a.invited_email, a.email) AS email, a.role::text AS role, a.organisation_id, o.name AS organisation, a.locale,
  array_remove(ARRAY[${accountStates.map((state) => `CASE WHEN ${conditionOf(state)} THEN '${state}' END`).join(', ')}], NULL) AS states,
  a.password_hash IS NOT NULL AS has_password, a.created_at`
const source = 'accounts a JOIN organisations o ON o.id = a.organisation_id'

export const userView = (row: UserRow): UserView => ({
  account_id: row.id,
  name: row.name,
  email: row.email,
  role: row.role,
  organisation: { organisation_id: row.organisation_id, name: row.organisation },
  locale: localeNamed(row.locale),
  states: row.states,
  has_password: row.has_password,
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

const selectOne = `SELECT ${columns} FROM ${source} WHERE a.id = $1`

/**
 * Returns an account within the transaction. Undefined when it is unknown, or belongs to another organisation than the
 * given one.
 */
export async function userRow(tx: Transaction, id: string, organisationId?: string): Promise<UserRow | undefined> {
  const [row] = await tx.$queryRawUnsafe<UserRow[]>(selectOne, id)
  return row && (organisationId === undefined || row.organisation_id === organisationId) ? row : undefined
}

export interface UserListFilters {
  q?: string | undefined
  role?: Role | undefined
  state?: AccountState | undefined
  organisation?: string | undefined
  cursor?: string | undefined
  limit: number
}
/** Returns a page of accounts, newest first, and the total of all matches. */
export async function userPage(db: Database, { q, role, state, organisation, cursor, limit }: UserListFilters) {
  const after = parseCursor(cursor)
  const values: unknown[] = []
  const param = (value: unknown): string => `$${values.push(value)}`
  const conditions = ['TRUE']
  if (q !== undefined) {
    const pattern = param(`%${q.replace(/[\\%_]/g, '\\$&')}%`)
    conditions.push(`(coalesce(a.invited_email, a.email) ILIKE ${pattern} OR a.name ILIKE ${pattern})`)
  }
  if (role !== undefined) conditions.push(`a.role = ${param(role)}::account_role`)
  if (organisation !== undefined) conditions.push(`a.organisation_id = ${param(organisation)}`)
  if (state !== undefined) conditions.push(conditionOf(state))
  const where = conditions.join(' AND ')
  const [counted] = await db.query<{ n: number }>(
    undefined,
    `SELECT count(*)::int AS n FROM ${source} WHERE ${where}`,
    values,
  )
  const place = after ? `(a.created_at, a.id) < (${param(after.at)}::timestamptz, ${param(after.id)})` : 'TRUE'
  const records = await db.query<UserRow>(
    undefined,
    `SELECT ${columns} FROM ${source} WHERE ${where} AND ${place} ORDER BY a.created_at DESC, a.id DESC LIMIT ${limit + 1}`,
    values,
  )
  return pageOf(records, limit, counted?.n ?? 0, ({ created_at, id }) => ({ at: created_at, id }))
}
