import type { ExportPage, ExportReader } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'

/**
 * The exports of one subject's data. `requestedBy`: SQL for the role of who requested it. Only the role is exported, because an admin's
 * account is personal data of somebody else (GDPR art. 15(4)).
 */
export const exportRunPages = (
  db: Database,
  subject: { id: string; kind: 'agent' | 'account' },
  { until }: Pick<ExportReader, 'until'>,
  requestedBy: string,
): AsyncIterable<ExportPage> =>
  recordPages(db, {
    from: 'export_runs x',
    where: 'x.subject_id = $1 AND x.subject_kind = $2 AND x.at <= $3',
    values: [subject.id, subject.kind, until],
    at: 'x.at',
    id: 'x.id',
    columns: 'x.id, x.subject_id, x.agent_id, x.requested_by, x.format, x.basis, x.at',
    record: jsonObject({
      id: 'c.id',
      at: utc('c.at'),
      requested_by: requestedBy,
      format: 'c.format',
      scope: 'c.basis',
    }),
  })
