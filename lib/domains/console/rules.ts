/** What runs: an export that is being prepared, an erasure of a person, an agent or a part of a project, a retention sweep. */
export const workKinds = ['export', 'erasure', 'sweep'] as const
export const workStates = ['waiting', 'running', 'stuck'] as const

/** How far ahead, and for revocations back, the console looks; days. */
export const expiringWithin = { records: 30, tokens: 14, holds: 7, revocations: 7 } as const
const dayMs = 86_400_000
export const daysAfter = (now: Date, days: number): Date => new Date(now.getTime() + days * dayMs)

/** Items of work that an answer has at most. */
export const workShown = 20

interface Work {
  is_own: boolean
  started_at: string
}
/** The reader's own first, then the newest. */
export const inTurn = <W extends Work>(work: readonly W[]): W[] =>
  work.toSorted(
    (one, other) => Number(other.is_own) - Number(one.is_own) || other.started_at.localeCompare(one.started_at),
  )
