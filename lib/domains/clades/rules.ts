/** What may be shared, and how sure it must be at least; an episode is nobody's but its agent's. */
const gates = { insight: 0.6, heuristic: 0.7, warning: 0.4, causal_link: 0.5 } as const
export const sharedKinds = ['insight', 'heuristic', 'warning', 'causal_link'] as const
export type SharedKind = (typeof sharedKinds)[number]

export const isShared = (kind: string): kind is SharedKind => sharedKinds.some((one) => one === kind)

export interface Verdict {
  passes: boolean
  /** What an entry of its kind needs at least. */
  needed: number
}
export const judgeGate = (kind: SharedKind, confidence: number): Verdict => ({
  passes: confidence >= gates[kind],
  needed: gates[kind],
})

/** Bytes of an entry as JSON. */
export const entryBytes = 65_536
/** Shares of one agent that stand. */
export const mostShares = 10_000
/** Generations that are looked through for what an entry was made of. */
export const mostGenerations = 20
/** Shares that an entry is said to be made from by way of private ones. */
export const mostOrigins = 1000
const day = 86_400_000
/** What a sibling has not fetched goes then. */
export const pendingFor = 7 * day
/** How long it can be read who acknowledged a recall. */
export const recalledFor = 30 * day

export const shareIdForm = /^shr_[0-9A-Za-z]{22}$/
export const entryIdForm = /^ent_[0-9A-Za-z]{22}$/
export const deltaStates = ['pending', 'delivered', 'recalling', 'recalled', 'expired'] as const
export type DeltaState = (typeof deltaStates)[number]
