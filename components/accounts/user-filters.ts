import { createLoader, parseAsString, parseAsStringLiteral, type QueryValues } from '#components/frame/query-parsers.ts'
import { type AccountState, accountStates, type Role, roles } from '#lib/domains/accounts/rules.ts'

/** The filters in the addresses of the user list and the member list. */
export const userParsers = {
  q: parseAsString.withDefault(''),
  role: parseAsStringLiteral(roles),
  state: parseAsStringLiteral(accountStates),
  second_factor: parseAsStringLiteral(['missing']),
}
export const memberParsers = { q: userParsers.q }
export type UserPageFilters = QueryValues<typeof userParsers>
export const loadUserFilters = createLoader(userParsers)
export const loadMemberFilters = createLoader(memberParsers)

/** Rows per page. */
const pageSize = '25'

const searched = (q: string) => {
  const text = q.trim().slice(0, 200)
  return text === '' ? {} : { q: text }
}
export type UserQuery = { limit: string; q?: string; role?: Role; state?: AccountState; second_factor?: 'missing' }
/** The query for the API. */
export const userQuery = ({ q, role, state, second_factor }: UserPageFilters): UserQuery => ({
  limit: pageSize,
  ...searched(q),
  ...(role && { role }),
  ...(state && { state }),
  ...(second_factor && { second_factor }),
})
export const memberQuery = ({ q }: { q: string }): { limit: string; q?: string } => ({
  limit: pageSize,
  ...searched(q),
})
