import type { AskDatabase } from '#lib/kernel/evidence.ts'

/** Counts the agents whose data must stay in the EEA. */
export async function agentsInEu(query: AskDatabase): Promise<number> {
  const [row] = await query<{ agents: number }>("SELECT count(*)::int AS agents FROM agents WHERE region = 'eu'")
  return row?.agents ?? 0
}

/** Returns ids of the oldest such agents, `most` at most. */
export async function agentIdsInEu(query: AskDatabase, most: number): Promise<string[]> {
  const rows = await query<{ id: string }>(
    "SELECT id FROM agents WHERE region = 'eu' ORDER BY created_at, id LIMIT $1",
    [most],
  )
  return rows.map(({ id }) => id)
}
