import type { DataHolder, Scope } from '#lib/kernel/holder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { withdraw } from './reputation/award.ts'

const unitOf = (scope: Scope): string | undefined => ('unit' in scope ? scope.unit : undefined)

/**
 * Units with what stands under their id: votes, reports, an SOP's wordings, what their authors and voters gained. The count is of units;
 * the rest goes with them.
 */
export const unitHolder = (db: Database): DataHolder => ({
  name: 'knowledge.units',
  store: 'postgresql',
  what: 'knowledge units, with their votes, reports, wordings and what was gained by them',
  tables: ['units', 'unit_votes', 'unit_reports', 'sop_versions'],
  async plan(scope, tx) {
    const id = unitOf(scope)
    return { items: id !== undefined && (await tx.unit.count({ where: { id } })) > 0 ? [id] : [], held: {} }
  },
  async erase(_scope, plan, tx) {
    const ids = [...plan]
    const { count } = await tx.unit.deleteMany({ where: { id: { in: ids } } })
    // After the units, as everywhere: a reputation is locked last.
    await withdraw(tx, ids)
    return count
  },
  /** By the id that the documents themselves carry as well as by the rows'; what a foreign key should have taken, in its own tables. */
  async residue(scope, plan) {
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
})
