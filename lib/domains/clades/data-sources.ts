import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { holdingOf, preferIndexes, rowsOfAgents, sumRemaining } from '#lib/stores/postgres/legal-hold-rows.ts'
import { callBack, recallShares } from './recall/recalling.ts'
import { countRemainingDeltas, deleteDeltaItems, deltaInventory, deltaItems } from './repository.ts'

/** Siblings get an order to remove the erased shares. The orders belong to the siblings and outlive the share. */
function shareDataSource(db: Database): DataSource {
  const rows = rowsOfAgents(db, {
    ...{ name: 'clades.shares', stage: 'content', table: 'clade_shares', id: 'id', at: 'shared_at' },
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
    ...{ name: 'clades.cards', stage: 'content', table: 'performance_cards', id: 'agent_id', at: 'published_at' },
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
