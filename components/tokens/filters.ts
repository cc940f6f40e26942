import { createLoader, type inferParserType, parseAsString, parseAsStringLiteral } from 'nuqs/server'
import type { ListedToken } from '#lib/domains/tokens/contract.ts'

export const tokenStates = [
  'active',
  'rotated',
  'expired',
  'revoked',
] as const satisfies readonly ListedToken['state'][]

/** What stands in the address of the list of tokens. */
export const filterParsers = { agent: parseAsString, state: parseAsStringLiteral(tokenStates) }
export type Filters = inferParserType<typeof filterParsers>
export const loadFilters = createLoader(filterParsers)

/** Rows that come at once. */
const pageSize = 50

/** As the API takes them. An agent that is none of the person's is left out, so that a mistyped address shows more and not an error. */
export const queryOf = ({ agent, state }: Filters, own: readonly string[]) => ({
  limit: String(pageSize),
  ...(agent !== null && own.includes(agent) && { agent_id: agent }),
  ...(state && { state }),
})
