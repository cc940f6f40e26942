import type { PersonExporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'

/** Exports of the person's data, including this one: who requested them, and the state of the file. */
export const exportPersonExporters = (db: Database): PersonExporter[] => [
  {
    part: 'export_runs',
    bases: ['all'],
    tables: ['export_runs'],
    pages: (accountId, { until }) =>
      recordPages(db, {
        from: 'export_runs x',
        where: "x.subject_id = $1 AND x.subject_kind = 'account' AND x.at <= $2",
        values: [accountId, until],
        at: 'x.at',
        id: 'x.id',
        columns: 'x.id, x.subject_id, x.requested_by, x.format, x.basis, x.at',
        record: jsonObject({
          id: 'c.id',
          at: utc('c.at'),
          // Only the role, because an admin's account is personal data of somebody else (art. 15(4)).
          requested_by:
            "CASE WHEN c.requested_by = 'user:' || c.subject_id THEN 'itself' WHEN c.requested_by LIKE 'system:%' THEN 'request' ELSE 'admin' END",
          format: 'c.format',
          scope: 'c.basis',
        }),
      }),
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
