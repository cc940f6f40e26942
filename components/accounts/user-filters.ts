import { createLoader, type inferParserType, parseAsString, parseAsStringLiteral } from 'nuqs/server'
import { type AccountState, accountStates, type Role, roles } from '#lib/domains/accounts/rules.ts'

/** What stands in the address of the list of users, and of the list of members. */
export const userParsers = {
  q: parseAsString.withDefault(''),
  role: parseAsStringLiteral(roles),
  state: parseAsStringLiteral(accountStates),
}
export const memberParsers = { q: userParsers.q }
export type UserFilters = inferParserType<typeof userParsers>
export const loadUserFilters = createLoader(userParsers)
export const loadMemberFilters = createLoader(memberParsers)

/** Rows that come at once. */
const pageSize = '25'

const searched = (q: string) => {
  const text = q.trim().slice(0, 200)
  return text === '' ? {} : { q: text }
}
export type UserQuery = { limit: string; q?: string; role?: Role; state?: AccountState }
/** As the API takes them. */
export const userQuery = ({ q, role, state }: UserFilters): UserQuery => ({
  limit: pageSize,
  ...searched(q),
  ...(role && { role }),
  ...(state && { state }),
})
export const memberQuery = ({ q }: { q: string }): { limit: string; q?: string } => ({
  limit: pageSize,
  ...searched(q),
})
