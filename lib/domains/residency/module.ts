import type { Check } from '#lib/kernel/evidence.ts'
import { type Promised, residencyEvidence } from './evidence.ts'
import type { Placed } from './rules.ts'

export interface ResidencyDeps {
  residency: 'eu' | undefined
  places: readonly Placed[]
  /** The regions that the operator offers. */
  choosable: readonly string[]
  promised: Promised
}

/** Data regions: the compliance check of promised regions. */
export const residencyModule = ({ residency, places, choosable, promised }: ResidencyDeps) => ({
  useCases: {},
  checks: residencyEvidence(residency, places, choosable, promised) satisfies Check[],
})
