import type { RequestView } from '#lib/domains/privacy-requests/contract.ts'

/** What an address names that is shown after an erasure was asked for. */
export interface Asked {
  requestId: string
  receiptId: string | undefined
  agent: string | undefined
  /** When it begins, as it was told then: for whom nothing more can be asked, because their session has ended. */
  until: string | undefined
  isJoined: boolean
  isAtOnce: boolean
}
type Query = Record<string, string | string[] | undefined>

const textIn = (query: Query, name: string, form: RegExp): string | undefined => {
  const value = query[name]
  return typeof value === 'string' && form.test(value) ? value : undefined
}
/** Undefined where the address names none. */
export function askedIn(query: Query): Asked | undefined {
  const requestId = textIn(query, 'request', /^preq_[0-9A-Za-z]{22}$/)
  if (query.step !== 'done' || requestId === undefined) return undefined
  return {
    requestId,
    receiptId: textIn(query, 'receipt', /^rcpt_[0-9A-Za-z]{22}$/),
    agent: textIn(query, 'agent', /^[\w.:-]{1,200}$/),
    until: textIn(query, 'until', /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
    isJoined: query.joined === '1',
    isAtOnce: query.begin === 'now',
  }
}

/** The same as an address's query, of what the API answered. */
export function askedQuery(
  { id, receipt_id: receipt, waiting_until: until, grace }: RequestView,
  { agent, isJoined }: { agent: string | undefined; isJoined: boolean },
): string {
  const query = new URLSearchParams({ step: 'done', request: id })
  if (grace === 'now') query.set('begin', 'now')
  if (receipt !== null) query.set('receipt', receipt)
  if (until !== null) query.set('until', until)
  if (agent !== undefined) query.set('agent', agent)
  if (isJoined) query.set('joined', '1')
  return query.toString()
}

/** afterCopy: nothing but a copy is waited for. waitingOut: the same as waiting, for whom signing in is closed meanwhile. */
export type AskedStanding =
  | 'link'
  | 'waiting'
  | 'waitingOut'
  | 'afterCopy'
  | 'running'
  | 'failed'
  | 'done'
  | 'held'
  | 'heldWhole'
  | 'cancelled'
  | 'other'

interface Detail extends Pick<RequestView, 'state' | 'waiting_until' | 'parts'> {
  erasure: { fenced_at: string | null } | null
}
/** A copy that was asked for with it is neither fetched nor gone. */
export const waitsForCopy = ({ parts }: Pick<RequestView, 'parts'>): boolean =>
  parts.some(({ outcome: { export_id: id, copy } }) => id !== undefined && copy !== 'fetched' && copy !== 'gone')

/**
 * How an erasure stands. Whose session has ended cannot ask for the request any more (`detail` undefined): they are told from what they
 * were told then, and from whether the receipt is signed.
 */
export function askedStanding(
  detail: Detail | undefined,
  { until, isSigned }: { until: string | undefined; isSigned: boolean },
  now: Date,
): AskedStanding {
  const isAhead = (at: string | null | undefined): boolean => typeof at === 'string' && Date.parse(at) > now.getTime()
  if (detail === undefined) return isSigned ? 'done' : isAhead(until) ? 'waitingOut' : 'running'
  switch (detail.state) {
    case 'received':
      return 'link'
    case 'waiting':
      return waitsForCopy(detail) && !isAhead(detail.waiting_until) ? 'afterCopy' : 'waiting'
    case 'running':
    case 'verifying':
      return 'running'
    case 'completed':
      return 'done'
    case 'partly_completed':
      return detail.erasure?.fenced_at === null ? 'heldWhole' : 'held'
    case 'failed':
      return 'failed'
    case 'cancelled':
    case 'rejected':
      return 'cancelled'
    case 'verified':
      return 'other'
  }
}
