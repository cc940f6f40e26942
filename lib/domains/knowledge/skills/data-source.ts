import { joinKnowledgeHolds, knowledgeHoldSql, knowledgeHoldsSql } from '#lib/domains/knowledge/erasure/legal-holds.ts'
import { erasedSubjectOf } from '#lib/domains/knowledge/erasure/subject.ts'
import { storeGains, withdraw } from '#lib/domains/knowledge/reputation/award.ts'
import type { KnowledgeDeps } from '#lib/domains/knowledge/units/stored-unit.ts'
import type { DataSource, ErasureScope } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import {
  chunked,
  countRemaining,
  holding,
  type PlannedRow,
  plannedOf,
  preferIndexes,
} from '#lib/stores/postgres/legal-hold-rows.ts'

const skillOf = (scope: ErasureScope): string | undefined => ('skill' in scope ? scope.skill : undefined)

const planAuthored = `WITH ${knowledgeHoldsSql('skill', '$2')}
  SELECT s.id, ${knowledgeHoldSql} AS hold FROM skills s ${joinKnowledgeHolds('s')} WHERE s.agent_id = ANY($1::text[])`
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
    const subject = erasedSubjectOf(scope)
    if (subject) {
      await preferIndexes(tx)
      return plannedOf(await queryWithin<PlannedRow>(tx, 'plan-skills', planAuthored, [subject.agents, now]))
    }
    const id = skillOf(scope)
    return { items: id !== undefined && (await tx.skill.count({ where: { id } })) > 0 ? [id] : [], held: {} }
  },
  async erase(scope, plan, tx, options) {
    const subject = erasedSubjectOf(scope)
    const whose = subject ? { agentId: { in: [...subject.agents] } } : {}
    const { count } = await tx.skill.deleteMany({ where: { id: { in: [...plan] }, ...whose } })
    // After the skills, because reputations are always locked last.
    if (subject) {
      await preferIndexes(tx)
      await storeGains(tx, plan, subject.agents)
      await withdrawNaming(tx, plan)
    } else await withdraw(tx, plan, options?.now ?? new Date())
    return count
  },
  /** Searches files in their own table, which the foreign key should have cleared, and reputation by the skill's id. */
  async residue(scope, plan, now) {
    const subject = erasedSubjectOf(scope)
    const id = skillOf(scope)
    const ids = [...new Set([...plan, ...(id === undefined ? [] : [id])])]
    return countRemaining(db, async (ask) => {
      if (subject) await ask(countAuthored, [subject.agents, now])
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
