import { joinKnowledgeHolds, knowledgeHoldSql, knowledgeHoldsSql } from '#lib/domains/knowledge/erasure/legal-holds.ts'
import {
  removeFromReputation,
  selectedRecords,
  selectsNothing,
} from '#lib/domains/knowledge/erasure/selected-records.ts'
import type { KnowledgeDeps } from '#lib/domains/knowledge/units/stored-unit.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import {
  chunked,
  countRemaining,
  holding,
  type PlannedRow,
  plannedOf,
  preferIndexes,
} from '#lib/stores/postgres/legal-hold-rows.ts'

/** Records of agents, with the legal holds that cover them. */
const planAuthored = `WITH ${knowledgeHoldsSql('skill', '$2')}
  SELECT s.id, ${knowledgeHoldSql} AS hold FROM skills s ${joinKnowledgeHolds('s')} WHERE s.agent_id = ANY($1::text[])`
const planById = 'SELECT id, NULL AS hold FROM skills WHERE id = ANY($1::text[])'
const countAuthored = `WITH ${knowledgeHoldsSql('skill', '$2')}
  SELECT count(*)::int AS n FROM skills s ${joinKnowledgeHolds('s')} WHERE s.agent_id = ANY($1::text[]) AND ${knowledgeHoldSql} IS NULL`
const countById = `SELECT ((SELECT count(*) FROM skills WHERE id = ANY($1::text[]))
  + (SELECT count(*) FROM skill_files WHERE skill_id = ANY($1::text[]))
  + (SELECT count(*) FROM reputation_ledger WHERE subject_id = ANY($1::text[])))::int AS n`

/** Skills with their files and the reputation their authors gained. Counts are in skills; dependent data is deleted with them. */
export const skillDataSource = (
  db: Database,
  { withdrawNaming }: Pick<KnowledgeDeps, 'withdrawNaming'>,
): DataSource => ({
  name: 'knowledge.skills',
  store: 'postgresql',
  stage: 'content',
  what: 'skills, with their files and what was gained by them',
  purpose: 'sharing what was learned',
  kept: 'by visibility, as the retention settings say; until they are erased',
  tables: ['skills', 'skill_files'],
  inventory: ({ agents }) =>
    holding(
      db,
      'skills-held',
      'SELECT count(*)::int AS n, min(created_at) AS since FROM skills WHERE agent_id = ANY($1::text[])',
      [agents],
    ),
  async plan(scope, tx, now) {
    const { agents, ids } = selectedRecords(scope, 'skill')
    const rows: PlannedRow[] = []
    if (agents.length > 0) {
      await preferIndexes(tx)
      rows.push(...(await queryWithin<PlannedRow>(tx, 'plan-skills', planAuthored, [agents, now])))
    }
    if (ids.length > 0) rows.push(...(await queryWithin<PlannedRow>(tx, 'plan-skills-by-id', planById, [ids])))
    return plannedOf(rows)
  },
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
    return countRemaining(db, async (ask) => {
      if (selected.agents.length > 0) await ask(countAuthored, [selected.agents, now])
      for (const chunk of chunked(ids)) await ask(countById, [chunk])
    })
  },
  identities: async (items, tx) =>
    queryWithin(
      tx,
      'skill-identities',
      `SELECT id, was_public OR visibility = 'network' AS "wasPublic" FROM skills WHERE id = ANY($1::text[])`,
      [items],
    ),
})
