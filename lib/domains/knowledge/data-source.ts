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
const planAuthored = `WITH ${knowledgeHoldsSql('unit', '$2')}
  SELECT u.id, ${knowledgeHoldSql} AS hold FROM units u ${joinKnowledgeHolds('u')} WHERE u.agent_id = ANY($1::text[])`
const planById = 'SELECT id, NULL AS hold FROM units WHERE id = ANY($1::text[])'
const lockSelected = `SELECT id FROM units
  WHERE id = ANY($1::text[]) AND (agent_id = ANY($2::text[]) OR id = ANY($3::text[])) ORDER BY id FOR UPDATE`
/** Dependent rows are deleted first, a page at a time: the database's cascade would process them row by row. */
const hanging = ['unit_votes', 'unit_reports', 'sop_versions'] as const

const countAuthored = `WITH ${knowledgeHoldsSql('unit', '$2')}
  SELECT count(*)::int AS n FROM units u ${joinKnowledgeHolds('u')} WHERE u.agent_id = ANY($1::text[]) AND ${knowledgeHoldSql} IS NULL`
const countById = `SELECT ((SELECT count(*) FROM units WHERE id = ANY($1::text[]))
  ${hanging.map((table) => `+ (SELECT count(*) FROM ${table} WHERE unit_id = ANY($1::text[]))`).join('\n  ')}
  + (SELECT count(*) FROM reputation_ledger WHERE subject_id = ANY($1::text[])))::int AS n`
/** Documents that contain the id of a single erased unit as their own. */
const countDocuments =
  "SELECT count(*)::int AS n FROM units WHERE document->>'id' = ANY($1::text[]) AND id <> ALL($1::text[])"

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
    const { agents, ids } = selectedRecords(scope, 'unit')
    const rows: PlannedRow[] = []
    if (agents.length > 0) {
      await preferIndexes(tx)
      rows.push(...(await queryWithin<PlannedRow>(tx, 'plan-units', planAuthored, [agents, now])))
    }
    if (ids.length > 0) rows.push(...(await queryWithin<PlannedRow>(tx, 'plan-units-by-id', planById, [ids])))
    return plannedOf(rows)
  },
  async erase(scope, items, tx, options) {
    const selected = selectedRecords(scope, 'unit')
    await preferIndexes(tx)
    const locked = await queryWithin<{ id: string }>(tx, 'lock-units', lockSelected, [
      items,
      selected.agents,
      selected.ids,
    ])
    const found = locked.map(({ id }) => id)
    // Data under the id of a single unit is deleted even if the unit is already gone.
    const ids = [...new Set([...found, ...items.filter((item) => selected.ids.includes(item))])]
    if (ids.length === 0) return 0
    for (const table of hanging)
      await queryWithin(tx, `erase-${table}`, `DELETE FROM ${table} WHERE unit_id = ANY($1::text[])`, [ids])
    await queryWithin(tx, 'erase-units', 'DELETE FROM units WHERE id = ANY($1::text[])', [ids])
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
    return countRemaining(db, async (ask) => {
      if (selected.agents.length > 0) await ask(countAuthored, [selected.agents, now])
      for (const chunk of chunked(ids)) await ask(countById, [chunk])
      if (selected.ids.length > 0) await ask(countDocuments, [selected.ids])
    })
  },
  identities: async (items, tx) =>
    queryWithin(
      tx,
      'unit-identities',
      `SELECT id, was_public OR visibility = 'network' AS "wasPublic" FROM units WHERE id = ANY($1::text[])`,
      [items],
    ),
})
