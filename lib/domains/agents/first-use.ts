import type { Database } from '#lib/stores/postgres/database.ts'
import { recordFirstUse } from './repository.ts'

/** Records the first use of any token of the agent. Agents without it are purged after a day. Returns false if there is no such agent. */
export const noteFirstUse = async (db: Database, agentId: string, now: Date): Promise<boolean> =>
  (await recordFirstUse(db, { agent: agentId, now })) > 0
