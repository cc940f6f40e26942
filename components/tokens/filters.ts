import { createLoader, parseAsString, parseAsStringLiteral, type QueryValues } from '#components/frame/query-parsers.ts'
import type { ListedToken } from '#lib/domains/tokens/contract.ts'

export const tokenStateFilters = [
  'active',
  'rotated',
  'expired',
  'revoked',
] as const satisfies readonly ListedToken['state'][]

/** The filters in the address of the token list. */
export const tokenFilterParsers = {
  q: parseAsString,
  agent: parseAsString,
  state: parseAsStringLiteral(tokenStateFilters),
}
export type TokenFilters = QueryValues<typeof tokenFilterParsers>
export const loadTokenFilters = createLoader(tokenFilterParsers)

/** Rows per page. */
const pageSize = 50

/** The query for the API. The id of a foreign agent is omitted, so that a mistyped address shows more rows instead of an error. */
export const tokenQueryOf = ({ q, agent, state }: TokenFilters, own: readonly string[]) => ({
  limit: String(pageSize),
  ...(agent !== null && own.includes(agent) && { agent_id: agent }),
  ...(state && { state }),
  ...(q !== null && q.trim() !== '' && { q: q.trim().slice(0, 64) }),
})
