import {
  createLoader,
  createSerializer,
  parseAsString,
  parseAsStringLiteral,
  type QueryValues,
} from '#components/frame/query-parsers.ts'

export const listedStates = ['planning', 'erasing', 'verifying', 'stuck', 'held', 'failed', 'done'] as const

/** The filters in the address of the list of deletions. */
export const erasureFilterParsers = { state: parseAsStringLiteral(listedStates), q: parseAsString }
export type ErasureFilters = QueryValues<typeof erasureFilterParsers>
export const loadErasureFilters = createLoader(erasureFilterParsers)
const serialize = createSerializer(erasureFilterParsers)
export const erasuresAddress = (filters: Partial<ErasureFilters>): string => serialize('/admin/erasures', filters)

/** The query for the API. */
export const erasureQueryOf = ({ state, q }: ErasureFilters) => ({
  ...(state && { state }),
  ...(q !== null && q.trim() !== '' && { q: q.trim().slice(0, 100) }),
  limit: '50',
})
