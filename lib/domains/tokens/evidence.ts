import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import { countRefusals } from './refusals/repository.ts'
import { refusalRetention } from './rules.ts'

/** Tolerance in milliseconds: the purge job runs hourly. */
const slack = 2 * 3_600_000

/** Data minimisation: network addresses of refused requests are deleted when their retention ends. */
export const tokensEvidence = (): EvidenceCheck[] => [
  {
    line: 'minimisation',
    name: 'tokens.refusals',
    page: null,
    async ask(query, now) {
      const [row] = await countRefusals(query, { before: new Date(now.getTime() - refusalRetention - slack) })
      const { kept = 0, late = 0 } = row ?? {}
      return { state: failsIf(late > 0), numbers: { kept, late } }
    },
  },
]
