import type { Database } from '#lib/stores/postgres/database.ts'
import { countAgentStatuses } from './repository.ts'

/** Counts a person's agents by status; suspended agents have a pending erasure. */
export async function agentSummary(db: Database, agents: readonly string[]) {
  const [counts] = await countAgentStatuses(db, { ids: agents })
  return counts ?? { total: 0, restricted: 0, suspended: 0 }
}
