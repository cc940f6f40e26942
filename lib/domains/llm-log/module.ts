import { sealedPurposes } from '#lib/config/secret.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Exporter } from '#lib/kernel/exporter.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { rowsOfAgents } from '#lib/stores/postgres/personal-rows.ts'
import { openedPages } from '#lib/stores/postgres/record-pages.ts'
import { llmLogEvidence, llmLogJobs, llmLogMeasures } from './jobs.ts'
import { exportedExchanges } from './repository.ts'
import { exchangeOf, type LlmLogPorts, llmLogService } from './service.ts'

const exchangeDataSource = (db: Database): DataSource =>
  rowsOfAgents(db, {
    name: 'llm-log.entries',
    stage: 'content',
    table: 'llm_log_entries',
    id: 'id',
    at: 'created_at',
    until: 'expires_at',
    what: 'logged exchanges of agents with language models, scanned before they were stored and sealed with the installation’s key',
    purpose: 'to let an agent and its owner see the exchanges with models on their behalf',
    kept: 'for 24 hours, or until the agent or its owner deletes them',
  })

/** Exchanges in plain text as they were stored, after redaction. */
const llmLogExporters = (db: Database, key: () => Uint8Array): Exporter[] => [
  {
    part: 'llm_log',
    bases: ['provided', 'all'],
    tables: ['llm_log_entries'],
    pages: (agentId, { until }) =>
      openedPages(
        (after) => exportedExchanges(db, { agent: agentId, until, ...after }),
        (row) => ({ at: row.created_at, id: row.id }),
        (row) => exchangeOf(row, key),
      ),
  },
]

interface Keys {
  keyFor(purpose: string): () => Uint8Array
}

export const llmLogData = ({ db, keyFor }: Keys & { db: Database }): PersonalData => ({
  dataSources: [exchangeDataSource(db)],
  exporters: llmLogExporters(db, keyFor(sealedPurposes.llmLog)),
})

/** The log of texts that agents exchange with language models. */
export const llmLogModule = ({
  db,
  keyFor,
  ownAgents,
  recognise,
}: Keys & Pick<LlmLogPorts, 'db' | 'recognise'> & { ownAgents: LlmLogPorts['agents'] }) => ({
  useCases: { llmLog: llmLogService({ db, key: keyFor(sealedPurposes.llmLog), recognise, agents: ownAgents }) },
  jobs: llmLogJobs(db),
  checks: llmLogEvidence(),
  measures: [llmLogMeasures(db)],
})
