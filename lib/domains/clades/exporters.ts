import type { Exporter } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { openPayload } from './payload.ts'

interface Row {
  id: string
  entry_id: string
  kind: string
  sealed: Buffer | null
  manifest: string
  shared_at: Date
  recalled_at: Date | null
}
const rowsOfPage = 50

/** Shares that an agent sent and received, and its public card. */
export const cladeExporters = (db: Database, key: () => Uint8Array): Exporter[] => [
  {
    part: 'clade_shares',
    bases: ['provided', 'all'],
    tables: ['clade_shares'],
    async *pages(agentId, { until }) {
      for (let after: { at: Date | '-infinity'; id: string } = { at: '-infinity', id: '' }; ; ) {
        const rows: Row[] = await db.query<Row & Record<string, unknown>>(
          'clade-shares-exported',
          `SELECT id, entry_id, kind, sealed, manifest, shared_at, recalled_at FROM clade_shares
           WHERE agent_id = $1 AND shared_at <= $2 AND (shared_at, id) > ($3::timestamptz, $4) ORDER BY shared_at, id LIMIT ${rowsOfPage}`,
          [agentId, until, after.at, after.id],
        )
        const last = rows.at(-1)
        if (!last) return
        const lines = rows.map((row) =>
          JSON.stringify({
            share_id: row.id,
            entry_id: row.entry_id === row.id ? null : row.entry_id,
            kind: row.kind,
            payload: row.sealed === null ? null : openPayload(key(), row.id, row.sealed),
            manifest: row.manifest,
            shared_at: row.shared_at.toISOString(),
            recalled_at: row.recalled_at?.toISOString() ?? null,
          }),
        )
        yield { lines: lines.join('\n'), count: rows.length }
        after = { at: last.shared_at, id: last.id }
      }
    },
  },
  {
    part: 'clade_deltas',
    bases: ['all'],
    tables: ['clade_deltas'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'clade_deltas d',
        where: 'd.agent_id = $1 AND d.created_at <= $2',
        values: [agentId, until],
        at: 'd.created_at',
        id: 'd.share_id',
        columns: 'd.share_id, d.state, d.created_at, d.delivered_at, d.acknowledged_at',
        record: jsonObject({
          share_id: 'c.share_id',
          state: 'c.state',
          created_at: utc('c.created_at'),
          delivered_at: utc('c.delivered_at'),
          acknowledged_at: utc('c.acknowledged_at'),
        }),
      }),
  },
  {
    part: 'performance_cards',
    bases: ['provided', 'all'],
    tables: ['performance_cards'],
    pages: (agentId, { until }) =>
      recordPages(db, {
        from: 'performance_cards p',
        where: 'p.agent_id = $1 AND p.published_at <= $2',
        values: [agentId, until],
        at: 'p.published_at',
        id: 'p.agent_id',
        columns: 'p.from_at, p.until_at, p.returns, p.sharpe, p.drawdown, p.published_at',
        record: jsonObject({
          from: utc('c.from_at'),
          until: utc('c.until_at'),
          returns: 'c.returns',
          sharpe: 'c.sharpe',
          drawdown: 'c.drawdown',
          published_at: utc('c.published_at'),
        }),
      }),
  },
]
