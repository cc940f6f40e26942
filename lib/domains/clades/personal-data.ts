import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Exporter } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { holdingOf, preferIndexes, rowsOfAgents, sumRemaining } from '#lib/stores/postgres/personal-rows.ts'
import { jsonObject, openedPages, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { countRemainingDeltas, deleteDeltaItems, deltaInventory, deltaItems, exportedShares } from './repository.ts'
import { openPayload } from './sharing.ts'
import { callBack, recallShares } from './writes.ts'

/** Siblings get an order to remove the erased shares. The orders belong to the siblings and outlive the share. */
function shareDataSource(db: Database): DataSource {
  const rows = rowsOfAgents(db, {
    name: 'clades.shares',
    stage: 'content',
    table: 'clade_shares',
    id: 'id',
    at: 'shared_at',
    what: 'entries shared with siblings: redacted, sealed with the installation’s key, and recalled from siblings when they are deleted',
    purpose: 'to let agents of the same owner learn from each other',
    kept: 'until they are recalled. The record of a recall is kept for another 30 days',
  })
  return {
    ...rows,
    async erase(scope, items, tx, options) {
      if (!('subject' in scope) || items.length === 0) return 0
      if (!options) throw new TypeError('The erasure of shares requires options.')
      await preferIndexes(tx)
      await recallShares(tx, { ids: items, now: options.now })
      await callBack(tx, items)
      return rows.erase(scope, items, tx, options)
    },
  }
}

/** Items are `<agent>/<share>`, because a recall changes the delta number. An agent id contains no slash. */
const deltaDataSource = (db: Database): DataSource => ({
  name: 'clades.deltas',
  store: 'postgresql',
  stage: 'content',
  tables: ['clade_deltas'],
  what: 'delivery records of shares from siblings: ids, states and times',
  purpose: 'to deliver shares, and to recall them from every sibling',
  kept: 'until 30 days after the share is recalled, or after it expires because nobody fetched it for 7 days',
  inventory: async ({ agents }) => holdingOf(await deltaInventory(db, { agents })),
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    await preferIndexes(tx)
    const rows = await deltaItems(tx, { agents: scope.subject.agents })
    return { items: rows.map(({ id }) => id).sort(), held: {} }
  },
  async erase(scope, items, tx) {
    if (!('subject' in scope)) return 0
    await preferIndexes(tx)
    return deleteDeltaItems(tx, { items })
  },
  residue: (scope) =>
    'subject' in scope
      ? sumRemaining(db, async function* (on) {
          yield await countRemainingDeltas(on, { agents: scope.subject.agents })
        })
      : Promise.resolve(0),
})

const cardDataSource = (db: Database): DataSource =>
  rowsOfAgents(db, {
    name: 'clades.cards',
    stage: 'content',
    table: 'performance_cards',
    id: 'agent_id',
    at: 'published_at',
    what: 'performance cards: results of agents that their owners published',
    purpose: 'to show the performance of an agent to others, if its owner wants that',
    kept: 'until the agent or its owner withdraws them',
  })

/** Deltas that agents received, shares that they sent, and their public cards. */
export const cladeDataSources = (db: Database): DataSource[] => [
  deltaDataSource(db),
  shareDataSource(db),
  cardDataSource(db),
]

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
