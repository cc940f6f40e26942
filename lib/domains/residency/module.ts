import type { Check } from '#lib/kernel/evidence.ts'
import { type Promised, residencyEvidence } from './evidence.ts'
import type { Placed } from './rules.ts'

export interface ResidencyDeps {
  residency: 'eu' | undefined
  places: readonly Placed[]
  promised: Promised
}

/** Data regions: the compliance check of promised regions. */
export const residencyModule = ({ residency, places, promised }: ResidencyDeps) => ({
  useCases: {},
  checks: residencyEvidence(residency, places, promised) satisfies Check[],
})
