import type { AskDatabase } from '#lib/kernel/evidence.ts'

/** Number of projects with data that require the region EU. */
export async function projectsInEu(query: AskDatabase): Promise<number> {
  const [row] = await query<{ projects: number }>(
    "SELECT count(*)::int AS projects FROM projects WHERE region = 'eu' AND status <> 'closed'",
  )
  return row?.projects ?? 0
}

/** Ids of the oldest of these projects, at most `most`. */
export async function idsInEu(query: AskDatabase, most: number): Promise<string[]> {
  const rows = await query<{ id: string }>(
    "SELECT id FROM projects WHERE region = 'eu' AND status <> 'closed' ORDER BY created_at, id LIMIT $1",
    [most],
  )
  return rows.map(({ id }) => id)
}
