import type { Database } from '#lib/stores/postgres/database.ts'

export interface AgentSummary {
  total: number
  restricted: number
  /** Agents with a pending erasure. */
  suspended: number
}

/** Counts a person's agents by status. */
export async function agentSummary(db: Database, agents: readonly string[]): Promise<AgentSummary> {
  const [row] = await db.query<AgentSummary>(
    'agents-at-a-glance',
    `SELECT count(*)::int AS total, count(restricted_at)::int AS restricted, count(suspended_at)::int AS suspended
     FROM agents WHERE id = ANY($1::text[])`,
    [agents],
  )
  return row ?? { total: 0, restricted: 0, suspended: 0 }
}
