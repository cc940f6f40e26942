import type { Env } from '#lib/config/env.ts'
import { agentsInRegions } from '#lib/domains/agents/queries.ts'
import { projectsInRegions } from '#lib/domains/projects/queries.ts'
import type { DataRegions } from '#lib/kernel/data-regions.ts'
import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import { fulfilledRegions, residencyState, type StoreLocation } from './rules.ts'

/**
 * Checks that data promised to stay in a region does: compares the region of every store and processor with the regions of projects and
 * agents. A region that `offered` does not contain counts as broken: the settings no longer name it.
 */
const residencyEvidence = (
  residency: 'eu' | undefined,
  locations: readonly StoreLocation[],
  offered: readonly string[],
): EvidenceCheck[] => [
  {
    line: 'residency',
    name: 'residency.places',
    page: '/admin/stores',
    async ask(query) {
      const fulfilled = fulfilledRegions(locations, offered)
      const [projects, agents] = [await projectsInRegions(query, []), await agentsInRegions(query, [])]
      const broken = (await projectsInRegions(query, fulfilled)) + (await agentsInRegions(query, fulfilled))
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

/** Data regions: the compliance check of promised regions. */
export const residencyModule = ({
  env,
  assessedLocations,
  regions,
}: {
  env: Pick<Env, 'KP_RESIDENCY'>
  assessedLocations: readonly StoreLocation[]
  regions: Pick<DataRegions, 'choosable'>
}) => ({
  useCases: {},
  checks: residencyEvidence(env.KP_RESIDENCY, assessedLocations, regions.choosable) satisfies EvidenceCheck[],
})
