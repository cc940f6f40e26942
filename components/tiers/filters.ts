import { createLoader, createSerializer, type inferParserType, parseAsString, parseAsStringLiteral } from 'nuqs/server'
import { type TierName, tiers } from '#lib/domains/tokens/tier-rules.ts'
import { usePeriodNames } from '#lib/domains/tokens/usage-rules.ts'

/** What stands in the address of the list of agents. */
export const filterParsers = { q: parseAsString.withDefault(''), tier: parseAsStringLiteral(tiers) }
export type Filters = inferParserType<typeof filterParsers>
export const loadFilters = createLoader(filterParsers)

/** And in that of one agent. */
const periodParsers = { period: parseAsStringLiteral(usePeriodNames).withDefault('24h') }
export const loadPeriod = createLoader(periodParsers)
export const periodAddress = createSerializer(periodParsers)

/** Rows that come at once. */
const pageSize = 25

export type AgentQuery = { limit: string; q?: string; tier?: TierName }

/** As the API takes them. What an address cannot mean is left out, so that a mistyped one shows more and not an error. */
export function queryOf({ q, tier }: Filters): AgentQuery {
  const beginning = q.trim()
  return {
    limit: String(pageSize),
    ...(/^\P{Cc}{1,64}$/u.test(beginning) && { q: beginning }),
    ...(tier && { tier }),
  }
}
