import type { DataSource } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { countRemaining, holding, preferIndexes, rowsOfAgents } from '#lib/stores/postgres/legal-hold-rows.ts'
import { callBack, recallShares } from './recalling.ts'

/** Siblings are told to remove the erased shares. These calls belong to the siblings and outlive the share. */
function shareHolder(db: Database): DataSource {
  const rows = rowsOfAgents(db, {
    ...{ name: 'clades.shares', stage: 'content', table: 'clade_shares', id: 'id', at: 'shared_at' },
    what: 'entries as agents sent them to siblings, stripped, sealed with the installation’s key; recalled as they go',
    purpose: 'so that siblings of one owner learn from each other',
    kept: 'until they are recalled; what is said of a recall for 30 days more',
  })
  return {
    ...rows,
    async erase(scope, items, tx, options) {
      if (!('subject' in scope) || items.length === 0) return 0
      if (!options) throw new TypeError('an erasure says when it is')
      await preferIndexes(tx)
      await recallShares(tx, { ids: items, now: options.now })
      await callBack(tx, items)
      return rows.erase(scope, items, tx, options)
    },
  }
}

/** Items are `<agent>/<share>`, because a recall changes the delta number. An agent id contains no slash. */
const deltaHolder = (db: Database): DataSource => ({
  name: 'clades.deltas',
  store: 'postgresql',
  stage: 'content',
  tables: ['clade_deltas'],
  what: 'which shares of siblings are on their way to agents or were taken in: ids, states and times',
  purpose: 'to bring what siblings share, and to take it back everywhere',
  kept: 'unfetched for 7 days; else until it is recalled, and 30 days more',
  inventory: ({ agents }) =>
    holding(
      db,
      'clade-deltas-held',
      'SELECT count(*)::int AS n, min(created_at) AS since FROM clade_deltas WHERE agent_id = ANY($1::text[])',
      [agents],
    ),
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    await preferIndexes(tx)
    const rows = await queryWithin<{ id: string }>(
      tx,
      'plan-clade-deltas',
      "SELECT agent_id || '/' || share_id AS id FROM clade_deltas WHERE agent_id = ANY($1::text[])",
      [scope.subject.agents],
    )
    return { items: rows.map(({ id }) => id).sort(), held: {} }
  },
  async erase(scope, items, tx) {
    if (!('subject' in scope)) return 0
    await preferIndexes(tx)
    return (
      await queryWithin(
        tx,
        'erase-clade-deltas',
        `DELETE FROM clade_deltas d USING unnest($1::text[]) AS i
         WHERE d.agent_id = split_part(i, '/', 1) AND d.share_id = split_part(i, '/', 2) RETURNING 1`,
        [items],
      )
    ).length
  },
  residue: (scope) =>
    'subject' in scope
      ? countRemaining(db, (ask) =>
          ask('SELECT count(*)::int AS n FROM clade_deltas WHERE agent_id = ANY($1::text[])', [scope.subject.agents]),
        )
      : Promise.resolve(0),
})

const cardHolder = (db: Database): DataSource =>
  rowsOfAgents(db, {
    ...{ name: 'clades.cards', stage: 'content', table: 'performance_cards', id: 'agent_id', at: 'published_at' },
    what: 'performance cards: how agents performed, which their owners made public',
    purpose: 'to show others how an agent performed, where its owner wants that',
    kept: 'until the agent or its owner takes them back',
  })

/** Deltas that agents received, shares that they sent, and their public cards. */
export const cladeDataSources = (db: Database): DataSource[] => [deltaHolder(db), shareHolder(db), cardHolder(db)]
