/** What a ledger row was for: a unit or skill that was contributed, a vote that was given. */
export const reasons = ['unit', 'sop', 'skill', 'vote'] as const
export type Reason = (typeof reasons)[number]

/** What a ledger row of somebody else was for, once the author of that is erased: a score keeps its value. */
export const erasedSubject = 'erased'

/** What each is worth. Registering is worth nothing. */
export const gains: Readonly<Record<Reason, number>> = { unit: 0.2, sop: 0.15, skill: 0.1, vote: 0.05 }

/** What an agent can gain in one UTC day at most: in all, and of it by votes. A gain that would pass it is not given at all. */
export const dailyCaps = { all: 4, votes: 1 } as const

/** Scores are sums of hundredths; less than this is the dust of binary fractions. */
const dust = 1e-6

/** How much more of a day may hold and still take one gain for this reason: beyond it, nothing is touched. */
export const fullFrom = (reason: Reason): { all: number; votes: number } => ({
  all: dailyCaps.all - gains[reason] + dust,
  // Only votes count towards the cap of votes, so nothing else is ever stopped by it.
  votes: reason === 'vote' ? dailyCaps.votes - gains.vote + dust : dailyCaps.votes + dust,
})

/** How many gains for this reason still fit into a day. */
export function roomFor(reason: Reason, gained: { all: number; votes: number }): number {
  const left = Math.min(
    dailyCaps.all - gained.all,
    reason === 'vote' ? dailyCaps.votes - gained.votes : Number.POSITIVE_INFINITY,
  )
  return Math.max(0, Math.floor(left / gains[reason] + dust))
}
