import {
  createLoader,
  createSerializer,
  parseAsString,
  parseAsStringLiteral,
  type QueryValues,
} from '#components/frame/query-parsers.ts'
import {
  type Channel,
  channels,
  type RequestKind,
  type RequestState,
  requestKinds,
  states,
} from '#lib/domains/privacy-requests/rules.ts'

export const queueViews = ['true', 'false', 'all'] as const
export const dues = ['week', 'overdue', 'late'] as const
export const sorts = ['due', 'received'] as const

/** The filters in the address; defaults are omitted. `assignee` is `me`, `none`, or the id of an admin. */
export const queueFilterParsers = {
  open: parseAsStringLiteral(queueViews).withDefault('true'),
  state: parseAsStringLiteral(states),
  kind: parseAsStringLiteral(requestKinds),
  channel: parseAsStringLiteral(channels),
  due: parseAsStringLiteral(dues),
  assignee: parseAsString,
  q: parseAsString,
  hold: parseAsString,
  sort: parseAsStringLiteral(sorts).withDefault('due'),
}
export type QueueFilterValues = QueryValues<typeof queueFilterParsers>
export const loadQueueFilters = createLoader(queueFilterParsers)
export const addressOf = createSerializer(queueFilterParsers)

/** Rows per page. */
const pageSize = 50
const isId = (text: string, kind: 'usr' | 'hold') => new RegExp(`^${kind}_[0-9A-Za-z]{22}$`).test(text)

export type RequestQuery = {
  open?: 'true' | 'false'
  state?: RequestState
  kind?: RequestKind
  channel?: Channel
  due?: (typeof dues)[number]
  assignee?: string
  q?: string
  hold?: string
  sort: (typeof sorts)[number]
  limit: string
}

/** The query for the API. Invalid values are omitted, so that a mistyped address shows more rows instead of an error. */
export function queueQueryOf(filters: QueueFilterValues, me: string): RequestQuery {
  const { open, state, kind, channel, due, assignee, q, hold, sort } = filters
  const who = assignee === 'me' ? me : assignee
  return {
    ...(open !== 'all' && { open }),
    ...(state && { state }),
    ...(kind && { kind }),
    ...(channel && { channel }),
    ...(due && { due }),
    ...(who !== null && (who === 'none' || isId(who, 'usr')) && { assignee: who }),
    ...(q !== null && q.trim() !== '' && { q: q.trim().slice(0, 100) }),
    ...(hold !== null && isId(hold, 'hold') && { hold }),
    sort,
    limit: String(pageSize),
  }
}
/** Whether a filter other than the view and the order is set. */
export const isQueueFiltered = ({ open: _open, sort: _sort, ...rest }: QueueFilterValues): boolean =>
  Object.values(rest).some((value) => value !== null && value !== '')
