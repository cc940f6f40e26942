import type { AskDatabase } from '#lib/kernel/evidence.ts'

/** How many projects that hold something ask for the EEA. */
export async function projectsInEu(query: AskDatabase): Promise<number> {
  const [row] = await query<{ projects: number }>(
    "SELECT count(*)::int AS projects FROM projects WHERE region = 'eu' AND status <> 'closed'",
  )
  return row?.projects ?? 0
}
