import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type TokenAdminPorts, tokenAdmin } from './admin.ts'
import { tokenDataSource } from './data-source.ts'
import { tokensEvidence } from './evidence.ts'
import { tokenExporters } from './exporters.ts'
import { tokensJobs } from './jobs.ts'
import type { TokenPorts } from './ports.ts'
import { tokensService } from './service.ts'

export interface TokensDeps extends TokenPorts, Pick<TokenAdminPorts, 'agents'> {
  db: Database
  /** Deletes expired rate-limit windows and returns how many. */
  purgeWindows(): Promise<number>
}

export const tokensData = (db: Database, gate: Parameters<typeof tokenDataSource>[1]): PersonalData => ({
  dataSources: [tokenDataSource(db, gate)],
  exporters: tokenExporters(db),
})

/** API tokens, their use, and the tiers of agents. */
export function tokensModule({ db, agents, purgeWindows, ...ports }: TokensDeps) {
  const tokens = tokensService(db, ports)
  return {
    useCases: { tokens, tiers: tokenAdmin(db, { agents, inUse: tokens.inUse }) },
    jobs: tokensJobs({ purgeWindows }),
    checks: tokensEvidence(),
  }
}
