import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import { type Promised, residencyEvidence } from './evidence.ts'
import type { StoreLocation } from './rules.ts'

export interface ResidencyDeps {
  residency: 'eu' | undefined
  places: readonly StoreLocation[]
  /** The regions that the operator offers. */
  choosable: readonly string[]
  promised: Promised
}

/** Data regions: the compliance check of promised regions. */
export const residencyModule = ({ residency, places: locations, choosable, promised }: ResidencyDeps) => ({
  useCases: {},
  checks: residencyEvidence(residency, locations, choosable, promised) satisfies EvidenceCheck[],
})
