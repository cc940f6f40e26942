import type { DatabaseQuery, EvidenceCheck } from '#lib/kernel/evidence.ts'
import type { StoreLocation } from './rules.ts'
import { fulfilledRegions, residencyState } from './rules.ts'

/** Counts projects and agents that require a region other than the given ones. */
export interface Promised {
  projects(query: DatabaseQuery, except: readonly string[]): Promise<number>
  agents(query: DatabaseQuery, except: readonly string[]): Promise<number>
}

/**
 * Checks that data promised to stay in a region does: compares the region of every store and processor with the regions of projects and
 * agents. A region that `offered` does not contain counts as broken: the settings no longer name it.
 */
export const residencyEvidence = (
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
