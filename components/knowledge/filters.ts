import { beginningOf, endOf } from '#components/frame/local-time.ts'
import { createLoader, parseAsString, parseAsStringLiteral, type QueryValues } from '#components/frame/query-parsers.ts'
import { recordVisibilities } from './knowledge.ts'

export const recordKindFilters = ['trace', 'pattern', 'sop', 'skill'] as const
export const qualities = ['0.25', '0.5', '0.75'] as const

/** The filters in the address of the list. */
export const knowledgeFilterParsers = {
  q: parseAsString.withDefault(''),
  show: parseAsStringLiteral(['mine', 'all'] as const).withDefault('mine'),
  kind: parseAsStringLiteral(recordKindFilters),
  visibility: parseAsStringLiteral(recordVisibilities),
  agent: parseAsString,
  domain: parseAsString,
  from: parseAsString,
  to: parseAsString,
  quality: parseAsStringLiteral(qualities),
}
export type KnowledgeFilters = QueryValues<typeof knowledgeFilterParsers>
export const loadKnowledgeFilters = createLoader(knowledgeFilterParsers)
/** All filters cleared. */
export const noKnowledgeFilters = {
  q: null,
  show: null,
  visibility: null,
  agent: null,
  domain: null,
  from: null,
  to: null,
  quality: null,
} as const

/** Rows per page. */
const pageSize = 25
const isText = (text: string | null, most: number): text is string =>
  text !== null && text.trim() !== '' && text.length <= most && /^\P{Cc}*$/u.test(text)

/**
 * The query for the API; days are in the reader's time zone. Invalid values are omitted, so that a mistyped address shows more rows instead
 * of an error.
 */
export function knowledgeQueryOf(filters: KnowledgeFilters, timeZone: string) {
  const { q, show, kind, visibility, agent, domain, quality } = filters
  const from = filters.from === null ? undefined : beginningOf(filters.from, timeZone)
  const to = filters.to === null ? undefined : endOf(filters.to, timeZone)
  return {
    limit: String(pageSize),
    kind: kind ?? ('unit' as const),
    mine: show === 'mine' ? ('true' as const) : ('false' as const),
    // A search needs a letter or a digit.
    ...(isText(q, 1_000) && /[\p{L}\p{N}]/u.test(q) && { q }),
    ...(visibility && { visibility }),
    ...(isText(agent, 300) && { agent_id: agent }),
    ...(kind !== 'skill' && isText(domain, 300) && { domain: domain.trim() }),
    ...(from && { from: from.toISOString() }),
    ...(to && { to: to.toISOString() }),
    ...(quality && { min_quality: quality }),
  }
}
/** Whether a filter other than owner and kind is set. */
export const isNarrowed = ({ q, visibility, agent, domain, from, to, quality }: KnowledgeFilters): boolean =>
  q !== '' || [visibility, agent, domain, from, to, quality].some((one) => one !== null)
