import type { RequestSaying } from '#components/requests/request-rules.ts'
import type { ErasureProgress } from '#lib/domains/erasure/contract.ts'
import { isPseudonymized } from '#lib/domains/erasure/rules.ts'
import type { planErasure, RequestView } from '#lib/domains/privacy-requests/contract.ts'
import { type Grace, graceEnd, legalDueAt } from '#lib/domains/privacy-requests/rules.ts'
import type { Output } from '#lib/kernel/operation.ts'

type Holdings = Output<typeof planErasure>['data']['holdings']

/** The counts of an erasure, for the sentence about its consequences. */
export interface Consequences {
  units: number
  skills: number
  agents: number
  tokens: number
  /** Projects without data of others. */
  projects: number
  /** All other erased records, except the account and the agent itself. */
  others: number
  /** Records of others in which a pseudonym replaces the name. */
  mentions: number
  /** Requests that lose names and texts but are retained otherwise. */
  requests: number
  /** Earlier receipts, which no longer name their owner. */
  owners: number
  /** Records that are erased. */
  gone: number
  /** Records that are retained without the name and texts: mentions, requests and receipts. */
  changed: number
  /** Records that a legal hold retains for now. */
  held: number
}

/** Sums up a plan. Pseudonymized records are not in `gone`. `gone`, `changed` and `held` add up to the total of the inventory. */
export function consequencesOf(holdings: Holdings): Consequences {
  const count = (name: string): number => holdings.find(({ holder }) => holder === name)?.count ?? 0
  const total = (some: Holdings): number => some.reduce((sum, one) => sum + one.count, 0)
  const changed = total(holdings.filter(({ holder }) => isPseudonymized(holder)))
  const gone = total(holdings) - changed
  const named = {
    units: count('knowledge.units'),
    skills: count('knowledge.skills'),
    agents: count('agents'),
    tokens: count('tokens'),
    projects: count('projects.projects'),
  }
  return {
    ...named,
    mentions: count('knowledge.references') + count('projects.references'),
    requests: count('privacy.requests'),
    owners: count('erasure.owners'),
    changed,
    gone,
    others: gone - Object.values(named).reduce((sum, one) => sum + one, 0) - count('accounts'),
    held: holdings.reduce((sum, { held }) => sum + held.reduce((kept, one) => kept + one.count, 0), 0),
  }
}

/** When an erasure that is confirmed now begins: always well before the legal time limit of the answer. */
export const beginsAt = (grace: Grace, now: Date): Date => graceEnd(grace, legalDueAt(now), now).at

const words = ['DELETE', '删除']
/** Whether the text is the confirmation word in either language, in any case and also in full-width letters. */
export const isDeleteWord = (typed: string): boolean => words.includes(typed.normalize('NFKC').trim().toUpperCase())

export const deletionSteps = ['what', 'copy', 'confirm'] as const
/** What happens to the person's name in records that other people wrote in graphs. */
export const nameChoices = ['listed', 'taken'] as const
export const copyChoices = ['none', 'with'] as const
export type CopyChoice = (typeof copyChoices)[number]

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

/** Undefined if the words of the request page apply. The progress of the erasure may know of its failure first. */
export function filedDeletionStatus(saying: RequestSaying, receipt: UnderReceipt): FiledDeletionStatus | undefined {
  if (receipt === 'failed' && statuses.running.some((one) => one === saying)) return 'failed'
  for (const [standing, sayings] of Object.entries(statuses))
    if (sayings.some((one) => one === saying) && isStanding(standing)) return standing
  return undefined
}
const isStanding = (name: string): name is FiledDeletionStatus => Object.hasOwn(statuses, name)

/** The state of the erasure according to its receipt id; undefined if no erasure began under it. `failed`: it waits for a retry. */
export type UnderReceipt = 'signed' | 'signed_held' | 'under_way' | 'failed' | 'held' | undefined

/**
 * The state of an erasure for people who cannot query it, because their session has ended or the request no longer names anybody. Only the
 * receipt id is known. If no erasure began under it, the erasure may have been cancelled.
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
    case 'failed':
      return 'failed'
    default:
      return until !== undefined && Date.parse(until) > now.getTime() ? 'aheadOut' : 'begunOut'
  }
}

/** Whether the deletion still counts the records of each place, so that the numbers would rise before they fall. */
export const isStillCounting = ({ state, places }: ErasureProgress): boolean =>
  state === 'planning' &&
  places.every(({ records, remaining, waiting_since }) => remaining === records && waiting_since === null)
