import type { Exporter, ExportPage, PersonExporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { decryptedKey, pseudonymUnder } from './pseudonyms.ts'
import { exportedKey } from './repository.ts'
import type { EventSubject } from './rules.ts'

/** The current pseudonym of a subject. The key is not exported, because it could generate the pseudonym. */
const exporter = (
  db: Database,
  key: () => Uint8Array,
  kind: NonNullable<EventSubject>['kind'],
): Exporter & PersonExporter => ({
  part: 'telemetry',
  bases: ['all'],
  tables: ['telemetry_keys'],
  async *pages(id: string, { until }): AsyncGenerator<ExportPage> {
    const [row] = await exportedKey(db, { kind, id, until })
    if (!row) return
    yield {
      lines: JSON.stringify({
        pseudonym: pseudonymUnder(decryptedKey(key(), id, row.sealed)),
        since: row.created_at.toISOString(),
        until: row.expires_at.toISOString(),
      }),
      count: 1,
    }
  },
})

export const telemetryExporters = (db: Database, key: () => Uint8Array): Exporter[] => [exporter(db, key, 'agent')]
export const telemetryPersonExporters = (db: Database, key: () => Uint8Array): PersonExporter[] => [
  exporter(db, key, 'account'),
]
