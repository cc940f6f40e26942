import type { AskDatabase, Check } from '#lib/kernel/evidence.ts'
import type { Placed } from './rules.ts'
import { residencyState } from './rules.ts'

/**
 * Checks that data promised to stay in the EEA does: compares the jurisdiction of every store and processor with the
 * projects and agents that require the EEA (`projectsInEu`, `agentsInEu`).
 */
export const residencyEvidence = (
  residency: 'eu' | undefined,
  places: readonly Placed[],
  projectsInEu: (query: AskDatabase) => Promise<number>,
  agentsInEu: (query: AskDatabase) => Promise<number>,
): Check[] => [
  {
    line: 'residency',
    name: 'residency.places',
    page: '/admin/stores',
    async ask(query) {
      const [projects, agents] = [await projectsInEu(query), await agentsInEu(query)]
      const count = (jurisdiction: Placed['jurisdiction']) =>
        places.filter((place) => place.jurisdiction === jurisdiction).length
      return {
        state: residencyState(residency, places, projects + agents),
        numbers: {
          places: places.length,
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
