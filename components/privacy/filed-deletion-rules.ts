import type { RequestSaying } from '#components/requests/request-rules.ts'
import type { RequestView } from '#lib/domains/privacy-requests/contract.ts'

/** The parameters of the page that is shown after an erasure request. */
export interface FiledDeletion {
  requestId: string
  receiptId: string | undefined
  agent: string | undefined
  /** The announced start of the erasure, for people whose session has ended: they can query nothing else. */
  until: string | undefined
  isJoined: boolean
  isAtOnce: boolean
}
type Query = Record<string, string | string[] | undefined>

const textIn = (query: Query, name: string, form: RegExp): string | undefined => {
  const value = query[name]
  return typeof value === 'string' && form.test(value) ? value : undefined
}
/** Undefined if the address names no request. */
export function filedDeletionIn(query: Query): FiledDeletion | undefined {
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

/** The query string of that page, from the answer of the API. */
export function filedDeletionQuery(
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

/** The states that this page words itself. For all others it uses the words of the request page. */
export type FiledDeletionStatus = keyof typeof statuses
const statuses = {
  link: ['received'],
  waiting: ['waitingPerson', 'waitingAgent'],
  /** Only the requested copy delays the erasure. */
  afterCopy: ['copyFirst'],
  running: ['erasingPerson', 'erasingAgent', 'verifyingPerson', 'verifyingAgent'],
  failed: ['failedErasure'],
  done: ['erased'],
  held: ['partly'],
  heldWhole: ['keptWhole'],
  cancelled: ['cancelledErasure'],
  rejected: ['rejected'],
  /** Signed out, only the announced start is known: the person may have called the erasure off by email since. */
  aheadOut: [],
  begunOut: [],
} as const satisfies Record<string, readonly RequestSaying[]>

/** Undefined if the words of the request page apply. */
export function filedDeletionStatus(saying: RequestSaying): FiledDeletionStatus | undefined {
  for (const [standing, sayings] of Object.entries(statuses))
    if (sayings.some((one) => one === saying) && isStanding(standing)) return standing
  return undefined
}
const isStanding = (name: string): name is FiledDeletionStatus => Object.hasOwn(statuses, name)

/** The state of the erasure according to its receipt id; undefined if no erasure began under it. */
export type UnderReceipt = 'signed' | 'signed_held' | 'under_way' | 'held' | undefined

/**
 * The state of an erasure for people who cannot query it, because their session has ended or the request no longer names anybody. Only the
 * receipt id is known. If no erasure began under it, the erasure may have been called off.
 */
export function agentsNotYetFiled(receipt: UnderReceipt, until: string | undefined, now: Date): FiledDeletionStatus {
  switch (receipt) {
    case 'signed':
      return 'done'
    case 'signed_held':
      return 'held'
    case 'held':
      return 'heldWhole'
    case 'under_way':
      return 'running'
    default:
      return until !== undefined && Date.parse(until) > now.getTime() ? 'aheadOut' : 'begunOut'
  }
}
