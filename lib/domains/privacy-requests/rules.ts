/** The rights that a subject can exercise, in the order of execution: erasure after everything that needs the data. */
export const requestKinds = ['access', 'portability', 'rectification', 'restriction', 'objection', 'erasure'] as const
export type RequestKind = (typeof requestKinds)[number]
/** The kinds of subjects of a request. requester: sent with the form, and not yet connected to an account or participant. */
export const requestSubjects = ['person', 'agent', 'participant', 'requester'] as const
export const channels = ['console', 'api', 'mail', 'manager', 'form'] as const
export type Channel = (typeof channels)[number]
export const graces = ['now', '24h', '7d', '14d'] as const
export type Grace = (typeof graces)[number]
export const states = [
  'received',
  'verified',
  'waiting',
  'running',
  'verifying',
  'completed',
  'partly_completed',
  'cancelled',
  'rejected',
  'failed',
] as const
export type RequestState = (typeof states)[number]
export const partStates = ['pending', 'running', 'done', 'partly_done', 'refused', 'cancelled', 'failed'] as const
export type PartState = (typeof partStates)[number]
export const refusalGrounds = ['unfounded', 'excessive', 'identity', 'legal_obligation', 'other'] as const
export type RefusalGround = (typeof refusalGrounds)[number]
/** How an application confirmed the identity of a person on whose behalf it files. */
export const identityProofs = ['signed_in', 'email', 'document'] as const
export type IdentityProof = (typeof identityProofs)[number]

export const parties = ['subject', 'manager', 'admin', 'system'] as const
export type Party = (typeof parties)[number]

export interface Transition {
  from: RequestState
  to: RequestState
  by: readonly Party[]
  when: string
}
/** All allowed state transitions. docs/privacy-requests.md contains the same table; a test compares them. */
export const transitions: readonly Transition[] = [
  {
    from: 'received',
    to: 'verified',
    by: ['subject', 'manager', 'admin'],
    when: 'identity is confirmed by password, token, link or an admin; for a participant, by an owner or manager who files the request',
  },
  {
    from: 'received',
    to: 'cancelled',
    by: ['subject', 'manager', 'admin', 'system'],
    when: 'the subject cancels, or the person who filed it for a participant; nobody confirms the identity within the month; or a larger erasure includes it',
  },
  { from: 'received', to: 'rejected', by: ['admin'], when: 'an admin refuses it with a reason and the remedies' },
  {
    from: 'received',
    to: 'completed',
    by: ['admin'],
    when: 'an admin answers a request from the form that is not connected to an account or participant',
  },
  { from: 'verified', to: 'waiting', by: ['system'], when: 'it includes an erasure: the grace period begins' },
  { from: 'verified', to: 'running', by: ['system'], when: 'it includes no erasure' },
  {
    from: 'verified',
    to: 'cancelled',
    by: ['subject', 'manager', 'admin', 'system'],
    when: 'the subject cancels, or the person who filed it for a participant; or a larger erasure includes it',
  },
  { from: 'verified', to: 'rejected', by: ['admin'], when: 'an admin refuses it with a reason and the remedies' },
  {
    from: 'waiting',
    to: 'running',
    by: ['system'],
    when: 'the grace period is over, and requested copies are downloaded or deleted',
  },
  {
    from: 'waiting',
    to: 'cancelled',
    by: ['subject', 'manager', 'admin', 'system'],
    when: 'the subject cancels, or the person who filed it for a participant; or a larger erasure includes it',
  },
  { from: 'waiting', to: 'rejected', by: ['admin'], when: 'an admin refuses it with a reason and the remedies' },
  {
    from: 'waiting',
    to: 'received',
    by: ['system'],
    when: 'the grace period is over, and the person who confirmed the identity no longer has the right to do so: an admin confirms it again',
  },
  { from: 'running', to: 'verifying', by: ['system'], when: 'every data source has erased its data' },
  { from: 'running', to: 'completed', by: ['system', 'admin'], when: 'all parts are done' },
  { from: 'running', to: 'partly_completed', by: ['system'], when: 'a legal hold covers all remaining data' },
  {
    from: 'running',
    to: 'rejected',
    by: ['admin'],
    when: 'an admin refuses every part with a reason and the remedies',
  },
  { from: 'running', to: 'failed', by: ['system'], when: 'a part failed permanently' },
  { from: 'verifying', to: 'running', by: ['system'], when: 'verification found residue' },
  { from: 'verifying', to: 'completed', by: ['system'], when: 'no residue was found; the receipt is signed' },
  { from: 'verifying', to: 'partly_completed', by: ['system'], when: 'only data under a legal hold remains' },
  { from: 'verifying', to: 'failed', by: ['system'], when: 'verification failed permanently' },
  { from: 'partly_completed', to: 'running', by: ['system'], when: 'the hold is released or ends' },
  { from: 'failed', to: 'running', by: ['admin', 'system'], when: 'it is retried' },
]
/** Returns true when the table has this transition for this party. */
export const mayBecome = (from: RequestState, to: RequestState, by: Party): boolean =>
  transitions.some((step) => step.from === from && step.to === to && step.by.includes(by))

