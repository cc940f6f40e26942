import type { Saying } from '#components/requests/request-rules.ts'
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

/** What the page after asking says in words of its own; anything else it says as the request's own page does. */
export type AskedStanding = keyof typeof standings
const standings = {
  link: ['received'],
  waiting: ['waitingPerson', 'waitingAgent'],
  /** Nothing but a copy is waited for. */
  afterCopy: ['copyFirst'],
  running: ['erasingPerson', 'erasingAgent', 'verifyingPerson', 'verifyingAgent'],
  failed: ['failedErasure'],
  done: ['erased'],
  held: ['partly'],
  heldWhole: ['keptWhole'],
  cancelled: ['cancelledErasure'],
  rejected: ['rejected'],
  /** Of these two nothing is known but what was told once: whose session has ended may have called it off by a letter since. */
  aheadOut: [],
  begunOut: [],
} as const satisfies Record<string, readonly Saying[]>

/** Undefined where the request's own words are to be taken. */
export function askedStanding(saying: Saying): AskedStanding | undefined {
  for (const [standing, sayings] of Object.entries(standings))
    if (sayings.some((one) => one === saying) && isStanding(standing)) return standing
  return undefined
}
const isStanding = (name: string): name is AskedStanding => Object.hasOwn(standings, name)

/** How far an erasure is, by what is under its receipt's id; undefined where no erasure began under it. */
export type UnderReceipt = 'signed' | 'signed_held' | 'under_way' | 'held' | undefined

/**
 * How an erasure stands for whom nothing more can be asked, because their session has ended, or the request names nobody any more: by
 * its receipt alone. Where nothing began it may have been called off, and never have been.
 */
export function standingOut(receipt: UnderReceipt, until: string | undefined, now: Date): AskedStanding {
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
