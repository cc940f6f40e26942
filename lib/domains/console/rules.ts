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

/** What the search of the console finds. */
export const searchHitKinds = ['person', 'agent', 'request', 'receipt', 'erasure', 'unit', 'skill', 'project'] as const
/** Maximum number of results of each kind. */
export const hitsPerKind = 5