export const closedStates = ['completed', 'cancelled', 'rejected'] as const satisfies readonly RequestState[]
export const isClosed = (state: RequestState): boolean => closedStates.some((closed) => closed === state)
/** States in which the subject can cancel, before the work begins. */
export const cancellableStates = ['received', 'verified', 'waiting'] as const satisfies readonly RequestState[]
export const isCancellable = (state: RequestState): boolean => cancellableStates.some((open) => open === state)
/** Returns true when no answer is due: the request is closed, or only records under a legal hold remain. */
const isSettled = (state: RequestState): boolean => isClosed(state) || state === 'partly_completed'

const hour = 3_600_000
const day = 24 * hour
/** Our own deadline in milliseconds: erased and verified this long after verification or the end of the grace period. */
export const ourTerm = 72 * hour
const graceLengths: Record<Grace, number> = { now: 0, '24h': day, '7d': 7 * day, '14d': 14 * day }
/** Minimum milliseconds between the end of a grace period and the legal deadline. */
export const graceMargin = 3 * day
/**
 * Lifetimes of links in milliseconds: 10 minutes to verify identity, a day to confirm an address; a link to cancel
 * expires a day after the grace period.
 */
export const requestLinkLifetimes = { verify: 600_000, address: day, cancelledLate: day } as const
/** Maximum months for which a link to the status page works while the request is open. */
export const statusLinkMonths = 24
/** Links to the status page expire 30 days after the request is closed. */
export const statusLinkEnd = (closedAt: Date): Date => new Date(closedAt.getTime() + statusPageRetention)
/** Maximum number of emails with a link to one subject within an hour. */
export const requestLinkEmailsPerHour = 3
/**
 * Maximum number of requests of one kind for one subject on one channel within 24 hours. Joining an open request does
 * not count.
 */
export const filingsPerDay = 5
/** Maximum number of automatic retries of a failed copy, and the milliseconds before each. */
export const copyTries = { max: 5, after: hour } as const
/** Maximum number of attempts to use links from one network within a minute. */
export const requestLinkTriesPerMinute = 20
/** Milliseconds for which the address is retained when the last email cannot be sent. */
export const contactRetention = 7 * day

/** Milliseconds for which the status page of a request from the form remains after the request is closed. */
export const statusPageRetention = 30 * day
/** Milliseconds until a request from the form expires if its address is not confirmed. */
export const unconfirmedLifetime = day
/**
 * The same without a mail server, while no admin has forwarded the link: the legal month. {@link unconfirmedLifetime} begins when the link is
 * forwarded.
 */
export const unforwardedLifetime = 30 * day
/**
 * Maximum numbers of unconfirmed requests from the form: of all networks together, of one network, and of all networks together for a
 * network that has none yet.
 */
export const maxUnconfirmed = { all: 500, network: 20, flooded: 5_000 } as const

/** Adds calendar months in UTC at the same time of day, clamped to the last day of the month. */
export function addMonths(from: Date, months: number): Date {
  const to = new Date(from)
  to.setUTCDate(1)
  to.setUTCMonth(to.getUTCMonth() + months)
  const last = new Date(Date.UTC(to.getUTCFullYear(), to.getUTCMonth() + 1, 0)).getUTCDate()
  to.setUTCDate(Math.min(from.getUTCDate(), last))
  return to
}
const plus = (at: Date, milliseconds: number): Date => new Date(at.getTime() + milliseconds)
const earlier = (one: Date, other: Date): Date => (one < other ? one : other)
const later = (one: Date, other: Date): Date => (one < other ? other : one)

