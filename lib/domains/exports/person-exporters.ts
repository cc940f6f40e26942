import type { PersonExporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { exportRunPages } from './run-pages.ts'

/** Exports of the person's data, including this one: who requested them, and the state of the file. */
export const exportPersonExporters = (db: Database): PersonExporter[] => [
  {
    part: 'export_runs',
    bases: ['all'],
    tables: ['export_runs'],
    pages: (id, reader) =>
      exportRunPages(
        db,
        { id, kind: 'account' },
        reader,
        "CASE WHEN c.requested_by = 'user:' || c.subject_id THEN 'itself' WHEN c.requested_by LIKE 'system:%' THEN 'request' ELSE 'admin' END",
      ),
  },
  {
    part: 'prepared_exports',
    bases: ['all'],
    tables: ['prepared_exports'],
    pages: (accountId, { until }) =>
      recordPages(db, {
        from: 'prepared_exports p',
        where: 'p.account_id = $1 AND p.created_at <= $2',
        values: [accountId, until],
        at: 'p.created_at',
        id: 'p.id',
        columns: 'p.*',
        record: jsonObject({
          id: 'c.id',
          scope: 'c.basis',
          state: 'c.state',
          request_id: 'c.request_id',
          records: 'c.records',
          created_at: utc('c.created_at'),
          ready_at: utc('c.ready_at'),
          expires_at: utc('c.expires_at'),
          downloaded_at: utc('c.downloaded_at'),
        }),
      }),
  },
]
