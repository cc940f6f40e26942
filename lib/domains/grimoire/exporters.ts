import type { Exporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, openedPages, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { entryViewOf } from './entries.ts'
import { exportedEntries } from './repository.ts'

/** Keyrings, and entries: private ones as envelopes, which the keyring opens, others in plain text. */
export const grimoireExporters = (db: Database, key: () => Uint8Array): Exporter[] => [
  {
    part: 'keyrings',
    bases: ['provided', 'all'],
    tables: ['keyrings'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'keyrings k',
        where: 'k.agent_id = $1 AND k.created_at <= $2',
        values: [agentId, until],
        at: 'k.created_at',
        id: 'k.key_id',
        columns: 'k.key_id AS ring_id, k.keyring, k.revision, k.created_at, k.updated_at',
        record: jsonObject({
          key_id: 'c.ring_id',
          keyring: 'c.keyring',
          revision: 'c.revision',
          created_at: utc('c.created_at'),
          updated_at: utc('c.updated_at'),
        }),
      }),
  },
  {
    part: 'grimoire_entries',
    bases: ['provided', 'all'],
    tables: ['grimoire_entries'],
    pages: (agentId, { until }) =>
      openedPages(
        (after) => exportedEntries(db, { agent: agentId, until, ...after }),
        (row) => ({ at: row.created_at, id: row.id }),
        (row) => entryViewOf(row, key),
      ),
  },
]
