import type { Exporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'

/** Exports who received an export before: the recipients of the data (GDPR art. 15(1)(c)), including this export. */
export const exportExporters = (db: Database): Exporter[] => [
  {
    part: 'export_runs',
    bases: ['all'],
    tables: ['export_runs'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'export_runs x',
        where: "x.subject_id = $1 AND x.subject_kind = 'agent' AND x.at <= $2",
        values: [agentId, until],
        at: 'x.at',
        id: 'x.id',
        columns: 'x.id, x.subject_id, x.agent_id, x.requested_by, x.format, x.basis, x.at',
        record: jsonObject({
          id: 'c.id',
          at: utc('c.at'),
          // Only the role, because an admin's account is personal data of somebody else (art. 15(4)).
          requested_by:
            "CASE WHEN c.requested_by = c.subject_id THEN 'itself' WHEN c.agent_id IS NULL THEN 'admin' ELSE 'owner' END",
          format: 'c.format',
          scope: 'c.basis',
        }),
      }),
  },
]
