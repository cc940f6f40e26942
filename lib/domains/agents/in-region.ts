import type { AskDatabase } from '#lib/kernel/evidence.ts'

/** How many agents are promised that what they leave here stays in the EEA. */
export async function agentsInEu(query: AskDatabase): Promise<number> {
  const [row] = await query<{ agents: number }>("SELECT count(*)::int AS agents FROM agents WHERE region = 'eu'")
  return row?.agents ?? 0
}

/** Ids of the oldest of them, so many at most. */
export async function agentIdsInEu(query: AskDatabase, most: number): Promise<string[]> {
  const rows = await query<{ id: string }>(
    "SELECT id FROM agents WHERE region = 'eu' ORDER BY created_at, id LIMIT $1",
    [most],
  )
  return rows.map(({ id }) => id)
}
