import {
  createLoader,
  createSerializer,
  parseAsString,
  parseAsStringLiteral,
  type QueryValues,
} from '#components/frame/query-parsers.ts'
import { type TierName, tiers, usePeriodNames } from '#lib/domains/tokens/rules.ts'

/** The filters in the address of the agent list. */
export const tierFilterParsers = { q: parseAsString.withDefault(''), tier: parseAsStringLiteral(tiers) }
export type AgentTierFilters = QueryValues<typeof tierFilterParsers>
export const loadTierFilters = createLoader(tierFilterParsers)

/** The filter in the address of an agent page. */
const periodParsers = { period: parseAsStringLiteral(usePeriodNames).withDefault('24h') }
export const loadUsagePeriod = createLoader(periodParsers)
export const usagePeriodAddress = createSerializer(periodParsers)

/** Rows per page. */
const pageSize = 25

export type AgentQuery = { limit: string; q?: string; tier?: TierName }

/** The query for the API. Invalid values are omitted, so that a mistyped address shows more rows instead of an error. */
export function tierQueryOf({ q, tier }: AgentTierFilters): AgentQuery {
  const beginning = q.trim()
  return {
    limit: String(pageSize),
    ...(/^\P{Cc}{1,64}$/u.test(beginning) && { q: beginning }),
    ...(tier && { tier }),
  }
}
