import type { Exporter } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type ExchangeRow, exchangeOf } from './service.ts'

/** Rows per page. An exchange has at most 128 KiB. */
const rowsOfPage = 20

/** Exchanges in plain text as they were stored, after redaction. */
export const llmLogExporters = (db: Database, key: () => Uint8Array): Exporter[] => [
  {
    part: 'llm_log',
    bases: ['provided', 'all'],
    tables: ['llm_log_entries'],
    async *pages(agentId, { until }) {
      for (let after: { at: Date | '-infinity'; id: string } = { at: '-infinity', id: '' }; ; ) {
        const rows: ExchangeRow[] = await db.query<ExchangeRow>(
          'llm-log-exported',
          `SELECT * FROM llm_log_entries WHERE agent_id = $1 AND created_at <= $2 AND expires_at > $2 AND (created_at, id) > ($3::timestamptz, $4)
           ORDER BY created_at, id LIMIT ${rowsOfPage}`,
          [agentId, until, after.at, after.id],
        )
        const last = rows.at(-1)
        if (!last) return
        yield { lines: rows.map((row) => JSON.stringify(exchangeOf(row, key))).join('\n'), count: rows.length }
        after = { at: last.created_at, id: last.id }
      }
    },
  },
]
