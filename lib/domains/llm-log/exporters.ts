import type { Exporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { openedPages } from '#lib/stores/postgres/record-pages.ts'
import { exportedExchanges } from './repository.ts'
import { exchangeOf } from './service.ts'

/** Exchanges in plain text as they were stored, after redaction. */
export const llmLogExporters = (db: Database, key: () => Uint8Array): Exporter[] => [
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
