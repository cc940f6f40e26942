/** Kinds that can be shared, and their minimum confidence. Episodes are never shared. */
const gates = { insight: 0.6, heuristic: 0.7, warning: 0.4, causal_link: 0.5 } as const
export const sharedKinds = ['insight', 'heuristic', 'warning', 'causal_link'] as const
export type SharedKind = (typeof sharedKinds)[number]

export const isShared = (kind: string): kind is SharedKind => sharedKinds.some((one) => one === kind)

export interface GateDecision {
  passes: boolean
  /** The minimum confidence of entries of this kind. */
  needed: number
}
export const decideGate = (kind: SharedKind, confidence: number): GateDecision => ({
  passes: confidence >= gates[kind],
  needed: gates[kind],
})

/** Maximum bytes of an entry as JSON. */
export const cladeEntryBytes = 65_536
/** Active shares per agent. */
export const maxShares = 10_000
/** Generations of parents that are searched for the origin of an entry. */
export const maxGenerations = 20
/** Origins that a client can declare for private parents. */
export const maxOrigins = 1000
const day = 86_400_000
/** When a delta that a sibling has not fetched expires. */
export const pendingFor = 7 * day
/** How long the acknowledgements of a recall can be read. */
export const recalledFor = 30 * day

export const shareIdForm = /^shr_[0-9A-Za-z]{22}$/
export const cladeEntryIdForm = /^ent_[0-9A-Za-z]{22}$/
export const deltaStates = ['pending', 'delivered', 'recalling', 'recalled', 'expired'] as const
export type DeltaState = (typeof deltaStates)[number]
