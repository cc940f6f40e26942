import type { Exporter, ExportPage, PersonExporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'

/** Erasures of the subject itself, running or stopped by a legal hold. Exports counts, never the erased content. */
function runs(db: Database, where: string, id: string, until: Date): AsyncIterable<ExportPage> {
  return recordPages(db, {
    from: 'erasure_runs r',
    where: `${where} AND r.created_at <= $2`,
    values: [id, until],
    at: 'r.created_at',
    id: 'r.id',
    columns: 'r.*',
    record: jsonObject({
      id: 'c.id',
      request_id: 'c.request_id',
      receipt_id: 'c.receipt_id',
      agents: 'c.agents',
      reason: 'c.reason',
      state: 'c.state',
      created_at: utc('c.created_at'),
      fenced_at: utc('c.fenced_at'),
      finished_at: utc('c.finished_at'),
      steps: `coalesce((SELECT json_agg(json_build_object('holder', s.holder, 'state', s.state, 'planned', s.planned, 'erased', s.erased) ORDER BY s.position)
        FROM erasure_steps s WHERE s.run_id = c.id), '[]')`,
    }),
  })
}

export const erasurePersonExporters = (db: Database): PersonExporter[] => [
  {
    part: 'erasure_runs',
    bases: ['all'],
    tables: ['erasure_runs', 'erasure_steps'],
    pages: (accountId, { until }) => runs(db, 'r.account_id = $1', accountId, until),
  },
]

/** Erasures of a single agent without its account. */
export const erasureRunExporters = (db: Database): Exporter[] => [
  {
    part: 'erasure_runs',
    bases: ['all'],
    tables: ['erasure_runs', 'erasure_steps'],
    pages: (agentId, { until }) => runs(db, 'r.account_id IS NULL AND r.agents @> ARRAY[$1::text]', agentId, until),
  },
]
