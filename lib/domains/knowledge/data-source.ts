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

const unitOf = (scope: ErasureScope): string | undefined => ('unit' in scope ? scope.unit : undefined)

const planAuthored = `WITH ${knowledgeHoldsSql('unit', '$2')}
  SELECT u.id, ${knowledgeHoldSql} AS hold FROM units u ${joinKnowledgeHolds('u')} WHERE u.agent_id = ANY($1::text[])`
const lockAuthored =
  'SELECT id FROM units WHERE id = ANY($1::text[]) AND agent_id = ANY($2::text[]) ORDER BY id FOR UPDATE'
/** Dependent rows are deleted first, a page at a time: the database's cascade would process them row by row. */
const hanging = ['unit_votes', 'unit_reports', 'sop_versions'] as const

const countAuthored = `WITH ${knowledgeHoldsSql('unit', '$2')}
  SELECT count(*)::int AS n FROM units u ${joinKnowledgeHolds('u')} WHERE u.agent_id = ANY($1::text[]) AND ${knowledgeHoldSql} IS NULL`
const countById = `SELECT ((SELECT count(*) FROM units WHERE id = ANY($1::text[]))
  ${hanging.map((table) => `+ (SELECT count(*) FROM ${table} WHERE unit_id = ANY($1::text[]))`).join('\n  ')}
  + (SELECT count(*) FROM reputation_ledger WHERE subject_id = ANY($1::text[])))::int AS n`

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
  what: 'knowledge units, with their votes, reports, wordings and what was gained by them',
  purpose: 'sharing what was learned, and judging how good it is',
  kept: 'by visibility, as the retention settings say; until they are erased',
  tables: ['units', 'sop_versions'],
  inventory: ({ agents }) =>
    holding(
      db,
      'units-held',
      'SELECT count(*)::int AS n, min(created_at) AS since FROM units WHERE agent_id = ANY($1::text[])',
      [agents],
    ),
  async plan(scope, tx, now) {
    const subject = erasedSubjectOf(scope)
    if (subject) {
      await preferIndexes(tx)
      return plannedOf(await queryWithin<PlannedRow>(tx, 'plan-units', planAuthored, [subject.agents, now]))
    }
    const id = unitOf(scope)
    return { items: id !== undefined && (await tx.unit.count({ where: { id } })) > 0 ? [id] : [], held: {} }
  },
  async erase(scope, plan, tx, options) {
    const subject = erasedSubjectOf(scope)
    if (!subject) {
      const ids = [...plan]
      const { count } = await tx.unit.deleteMany({ where: { id: { in: ids } } })
      // After the units, because reputations are always locked last.
      await withdraw(tx, ids, options?.now ?? new Date())
      return count
    }
    await preferIndexes(tx)
    const ids = (await queryWithin<{ id: string }>(tx, 'lock-units', lockAuthored, [plan, subject.agents])).map(
      ({ id }) => id,
    )
    if (ids.length === 0) return 0
    for (const table of hanging)
      await queryWithin(tx, `erase-${table}`, `DELETE FROM ${table} WHERE unit_id = ANY($1::text[])`, [ids])
    await queryWithin(tx, 'erase-units', 'DELETE FROM units WHERE id = ANY($1::text[])', [ids])
    await storeGains(tx, ids, subject.agents)
    // Withdraw after the deletion, so that responses stored in the meantime are included.
    await withdrawNaming(tx, ids)
    return ids.length
  },
  /**
   * For a subject: searches by author and by all data under the ids. For one unit: searches by the id in documents and in rows, including
   * tables that the foreign key should have cleared.
   */
  async residue(scope, plan, now) {
    const subject = erasedSubjectOf(scope)
    if (subject)
      return countRemaining(db, async (ask) => {
        await ask(countAuthored, [subject.agents, now])
        for (const ids of chunked(plan)) await ask(countById, [ids])
      })
    const ids = [...new Set([...plan, ...(unitOf(scope) === undefined ? [] : [unitOf(scope)])])]
    const [row] = await db.query<{ n: number }>(
      'unit-residue',
      `SELECT ((SELECT count(*) FROM units WHERE document->>'id' = ANY($1::text[]) OR id = ANY($1::text[]))
        + (SELECT count(*) FROM unit_votes WHERE unit_id = ANY($1::text[]))
        + (SELECT count(*) FROM unit_reports WHERE unit_id = ANY($1::text[]))
        + (SELECT count(*) FROM sop_versions WHERE unit_id = ANY($1::text[]))
        + (SELECT count(*) FROM reputation_ledger WHERE subject_id = ANY($1::text[])))::int AS n`,
      [ids],
    )
    return row?.n ?? 0
  },
  identities: async (items, tx) =>
    queryWithin(
      tx,
      'unit-identities',
      `SELECT id, was_public OR visibility = 'network' AS "wasPublic" FROM units WHERE id = ANY($1::text[])`,
      [items],
    ),
})
