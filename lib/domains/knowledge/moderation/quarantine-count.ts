import type { Database } from '#lib/stores/postgres/database.ts'

const mostCounted = 1_001

/** Number of units and skills in quarantine; each count stops at 1,001. */
export async function quarantined(db: Database): Promise<number> {
  const [row] = await db.query<{ n: number }>(
    'quarantined',
    `SELECT count(*)::int AS n FROM (
       (SELECT FROM units WHERE quarantined_at IS NOT NULL LIMIT ${mostCounted}) UNION ALL
       (SELECT FROM skills WHERE quarantined_at IS NOT NULL LIMIT ${mostCounted})) AS held`,
  )
  return row?.n ?? 0
}
