import type { Exporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, openedPages, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { openPayload } from './payload.ts'
import { exportedShares } from './repository.ts'

/** Shares that an agent sent and received, and its public card. */
export const cladeExporters = (db: Database, key: () => Uint8Array): Exporter[] => [
  {
    part: 'clade_shares',
    bases: ['provided', 'all'],
    tables: ['clade_shares'],
    pages: (agentId, { until }) =>
      openedPages(
        (after) => exportedShares(db, { agent: agentId, until, ...after }),
        (row) => ({ at: row.shared_at, id: row.id }),
        (row) => ({
          share_id: row.id,
          entry_id: row.entry_id === row.id ? null : row.entry_id,
          kind: row.kind,
          payload: row.sealed === null ? null : openPayload(key(), row.id, row.sealed),
          manifest: row.manifest,
          shared_at: row.shared_at.toISOString(),
          recalled_at: row.recalled_at?.toISOString() ?? null,
        }),
      ),
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
