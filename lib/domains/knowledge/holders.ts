import type { DataHolder, Scope } from '#lib/kernel/holder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

const unitOf = (scope: Scope): string | undefined => ('unit' in scope ? scope.unit : undefined)

export const unitHolder = (db: Database): DataHolder => ({
  name: 'knowledge.units',
  store: 'postgresql',
  what: 'knowledge units',
  tables: ['units'],
  async plan(scope, tx) {
    const id = unitOf(scope)
    return id !== undefined && (await tx.unit.count({ where: { id } })) > 0 ? [id] : []
  },
  async erase(_scope, plan, tx) {
    return (await tx.unit.deleteMany({ where: { id: { in: [...plan] } } })).count
  },
  /** By the id that the document itself carries as well as by the row's. */
  async residue(scope, plan) {
    const ids = [...new Set([...plan, ...(unitOf(scope) === undefined ? [] : [unitOf(scope)])])]
    const [row] = await db.query<{ n: number }>(
      'unit-residue',
      "SELECT count(*)::int AS n FROM units WHERE document->>'id' = ANY($1::text[]) OR id = ANY($1::text[])",
      [ids],
    )
    return row?.n ?? 0
  },
})
