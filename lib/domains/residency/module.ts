import type { DatabaseQuery, EvidenceCheck } from '#lib/kernel/evidence.ts'
import { fulfilledRegions, residencyState, type StoreLocation } from './rules.ts'

/** Counts projects and agents that require a region other than the given ones. */
interface Promised {
  projects(query: DatabaseQuery, except: readonly string[]): Promise<number>
  agents(query: DatabaseQuery, except: readonly string[]): Promise<number>
}

/**
 * Checks that data promised to stay in a region does: compares the region of every store and processor with the regions of projects and
 * agents. A region that `offered` does not contain counts as broken: the settings no longer name it.
 */
const residencyEvidence = (
  residency: 'eu' | undefined,
  locations: readonly StoreLocation[],
  offered: readonly string[],
  regions: Promised,
): EvidenceCheck[] => [
  {
    line: 'residency',
    name: 'residency.places',
    page: '/admin/stores',
    async ask(query) {
      const fulfilled = fulfilledRegions(locations, offered)
      const [projects, agents] = [await regions.projects(query, []), await regions.agents(query, [])]
      const broken = (await regions.projects(query, fulfilled)) + (await regions.agents(query, fulfilled))
      const count = (jurisdiction: StoreLocation['jurisdiction']) =>
        locations.filter((location) => location.jurisdiction === jurisdiction).length
      return {
        state: residencyState(residency, locations, broken),
        numbers: {
          places: locations.length,
          eea: count('eea'),
          outside: count('outside'),
          unstated: count('unknown'),
          projects,
          agents,
        },
        facts: { promise: residency ?? 'none' },
      }
    },
  },
]

interface ResidencyDeps {
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
