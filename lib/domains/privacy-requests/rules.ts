/** What a subject may ask for, in the order in which it is carried out: erasure after everything that needs the data. */
export const kinds = ['access', 'portability', 'rectification', 'restriction', 'objection', 'erasure'] as const
export type Kind = (typeof kinds)[number]
/** Whom a request can be about. */
export const requestSubjects = ['person', 'agent', 'participant'] as const
export const channels = ['console', 'api', 'mail', 'manager'] as const
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
export type State = (typeof states)[number]
export const partStates = ['pending', 'running', 'done', 'partly_done', 'refused', 'cancelled', 'failed'] as const
export type PartState = (typeof partStates)[number]
export const refusalGrounds = ['unfounded', 'excessive', 'identity', 'legal_obligation', 'other'] as const
export type RefusalGround = (typeof refusalGrounds)[number]
export const parties = ['subject', 'manager', 'admin', 'system'] as const
export type Party = (typeof parties)[number]

export interface Transition {
  from: State
  to: State
  by: readonly Party[]
  when: string
}
/** Every step that a request can take; there is no other. docs/privacy-requests.md shows it, and a test compares the two. */
export const transitions: readonly Transition[] = [
  {
    from: 'received',
    to: 'verified',
    by: ['subject', 'manager', 'admin'],
    when: 'identity is shown: password, token, link, an admin’s check, or a project’s owner or manager for its participant',
  },
  {
    from: 'received',
    to: 'cancelled',
    by: ['subject', 'manager', 'admin', 'system'],
    when: 'the subject cancels, or the filer of a participant’s request, nobody shows who they are within the month, or an erasure makes it moot',
  },
  { from: 'received', to: 'rejected', by: ['admin'], when: 'refused with a reason and the remedies' },
  { from: 'verified', to: 'waiting', by: ['system'], when: 'an erasure is part of it: the grace begins' },
  { from: 'verified', to: 'running', by: ['system'], when: 'no erasure is part of it' },
  {
    from: 'verified',
    to: 'cancelled',
    by: ['subject', 'manager', 'admin', 'system'],
    when: 'the subject cancels, or the filer of a participant’s request, or an erasure makes it moot',
  },
  { from: 'verified', to: 'rejected', by: ['admin'], when: 'refused with a reason and the remedies' },
  {
    from: 'waiting',
    to: 'running',
    by: ['system'],
    when: 'the grace is over, and copies asked for are fetched or gone',
  },
  {
    from: 'waiting',
    to: 'cancelled',
    by: ['subject', 'manager', 'admin', 'system'],
    when: 'the subject cancels, or the filer of a participant’s request, or another erasure makes it moot',
  },
  { from: 'waiting', to: 'rejected', by: ['admin'], when: 'refused with a reason and the remedies' },
  { from: 'running', to: 'verifying', by: ['system'], when: 'every holder has erased' },
  { from: 'running', to: 'completed', by: ['system', 'admin'], when: 'the slowest part is done' },
  { from: 'running', to: 'partly_completed', by: ['system'], when: 'a legal hold covers all that is left' },
  { from: 'running', to: 'rejected', by: ['admin'], when: 'every part is refused with a reason and the remedies' },
  { from: 'running', to: 'failed', by: ['system'], when: 'a part gave up' },
  { from: 'verifying', to: 'running', by: ['system'], when: 'verification found something left' },
  { from: 'verifying', to: 'completed', by: ['system'], when: 'nothing is left anywhere; the receipt is signed' },
  { from: 'verifying', to: 'partly_completed', by: ['system'], when: 'nothing is left but what a legal hold covers' },
  { from: 'verifying', to: 'failed', by: ['system'], when: 'verification gave up' },
  { from: 'partly_completed', to: 'running', by: ['system'], when: 'the hold is released or ends' },
  { from: 'failed', to: 'running', by: ['admin', 'system'], when: 'it is tried again' },
]
/** Whether the table has such a step, and for this party. */
export const mayBecome = (from: State, to: State, by: Party): boolean =>
  transitions.some((step) => step.from === from && step.to === to && step.by.includes(by))

