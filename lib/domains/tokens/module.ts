import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { tokenAdmin } from './admin.ts'
import { tokensJobs } from './jobs.ts'
import { tokenDataSource, tokenExporters } from './personal-data.ts'
import type { TokenPorts } from './ports.ts'
import { countRefusals } from './repository.ts'
import { refusalRetention } from './rules.ts'
import { tokensService } from './service.ts'

interface TokensDeps extends TokenPorts {
  db: Database
  /** Deletes expired rate-limit windows and returns how many. */
  purgeWindows(): Promise<number>
}

export const tokensData = (db: Database, gate: Parameters<typeof tokenDataSource>[1]): PersonalData => ({
  dataSources: [tokenDataSource(db, gate)],
  exporters: tokenExporters(db),
})

/** Tolerance in milliseconds: the purge job runs hourly. */
const slack = 2 * 3_600_000

/** Data minimisation: network addresses of refused requests are deleted when their retention ends. */
const tokensEvidence = (): EvidenceCheck[] => [
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

/** API tokens, their use, and the tiers of agents. */
export function tokensModule({ db, purgeWindows, ...ports }: TokensDeps) {
  const tokens = tokensService(db, ports)
  return {
    useCases: { tokens, tiers: tokenAdmin(db, tokens.inUse) },
    jobs: tokensJobs({ purgeWindows }),
    checks: tokensEvidence(),
  }
}
