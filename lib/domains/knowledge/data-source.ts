import {
  countById,
  countDocumentsById,
  countWithoutHold,
  deleteUnits,
  heldByAgents,
  identitiesOfRecords,
  lockUnits,
} from '#lib/domains/knowledge/erasure/records/repository.ts'
import {
  planRecords,
  removeFromReputation,
  selectedRecords,
  selectsNothing,
} from '#lib/domains/knowledge/erasure/selected-records.ts'
import type { KnowledgeDeps } from '#lib/domains/knowledge/units/stored-unit.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { chunked, holdingOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/legal-hold-rows.ts'

/**
 * Units with all data under their ids: votes, reports, SOP versions and reputation gained. Counts are in units; dependent data is deleted
 * with them. Erasing a single unit also revokes the reputation gained by it. Erasing a subject keeps what others gained by its units,
 * without naming the units.
 */
export const unitDataSource = (
  db: Database,
  { withdrawNaming }: Pick<KnowledgeDeps, 'withdrawNaming'>,
): DataSource => ({
  name: 'knowledge.units',
  store: 'postgresql',
  stage: 'content',
  what: 'knowledge units, with their votes, reports, versions and earned reputation',
  purpose: 'sharing knowledge, and assessing its quality',
  kept: 'by visibility, as set in the retention settings, or until they are erased',
  tables: ['units', 'sop_versions'],
  inventory: async ({ agents }) => holdingOf(await heldByAgents(db, { agents }, 'unit')),
  plan: (scope, tx, now) => planRecords(scope, 'unit', tx, now),
  async erase(scope, items, tx, options) {
    const selected = selectedRecords(scope, 'unit')
    await preferIndexes(tx)
    const locked = await lockUnits(tx, { items, ...selected })
    const found = locked.map(({ id }) => id)
    // Data under the id of a single unit is deleted even if the unit is already gone.
    const ids = [...new Set([...found, ...items.filter((item) => selected.ids.includes(item))])]
    if (ids.length === 0) return 0
    await deleteUnits(tx, ids)
    // Withdraw after the deletion, so that responses stored in the meantime are included.
    await withdrawNaming(tx, ids)
    await removeFromReputation(tx, ids, selected, options?.now ?? new Date())
    return found.length
  },
  /** Searches by author, by all data under the ids, and for single units by the ids in documents. */
  async residue(scope, items, now) {
    const selected = selectedRecords(scope, 'unit')
    const ids = [...new Set([...items, ...selected.ids])]
    if (ids.length === 0 && selectsNothing(selected)) return 0
    return sumRemaining(db, async function* (on) {
      if (selected.agents.length > 0) yield countWithoutHold(on, { agents: selected.agents, now }, 'unit')
      for (const chunk of chunked(ids)) yield countById(on, { ids: chunk }, 'unit')
      if (selected.ids.length > 0) yield countDocumentsById(on, { ids: selected.ids })
    })
  },
  identities: (items, tx) => identitiesOfRecords(tx, { ids: items }, 'unit'),
})
