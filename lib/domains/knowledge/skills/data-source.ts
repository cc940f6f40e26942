import {
  countById,
  countWithoutHold,
  heldByAgents,
  identitiesOfRecords,
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

/** Skills with their files and the reputation their authors gained. Counts are in skills; dependent data is deleted with them. */
export const skillDataSource = (
  db: Database,
  { withdrawNaming }: Pick<KnowledgeDeps, 'withdrawNaming'>,
): DataSource => ({
  name: 'knowledge.skills',
  store: 'postgresql',
  stage: 'content',
  what: 'skills, with their files and earned reputation',
  purpose: 'sharing knowledge',
  kept: 'by visibility, as set in the retention settings, or until they are erased',
  tables: ['skills', 'skill_files'],
  inventory: async ({ agents }) => holdingOf(await heldByAgents(db, { agents }, 'skill')),
  plan: (scope, tx, now) => planRecords(scope, 'skill', tx, now),
  async erase(scope, items, tx, options) {
    const selected = selectedRecords(scope, 'skill')
    const ids = [...items]
    const isSelected = { OR: [{ agentId: { in: [...selected.agents] } }, { id: { in: [...selected.ids] } }] }
    const { count } = await tx.skill.deleteMany({ where: { id: { in: ids }, ...isSelected } })
    await preferIndexes(tx)
    await withdrawNaming(tx, ids)
    await removeFromReputation(tx, ids, selected, options?.now ?? new Date())
    return count
  },
  /** Searches files in their own table, which the foreign key should have cleared, and reputation by the skill's id. */
  async residue(scope, items, now) {
    const selected = selectedRecords(scope, 'skill')
    const ids = [...new Set([...items, ...selected.ids])]
    if (ids.length === 0 && selectsNothing(selected)) return 0
    return sumRemaining(db, async function* (on) {
      if (selected.agents.length > 0) yield countWithoutHold(on, { agents: selected.agents, now }, 'skill')
      for (const chunk of chunked(ids)) yield countById(on, { ids: chunk }, 'skill')
    })
  },
  identities: (items, tx) => identitiesOfRecords(tx, { ids: items }, 'skill'),
})