export const closedStates = ['completed', 'cancelled', 'rejected'] as const satisfies readonly State[]
export const isClosed = (state: State): boolean => closedStates.some((closed) => closed === state)
/** Until the work begins the subject can take it back. */
export const cancellableStates = ['received', 'verified', 'waiting'] as const satisfies readonly State[]
export const isCancellable = (state: State): boolean => cancellableStates.some((open) => open === state)
/** In these nobody is owed anything: closed, or all that is left is kept by law. */
const isSettled = (state: State): boolean => isClosed(state) || state === 'partly_completed'

const hour = 3_600_000
const day = 24 * hour
/** Done and verified this long after verification, or after the end of the grace; milliseconds. */
export const ourTerm = 72 * hour
const graceLengths: Record<Grace, number> = { now: 0, '24h': day, '7d': 7 * day, '14d': 14 * day }
/** A grace ends this long before the legal limit at least; milliseconds. */
export const graceMargin = 3 * day
/** How long links live, in milliseconds: identity ten minutes, a new address a day; one that cancels, a day longer than the grace. */
export const linkLives = { verify: 600_000, address: day, cancelledLate: day } as const
/** Letters with a link to one subject within an hour. */
export const linkLettersPerHour = 3
/** Requests of one kind that are filed for one subject on one channel within 24 hours; those that join an open one do not count. */
export const filingsPerDay = 5
/** How often a copy that could not be made is tried anew by itself, and how long after it failed; milliseconds. */
export const copyTries = { most: 5, after: hour } as const
/** Tries of links from one network within a minute. */
export const linkTriesPerMinute = 20
/** How long the address is kept when the last letter cannot be handed over; milliseconds. */
export const contactKept = 7 * day

/** Calendar months later in UTC, at the same time of day; clamped to the month's last day. */
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

/** GDPR art. 12(3): one month from receipt, clamped to the month's last day. */
export const legalDueAt = (receivedAt: Date): Date => addMonths(receivedAt, 1)
/** Requests and their evidence are kept so many years from closing. */
export const keptUntil = (closedAt: Date, years: number): Date => addMonths(closedAt, 12 * years)

export interface Clocks {
  state: State
  receivedAt: Date
  legalDueAt: Date
  dueAt: Date | null
  pausedAt: Date | null
  extendedAt: Date | null
}

export type ExtensionFault = 'extended_already' | 'first_month_over' | 'beyond_law' | 'settled'
/**
 * GDPR art. 12(3): by two further months at most, told within the first. Time that the clock stood still counts in neither. Gives the
 * new limit, or why there is none.
 */
export function extended(clocks: Clocks, days: number, now: Date): Date | ExtensionFault {
  if (isSettled(clocks.state)) return 'settled'
  if (clocks.extendedAt) return 'extended_already'
  if (now > standing(clocks, now).legalDueAt) return 'first_month_over'
  const stoodStill = clocks.legalDueAt.getTime() - legalDueAt(clocks.receivedAt).getTime()
  const next = plus(clocks.legalDueAt, days * day)
  return next > plus(addMonths(clocks.receivedAt, 3), stoodStill) ? 'beyond_law' : next
}

/** The clocks as they stand: each moment of a pause moves both by itself. */
export function standing(clocks: Clocks, now: Date): Pick<Clocks, 'legalDueAt' | 'dueAt'> {
  const still = clocks.pausedAt ? Math.max(0, now.getTime() - clocks.pausedAt.getTime()) : 0
  return { legalDueAt: plus(clocks.legalDueAt, still), dueAt: clocks.dueAt && plus(clocks.dueAt, still) }
}

/** Whichever leaves more time. */
export const longerGrace = (one: Grace, other: Grace): Grace => (graceLengths[one] < graceLengths[other] ? other : one)

/** A token may be in wrong hands: an agent's owner has this long to hear of the erasure that it asked for, and to take it back. */
export const leastGraceOfOwned: Grace = '24h'