/** GDPR art. 12(3): one month from receipt, clamped to the last day of the month. */
export const legalDueAt = (receivedAt: Date): Date => addMonths(receivedAt, 1)
/** Requests and their evidence are retained for this many years after closing. */
export const retainedUntil = (closedAt: Date, years: number): Date => addMonths(closedAt, 12 * years)

export interface Clocks {
  state: RequestState
  receivedAt: Date
  legalDueAt: Date
  dueAt: Date | null
  pausedAt: Date | null
  extendedAt: Date | null
}

export type ExtensionFault = 'extended_already' | 'first_month_over' | 'beyond_law' | 'settled'
/**
 * Returns the extended legal deadline, or the reason why it cannot be extended. GDPR art. 12(3): at most two further
 * months, announced within the first month. Pauses do not count.
 */
export function extendedDeadline(clocks: Clocks, days: number, now: Date): Date | ExtensionFault {
  if (isSettled(clocks.state)) return 'settled'
  if (clocks.extendedAt) return 'extended_already'
  if (now > deadlineStatus(clocks, now).legalDueAt) return 'first_month_over'
  const stoodStill = clocks.legalDueAt.getTime() - legalDueAt(clocks.receivedAt).getTime()
  const next = plus(clocks.legalDueAt, days * day)
  return next > plus(addMonths(clocks.receivedAt, 3), stoodStill) ? 'beyond_law' : next
}

/** Returns the current deadlines: a running pause moves both. */
export function deadlineStatus(clocks: Clocks, now: Date): Pick<Clocks, 'legalDueAt' | 'dueAt'> {
  const still = clocks.pausedAt ? Math.max(0, now.getTime() - clocks.pausedAt.getTime()) : 0
  return { legalDueAt: plus(clocks.legalDueAt, still), dueAt: clocks.dueAt && plus(clocks.dueAt, still) }
}

/** Returns the longer of two grace periods. */
export const longerGrace = (one: Grace, other: Grace): Grace => (graceLengths[one] < graceLengths[other] ? other : one)

/**
 * Minimum grace period when a token asks for the erasure of an owned agent: the token may be stolen, so the owner needs
 * time to cancel.
 */
export const leastGraceOfOwned: Grace = '24h'

/**
 * Minimum grace period when somebody else than the subject filed the erasure or proved the identity, and minimum time that remains when an
 * admin shortens a grace period. The subject gets a link to cancel.
 */
export const leastGraceOfOthers: Grace = '24h'
/**
 * Returns true unless the subject filed the request and proved the identity. Owners of a project act for participants without an account,
 * whose messages they can delete anyway. A request that a manager files for them has this minimum from the start.
 */
export const isByOthers = (request: { channel: string; verifiedBy: string | null; subjectKind: string }): boolean =>
  request.verifiedBy === 'admin' ||
  request.channel === 'mail' ||
  request.channel === 'form' ||
  (request.channel === 'manager' && request.subjectKind !== 'participant')

export interface GraceEnd {
  at: Date
  /** The legal deadline left less time than was chosen. */
  isShortened: boolean
}
/**
 * Returns the end of a grace period that begins now: at the latest three days before the legal deadline, but not before `least` is over.
 * The time to cancel of somebody who did not file the request takes precedence over the deadline.
 */
export function graceEnd(grace: Grace, legalLimit: Date, now: Date, least: Grace = 'now'): GraceEnd {
  const chosen = plus(now, graceLengths[longerGrace(grace, least)])
  const latest = plus(legalLimit, -graceMargin)
  if (chosen <= latest) return { at: chosen, isShortened: false }
  const at = later(latest, plus(now, graceLengths[least]))
  return { at, isShortened: at < chosen }
}
/** Returns the new end of a grace period that an admin shortens. */
export const shortenedByAdmin = (until: Date, now: Date): Date =>
  earlier(until, plus(now, graceLengths[leastGraceOfOthers]))

/** Our own deadline: 72 hours after verification or the end of the grace period, but never after the legal deadline. */
export const dueAfter = (start: Date, legalLimit: Date): Date => earlier(plus(start, ourTerm), legalLimit)

