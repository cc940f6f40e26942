import type { Exporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { exportRunPages } from './run-pages.ts'

/** Exports who received an export before: the recipients of the data (GDPR art. 15(1)(c)), including this export. */
export const exportExporters = (db: Database): Exporter[] => [
  {
    part: 'export_runs',
    isShared: true,
    bases: ['all'],
    tables: ['export_runs'],
    pages: (id, reader) =>
      exportRunPages(
        db,
        { id, kind: 'agent' },
        reader,
        "CASE WHEN c.requested_by = c.subject_id THEN 'itself' WHEN c.agent_id IS NULL THEN 'admin' ELSE 'owner' END",
      ),
  },
]
