import { createLoader, type inferParserType, parseAsString, parseAsStringLiteral } from 'nuqs/server'
import type { ListedToken } from '#lib/domains/tokens/contract.ts'

export const tokenStates = [
  'active',
  'rotated',
  'expired',
  'revoked',
] as const satisfies readonly ListedToken['state'][]

/** The filters in the address of the token list. */
export const filterParsers = { agent: parseAsString, state: parseAsStringLiteral(tokenStates) }
export type Filters = inferParserType<typeof filterParsers>
export const loadFilters = createLoader(filterParsers)

/** Rows per page. */
const pageSize = 50

/** The query for the API. The id of a foreign agent is omitted, so that a mistyped address shows more rows instead of an error. */
export const queryOf = ({ agent, state }: Filters, own: readonly string[]) => ({
  limit: String(pageSize),
  ...(agent !== null && own.includes(agent) && { agent_id: agent }),
  ...(state && { state }),
})
