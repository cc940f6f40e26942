import type { Exporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'

/** Exports the list of the agent's erasures. The receipts themselves are read by id. */
export const erasureExporters = (db: Database): Exporter[] => [
  {
    part: 'erasures',
    bases: ['all'],
    tables: ['erasures'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'erasures e',
        where: 'e.former_owner = $1 AND e.deleted_at <= $2',
        values: [agentId, until],
        at: 'e.deleted_at',
        id: 'e.receipt_id',
        columns: 'e.receipt_id, e.deleted_id, e.deleted_at, e.signed_at',
        record: jsonObject({
          receipt_id: 'c.receipt_id',
          deleted_id: 'c.deleted_id',
          deleted_at: utc('c.deleted_at'),
          signed_at: utc('c.signed_at'),
        }),
      }),
  },
]
