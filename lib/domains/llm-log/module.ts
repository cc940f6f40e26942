import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { llmLogEvidence, llmLogJobs } from './jobs.ts'
import { exchangeDataSource, llmLogExporters } from './personal-data.ts'
import { type LlmLogPorts, llmLogService } from './service.ts'

export const llmLogData = (db: Database, key: () => Uint8Array): PersonalData => ({
  dataSources: [exchangeDataSource(db)],
  exporters: llmLogExporters(db, key),
})

/** The log of texts that agents exchange with language models. */
export const llmLogModule = (deps: LlmLogPorts) => ({
  useCases: { llmLog: llmLogService(deps) },
  jobs: llmLogJobs(deps.db),
  checks: llmLogEvidence(),
})