export interface GraceEnd {
  at: Date
  /** The legal limit left less than was chosen. */
  isShortened: boolean
}
/** When the grace ends that begins now: three days before the legal limit at the latest, and never in the past. */
export function graceEnd(grace: Grace, legalLimit: Date, now: Date): GraceEnd {
  const chosen = plus(now, graceLengths[grace])
  const latest = plus(legalLimit, -graceMargin)
  if (chosen <= latest) return { at: chosen, isShortened: false }
  const at = latest > now ? latest : now
  return { at, isShortened: at < chosen }
}

/** Ours: 72 hours from verification or the end of the grace, and never later than the law's. */
export const dueAfter = (start: Date, legalLimit: Date): Date => earlier(plus(start, ourTerm), legalLimit)

export const dueTags = ['ok', 'near', 'overdue', 'paused', 'stopped'] as const
export type DueTag = (typeof dueTags)[number]
/** When less than a quarter of its time is left, each clock is nearly due. */
export const nearAt = (clocks: Clocks): Date => {
  const legal = plus(clocks.legalDueAt, -(clocks.legalDueAt.getTime() - clocks.receivedAt.getTime()) / 4)
  return clocks.dueAt ? earlier(legal, plus(clocks.dueAt, -ourTerm / 4)) : legal
}
/** The clock that ends first. */
export const nextDue = ({ dueAt, legalDueAt: legal }: Pick<Clocks, 'dueAt' | 'legalDueAt'>): Date =>
  dueAt ? earlier(dueAt, legal) : legal

/** How the clocks stand: `stopped` where nothing is owed any more. Seconds are left until the next limit; negative when it is over. */
export function dueNow(clocks: Clocks, now: Date): { tag: DueTag; secondsLeft: number | null } {
  if (isSettled(clocks.state)) return { tag: 'stopped', secondsLeft: null }
  const at = clocks.pausedAt ?? now
  const secondsLeft = Math.floor((nextDue(clocks).getTime() - at.getTime()) / 1000)
  if (clocks.pausedAt) return { tag: 'paused', secondsLeft }
  if (secondsLeft < 0) return { tag: 'overdue', secondsLeft }
  return { tag: now > nearAt(clocks) ? 'near' : 'ok', secondsLeft }
}

/** What the parts of a request make of the whole, once the work began: as far as its slowest part. */
export function stateOfParts(parts: readonly PartState[]): State {
  if (parts.includes('failed')) return 'failed'
  if (parts.some((part) => part === 'pending' || part === 'running')) return 'running'
  if (parts.includes('partly_done')) return 'partly_completed'
  return parts.includes('done') ? 'completed' : 'rejected'
}

/** What an agent's token needs for a kind: what only shows, scope read; what changes anything, scope write. */
export const scopeFor = (kind: Kind): 'read' | 'write' =>
  kind === 'access' || kind === 'portability' ? 'read' : 'write'
export const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0)
/** Kinds without doubles, in our order. */
export const inOrder = (asked: readonly Kind[]): Kind[] => kinds.filter((kind) => asked.includes(kind))
/** How long before now a request that came by mail may have been received; milliseconds. */
export const receivedAtMost = 60 * day

/** An erasure that a person should know of wherever they are: it waits for the end of its grace, or is under way. */
export interface ErasureAhead {
  requestId: string
  /** The one agent that it takes; null where it takes the person with everything of theirs. */
  agent: string | null
  /** paused: the clocks stand still; blocked: the last admin's, who has to make somebody else one first; running: too late to take back. */
  state: 'waiting' | 'paused' | 'blocked' | 'running'
  /** The grace, as ISO times in UTC; null until it has begun. */
  grace: { from: string; until: string } | null
  /** A copy was asked for with it, and is neither fetched nor gone: the erasure waits for it too. */
  waitsForCopy: boolean
  /** More was asked for than the erasure; taking it back takes back all of it. */
  isMixed: boolean
  /** Tokens of the agents do not work meanwhile. */
  areTokensStopped: boolean
}
export interface ErasuresAhead {
  /** The person's own first, then the soonest; three at most. */
  shown: ErasureAhead[]
  total: number
}
