import { recordKinds, recordsById, recordsWithHolds } from '#lib/domains/knowledge/erasure/records/repository.ts'
import { selectedRecords } from '#lib/domains/knowledge/erasure/selected-records.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, Planned } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { chunked, holdingOf, plannedOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/legal-hold-rows.ts'
import {
  countEmptyScopes,
  countedScopes,
  countWordsOf,
  deleteScopeCounts,
  deleteWordsOf,
  lockRecords,
  wordsHolding,
} from './indexing/repository.ts'

/** The row count of an agent's private scope is stored under the agent's id. It is not a word, so no bearer's deletion removes it. */
const scopesOf = (agents: readonly string[]): string[] => agents.map((agent) => `agent:${agent}`)

async function planned(scope: ErasureScope, tx: Transaction, now: Date): Promise<Planned> {
  const rows: { id: string; hold: string | null }[] = []
  for (const kind of recordKinds) {
    const { agents, ids } = selectedRecords(scope, kind)
    if (agents.length > 0) {
      await preferIndexes(tx)
      rows.push(...(await recordsWithHolds(tx, { agents, now }, kind)))
    }
    if (ids.length > 0) rows.push(...(await recordsById(tx, { ids }, kind)))
  }
  const { agents } = selectedRecords(scope, 'unit')
  const scopes = agents.length === 0 ? [] : await countedScopes(tx, { scopes: scopesOf(agents) })
  return plannedOf([...rows, ...scopes.map(({ id }) => ({ id, hold: null }))])
}

/**
 * Data source of the word table. An item is the id of a row whose words are deleted, or an agent's private scope; plans are stored in
 * ledgers, so they never contain words. Every word in the table names its bearer, and the database deletes it with the bearer. The index of
 * bearers therefore shows residue immediately in any process, however many words exist.
 */
export const searchWordsDataSource = (db: Database): DataSource => ({
  name: 'knowledge.words',
  store: 'postgresql',
  stage: 'derived',
  what: 'the vocabulary for correcting typing errors in searches: the words of the erased items are removed',
  held: 'the words of units and skills, for correcting typing errors in searches',
  purpose: 'making search tolerate typing errors',
  kept: 'as long as the unit or skill that contains them',
  tables: ['search_words', 'search_news'],
  inventory: async ({ agents }) => holdingOf(await wordsHolding(db, { agents, scopes: scopesOf(agents) })),
  plan: planned,
  async erase(_scope, ids, tx) {
    await preferIndexes(tx)
    // Lock the rows first, then their words, in the order used everywhere to avoid deadlocks. The rows may already be deleted.
    await lockRecords(tx, { ids }, 'unit')
    await lockRecords(tx, { ids }, 'skill')
    await deleteWordsOf(tx, { ids })
    await deleteScopeCounts(tx, { scopes: ids })
    return ids.length
  },
  async residue(scope, plan) {
    const selected = recordKinds.map((kind) => selectedRecords(scope, kind))
    const ids = [...new Set([...plan, ...selected.flatMap((one) => one.ids)])]
    const { agents } = selectedRecords(scope, 'unit')
    if (ids.length + agents.length === 0) return 0
    return sumRemaining(db, async function* (on) {
      for (const chunk of chunked(ids)) yield countWordsOf(on, { ids: chunk })
      if (agents.length > 0) yield countEmptyScopes(on, { scopes: scopesOf(agents) })
    })
  },
})
