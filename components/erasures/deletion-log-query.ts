import {
  createLoader,
  createSerializer,
  parseAsString,
  parseAsStringLiteral,
  type QueryValues,
} from '#components/frame/query-parsers.ts'

/** As in the contract, which browsers do not load. */
export const deletionKinds = ['erasure', 'record', 'automatic', 'owner'] as const
const dayPattern = /^\d{4}-\d\d-\d\d$/

/** The filters in the address. Days are UTC days, as in the exported file. */
export const deletionFilterParsers = {
  q: parseAsString,
  kind: parseAsStringLiteral(deletionKinds),
  from: parseAsString,
  to: parseAsString,
}
export type DeletionFilters = QueryValues<typeof deletionFilterParsers>
export const addressOf = createSerializer(deletionFilterParsers)
export const loadDeletionFilters = createLoader(deletionFilterParsers)

/** The query for the API. Ignores what is not a day. */
export const deletionQueryOf = ({ q, kind, from, to }: DeletionFilters): Record<string, string> => ({
  ...(q !== null && q.trim() !== '' && { q: q.trim().slice(0, 200) }),
  ...(kind !== null && { kind }),
  ...(from !== null && dayPattern.test(from) && { from: `${from}T00:00:00Z` }),
  ...(to !== null && dayPattern.test(to) && { to: `${to}T23:59:59.999Z` }),
  limit: '50',
})