export const dueTags = ['ok', 'near', 'overdue', 'paused', 'stopped'] as const
export type DueStatus = (typeof dueTags)[number]
/** Returns when the first of the two clocks is nearly due: less than a quarter of its time remains. */
export const nearlyDueAt = (clocks: Clocks): Date => {
  const legal = plus(clocks.legalDueAt, -(clocks.legalDueAt.getTime() - clocks.receivedAt.getTime()) / 4)
  return clocks.dueAt ? earlier(legal, plus(clocks.dueAt, -ourTerm / 4)) : legal
}
/** Returns the earlier deadline. */
export const nextDue = ({ dueAt, legalDueAt: legal }: Pick<Clocks, 'dueAt' | 'legalDueAt'>): Date =>
  dueAt ? earlier(dueAt, legal) : legal

/**
 * Returns the status of the clocks: `stopped` when no answer is due. `secondsLeft` counts until the earlier deadline,
 * and is negative after it.
 */
export function dueNow(clocks: Clocks, now: Date): { tag: DueStatus; secondsLeft: number | null } {
  if (isSettled(clocks.state)) return { tag: 'stopped', secondsLeft: null }
  const at = clocks.pausedAt ?? now
  const secondsLeft = Math.floor((nextDue(clocks).getTime() - at.getTime()) / 1000)
  if (clocks.pausedAt) return { tag: 'paused', secondsLeft }
  if (secondsLeft < 0) return { tag: 'overdue', secondsLeft }
  return { tag: now > nearlyDueAt(clocks) ? 'near' : 'ok', secondsLeft }
}

/** Returns the state of a request from the states of its parts, once its work has begun. */
export function stateOfParts(parts: readonly PartState[]): RequestState {
  if (parts.includes('failed')) return 'failed'
  if (parts.some((part) => part === 'pending' || part === 'running')) return 'running'
  if (parts.includes('partly_done')) return 'partly_completed'
  return parts.includes('done') ? 'completed' : 'rejected'
}

/** Returns the token scope for a kind: `read` for kinds that only return data, `write` for kinds that change data. */
export const scopeFor = (kind: RequestKind): 'read' | 'write' =>
  kind === 'access' || kind === 'portability' ? 'read' : 'write'
export const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0)
/** Removes duplicates and sorts the kinds in the order of `requestKinds`. */
export const requestKindsInOrder = (asked: readonly RequestKind[]): RequestKind[] =>
  requestKinds.filter((kind) => asked.includes(kind))
/** Maximum age in milliseconds of a mailed request when it is filed. */
export const maxReceivedAge = 60 * day

/** An erasure that the console announces on every page: its grace period is running, or the erasure itself. */
export interface ErasureAhead {
  requestId: string
  /** The single agent that it erases; null when it erases the person with all agents. */
  agent: string | null
  /**
   * paused: the clocks are stopped; blocked: the last admin must appoint another one first; running: can no longer be
   * cancelled.
   */
  state: 'waiting' | 'paused' | 'blocked' | 'running'
  /** Start and end of the grace period as ISO times in UTC; null before it begins. */
  grace: { from: string; until: string } | null
  /** The erasure also waits for a copy that was requested with it and is neither fetched nor deleted. */
  waitsForCopy: boolean
  /** The request contains more kinds than the erasure; cancelling it cancels all of them. */
  isMixed: boolean
  /** The tokens of the agents do not work during the grace period. */
  areTokensStopped: boolean
}
export interface ErasuresAhead {
  /** The person's own erasure first, then the soonest; three at most. */
  shown: ErasureAhead[]
  total: number
}

/** What the timeline and the audit log say about a request. */
export const requestEvents = [
  'received',
  'form_joined',
  'added_to',
  'link_sent',
  'status_link',
  'forwarded',
  'verified',
  'evidence',
  'assigned',
  'comment',
  'connected',
  'disconnected',
  'waiting',
  'reminded',
  'expedited',
  'running',
  'verifying',
  'completed',
  'partly_completed',
  'kept_whole',
  'blocked',
  'doubted',
  'cancelled',
  'expired',
  'rejected',
  'part_refused',
  'part_done',
  'failed',
  'retried',
  'extended',
  'paused',
  'resumed',
  'nearly_due',
  'overdue',
  'rectified',
  'address_asked',
  'address_moved',
  'copy_ready',
  'copy_fetched',
  'copy_gone',
  'copy_failed',
  'taken_over',
  'answered',
] as const
export type RequestEvent = (typeof requestEvents)[number]
