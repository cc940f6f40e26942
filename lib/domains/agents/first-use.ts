import type { Database } from '#lib/stores/postgres/database.ts'

/** Records the first use of any token of the agent. Agents without it are purged after a day. Returns false if there is no such agent. */
export async function noteFirstUse(db: Database, agentId: string, now: Date): Promise<boolean> {
  const rows = await db.query(
    'agent-first-use',
    'UPDATE agents SET first_used_at = coalesce(first_used_at, $2) WHERE id = $1 RETURNING id',
    [agentId, now],
  )
  return rows.length > 0
}
