import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import { countLawfulBases } from './repository.ts'
import type { LawfulBasis } from './rules.ts'

/**
 * Lawful basis (GDPR art. 6, 7): each agent has one on record, with consent where the basis is consent. Agents that withdrew it are
 * restricted.
 */
export const agentsEvidence = (configured: LawfulBasis): EvidenceCheck[] => [
  {
    line: 'lawful_basis',
    name: 'agents.basis',
    page: null,
    async ask(query) {
      const [counts] = await countLawfulBases(query, {})
      const { agents = 0, without = 0, unconsented = 0, withdrawn = 0, unrestricted = 0 } = counts ?? {}
      return {
        state: failsIf(without + unconsented + unrestricted > 0),
        numbers: { agents, without, unconsented, withdrawn, unrestricted },
        facts: { basis: configured },
      }
    },
  },
]
