import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import type { LawfulBasis } from './rules.ts'

const bases = ['consent', 'contract', 'legitimate_interest'] as const satisfies readonly LawfulBasis[]

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
      const [row] = await query<{
        agents: number
        without: number
        unconsented: number
        withdrawn: number
        unrestricted: number
      }>(
        `SELECT count(*)::int AS agents,
           count(*) FILTER (WHERE lawful_basis <> ALL($1::text[]) OR notice_version = '')::int AS without,
           count(*) FILTER (WHERE lawful_basis = 'consent' AND consent_at IS NULL)::int AS unconsented,
           count(*) FILTER (WHERE consent_withdrawn_at IS NOT NULL)::int AS withdrawn,
           count(*) FILTER (WHERE consent_withdrawn_at IS NOT NULL AND restricted_at IS NULL)::int AS unrestricted
         FROM agents`,
        [bases],
      )
      const { agents = 0, without = 0, unconsented = 0, withdrawn = 0, unrestricted = 0 } = row ?? {}
      return {
        state: failsIf(without + unconsented + unrestricted > 0),
        numbers: { agents, without, unconsented, withdrawn, unrestricted },
        facts: { basis: configured },
      }
    },
  },
]
