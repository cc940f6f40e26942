import type { Exporter } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { entryViewOf } from './entries.ts'

type Row = Parameters<typeof entryViewOf>[0]
const rowsOfPage = 50

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
    async *pages(agentId, { until }) {
      for (let after: { at: Date | '-infinity'; id: string } = { at: '-infinity', id: '' }; ; ) {
        const rows: Row[] = await db.query<Row>(
          'grimoire-exported',
          `SELECT * FROM grimoire_entries WHERE agent_id = $1 AND created_at <= $2 AND (created_at, id) > ($3::timestamptz, $4)
           ORDER BY created_at, id LIMIT ${rowsOfPage}`,
          [agentId, until, after.at, after.id],
        )
        const last = rows.at(-1)
        if (!last) return
        yield { lines: rows.map((row) => JSON.stringify(entryViewOf(row, key))).join('\n'), count: rows.length }
        after = { at: last.created_at, id: last.id }
      }
    },
  },
]
