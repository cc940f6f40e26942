import type { Database } from '#lib/stores/postgres/database.ts'

/** Returns the number of current legal holds that expire between these times. */
export async function holdsEnding(db: Database, { now, until }: { now: Date; until: Date }): Promise<number> {
  const [row] = await db.query<{ n: number }>(
    'holds-ending',
    'SELECT count(*)::int AS n FROM legal_holds WHERE released_at IS NULL AND expires_at > $1 AND expires_at <= $2',
    [now, until],
  )
  return row?.n ?? 0
}
