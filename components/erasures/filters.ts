import {
  createLoader,
  createSerializer,
  parseAsString,
  parseAsStringLiteral,
  type QueryValues,
} from '#components/frame/query-parsers.ts'

export const listedStates = ['planning', 'erasing', 'verifying', 'stuck', 'held', 'failed', 'done'] as const

/** States that have a tab only while they are chosen: the compliance page links them. */
const linkedStates = ['waiting', 'residue', 'unsearched'] as const
export const isLinkedState = (state: string | null): state is (typeof linkedStates)[number] =>
  linkedStates.some((one) => one === state)

/** The filters in the address of the list of deletions. */
export const erasureFilterParsers = {
  state: parseAsStringLiteral([...listedStates, ...linkedStates]),
  q: parseAsString,
}
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
