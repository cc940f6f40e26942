import type { DataHolder, Scope } from '#lib/kernel/holder.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { byIndex, chunked, countLeft, holding, type PlannedRow, plannedOf } from '#lib/stores/postgres/held-rows.ts'
import { holdMembers, holdOf, joinHolds } from '../held.ts'
import { keepGains, withdraw } from '../reputation/award.ts'
import type { KnowledgeParts } from '../stored-unit.ts'
import { subjectOf } from '../subject.ts'

const skillOf = (scope: Scope): string | undefined => ('skill' in scope ? scope.skill : undefined)

const planAuthored = `WITH ${holdMembers('skill', '$2')}
  SELECT s.id, ${holdOf} AS hold FROM skills s ${joinHolds('s')} WHERE s.agent_id = ANY($1::text[])`
const countAuthored = `WITH ${holdMembers('skill', '$2')}
  SELECT count(*)::int AS n FROM skills s ${joinHolds('s')} WHERE s.agent_id = ANY($1::text[]) AND ${holdOf} IS NULL`
const countById = `SELECT ((SELECT count(*) FROM skills WHERE id = ANY($1::text[]))
  + (SELECT count(*) FROM skill_files WHERE skill_id = ANY($1::text[]))
  + (SELECT count(*) FROM reputation_ledger WHERE subject_id = ANY($1::text[])))::int AS n`

/** Skills with their files and the reputation their authors gained. Counts are in skills; dependent data is deleted with them. */
export const skillHolder = (db: Database, { withdrawNaming }: Pick<KnowledgeParts, 'withdrawNaming'>): DataHolder => ({
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
    const subject = subjectOf(scope)
    if (subject) {
      await byIndex(tx)
      return plannedOf(await queryWithin<PlannedRow>(tx, 'plan-skills', planAuthored, [subject.agents, now]))
    }
    const id = skillOf(scope)
    return { items: id !== undefined && (await tx.skill.count({ where: { id } })) > 0 ? [id] : [], held: {} }
  },
  async erase(scope, plan, tx, manner) {
    const subject = subjectOf(scope)
    const whose = subject ? { agentId: { in: [...subject.agents] } } : {}
    const { count } = await tx.skill.deleteMany({ where: { id: { in: [...plan] }, ...whose } })
    // After the skills, because reputations are always locked last.
    if (subject) {
      await byIndex(tx)
      await keepGains(tx, plan, subject.agents)
      await withdrawNaming(tx, plan)
    } else await withdraw(tx, plan, manner?.now ?? new Date())
    return count
  },
  /** Searches files in their own table, which the foreign key should have cleared, and reputation by the skill's id. */
  async residue(scope, plan, now) {
    const subject = subjectOf(scope)
    const id = skillOf(scope)
    const ids = [...new Set([...plan, ...(id === undefined ? [] : [id])])]
    return countLeft(db, async (ask) => {
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
