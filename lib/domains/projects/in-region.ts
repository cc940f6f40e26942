import type { DatabaseQuery } from '#lib/kernel/evidence.ts'

const isOther = (region: string) => `(${region} IS NOT NULL AND NOT ${region} = ANY($1::text[]))`
/** Projects with data that require, or of which a conversation requires, a region other than the given ones. */
const required = `p.status <> 'closed' AND (${isOther('p.region')}
  OR EXISTS (SELECT FROM conversations c WHERE c.project_id = p.id AND ${isOther('c.region')}))`

/** Number of projects whose data must stay in a region other than the given ones. */
export async function projectsInRegions(query: DatabaseQuery, except: readonly string[]): Promise<number> {
  const [row] = await query<{ projects: number }>(
    `SELECT count(*)::int AS projects FROM projects p WHERE ${required}`,
    [except],
  )
  return row?.projects ?? 0
}

/** Ids of the oldest of these projects, at most `most`. */
export async function idsInRegions(query: DatabaseQuery, except: readonly string[], most: number): Promise<string[]> {
  const text = `SELECT p.id FROM projects p WHERE ${required} ORDER BY p.created_at, p.id LIMIT $2`
  return (await query<{ id: string }>(text, [except, most])).map(({ id }) => id)
}
