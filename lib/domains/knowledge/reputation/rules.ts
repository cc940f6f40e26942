/** Reasons of a ledger row: a contributed unit, SOP or skill, or a cast vote. */
export const reasons = ['unit', 'sop', 'skill', 'vote'] as const
export type ReputationReason = (typeof reasons)[number]

/** Reason of a ledger row after the subject's author was erased; the score keeps its value. */
export const erasedSubject = 'erased'

/** Points per reason. Registering earns nothing. */
export const gains: Readonly<Record<ReputationReason, number>> = { unit: 0.2, sop: 0.15, skill: 0.1, vote: 0.05 }

/** Maximum points per agent and UTC day: in total, and by votes. A gain that would exceed the maximum is not awarded at all. */
export const dailyCaps = { all: 4, votes: 1 } as const

/** Scores are sums of hundredths; smaller differences are rounding errors of binary fractions. */
const dust = 1e-6

/** Points of a day above which another gain for this reason does not fit. */
export const fullFrom = (reason: ReputationReason): { all: number; votes: number } => ({
  all: dailyCaps.all - gains[reason] + dust,
  // Only votes count towards the vote cap, so it never blocks other gains.
  votes: reason === 'vote' ? dailyCaps.votes - gains.vote + dust : dailyCaps.votes + dust,
})

/** How many gains for this reason still fit into the day. */
export function roomFor(reason: ReputationReason, gained: { all: number; votes: number }): number {
  const left = Math.min(
    dailyCaps.all - gained.all,
    reason === 'vote' ? dailyCaps.votes - gained.votes : Number.POSITIVE_INFINITY,
  )
  return Math.max(0, Math.floor(left / gains[reason] + dust))
}
