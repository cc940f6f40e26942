/** Kinds of running work: an export, an erasure of a person, an agent or a part of a project, and a retention sweep. */
export const workKinds = ['export', 'erasure', 'sweep'] as const
export const workStates = ['waiting', 'running', 'stuck'] as const

/** How many days ahead the console looks. For revocations: how many days back. */
export const expiringWithin = { records: 30, tokens: 14, holds: 7, revocations: 7 } as const
const dayMs = 86_400_000
export const daysAfter = (now: Date, days: number): Date => new Date(now.getTime() + days * dayMs)

/** Maximum number of work items in a response. */
export const workShown = 20

interface Work {
  is_own: boolean
  started_at: string
}
/** The reader's own work first, then the newest. */
export const inTurn = <W extends Work>(work: readonly W[]): W[] =>
  work.toSorted(
    (one, other) => Number(other.is_own) - Number(one.is_own) || other.started_at.localeCompare(one.started_at),
  )

/** Why an admin is notified, the most urgent first. */
export const noticeKinds = [
  'failed',
  'overdue',
  'stuck',
  'due_soon',
  'unconfirmed',
  'approval',
  'address',
  'assigned',
] as const
export type NoticeKind = (typeof noticeKinds)[number]
/** Most notifications in the answer, of each source. */
export const noticesShown = 50

/** The reason to notify an admin of an open request. One request is one notification: a more urgent reason makes it new. */
export function noticeKindOf({ state, due }: { state: string; due: string }): NoticeKind {
  if (state === 'failed') return 'failed'
  if (due === 'overdue') return 'overdue'
  return due === 'near' ? 'due_soon' : 'assigned'
}

/** What the search of the console finds. */
export const searchHitKinds = ['person', 'agent', 'request', 'receipt', 'erasure', 'unit', 'skill', 'project'] as const
/** Maximum number of results of each kind. */
export const hitsPerKind = 5

/** Settings of a complete installation. */
export const setupSteps = ['email', 'contact', 'backups', 'regions', 'second_admin', 'identity_provider'] as const
export type SetupStep = (typeof setupSteps)[number]
export interface SetupFacts {
  /** A mail server delivers emails. */
  hasMailServer: boolean
  /** The privacy notice names a contact. */
  hasContact: boolean
  /** The operator states for how long backups are retained. */
  statesBackups: boolean
  /** Locations whose region is neither stated nor known from their address. */
  unknownRegions: number
  hasIdentityProvider: boolean
  /** Admins who can sign in. */
  admins: number
}
export function setupStatus(facts: SetupFacts): { step: SetupStep; is_done: boolean }[] {
  const done: Record<SetupStep, boolean> = {
    email: facts.hasMailServer,
    contact: facts.hasContact,
    backups: facts.statesBackups,
    regions: facts.unknownRegions === 0,
    second_admin: facts.admins > 1,
    identity_provider: facts.hasIdentityProvider,
  }
  return setupSteps.map((step) => ({ step, is_done: done[step] }))
}

/** How many weeks the trend of privacy requests covers. */
export const trendWeeks = 8

/** Who read data, for the person concerned: a role and not a name. */
export const readerKinds = ['admin', 'auditor', 'member', 'agent', 'system', 'unknown'] as const
export type ReaderKind = (typeof readerKinds)[number]
/** The kind of an actor of the audit log. `role`: of its account; undefined if there is none any more. */
export function readerKindOf(actor: string, role: string | undefined): ReaderKind {
  if (actor.startsWith('system:')) return 'system'
  if (actor === 'anonymous') return 'unknown'
  if (!actor.startsWith('user:')) return 'agent'
  if (role === undefined) return 'unknown'
  return role === 'admin' || role === 'auditor' ? role : 'member'
}
/** How many agents, receipts and changes the page of a person shows, and how many units are considered for its readers. */
export const shownAgents = 50
export const shownReceipts = 10
export const shownChanges = 20
export const consideredRecords = 300

const monthOf = (at: Date): string => at.toISOString().slice(0, 7)
/** The month before the current one, in UTC. */
export const lastCompleteMonth = (now: Date): string =>
  monthOf(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1)))
/** The month before or after another one. */
export const monthBeside = (month: string, by: 1 | -1): string => {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return monthOf(new Date(Date.UTC(year, number - 1 + by, 1)))
}
/** The begun part of a month, in UTC; undefined for a month that has not begun. */
export function monthPeriod(month: string, now: Date): { from: Date; until: Date } | undefined {
  const [from, end] = [new Date(`${month}-01T00:00:00.000Z`), new Date(`${monthBeside(month, 1)}-01T00:00:00.000Z`)]
  return from > now ? undefined : { from, until: end < now ? end : now }
}
