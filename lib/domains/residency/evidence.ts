import type { AskDatabase, Check } from '#lib/kernel/evidence.ts'
import type { Placed } from './rules.ts'
import { residencyState } from './rules.ts'

/**
 * Whether what was promised to stay in the EEA does: every place as the table of regions has it, and the projects that ask for it, which
 * `projectsInEu` counts.
 */
export const residencyEvidence = (
  residency: 'eu' | undefined,
  places: readonly Placed[],
  projectsInEu: (query: AskDatabase) => Promise<number>,
): Check[] => [
  {
    line: 'residency',
    name: 'residency.places',
    page: '/admin/stores',
    async ask(query) {
      const projects = await projectsInEu(query)
      const count = (jurisdiction: Placed['jurisdiction']) =>
        places.filter((place) => place.jurisdiction === jurisdiction).length
      return {
        state: residencyState(residency, places, projects),
        numbers: {
          places: places.length,
          eea: count('eea'),
          outside: count('outside'),
          unstated: count('unknown'),
          projects,
        },
        facts: { promise: residency ?? 'none' },
      }
    },
  },
]
