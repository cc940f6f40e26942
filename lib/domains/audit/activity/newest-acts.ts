import type { Database } from '#lib/stores/postgres/database.ts'
import { newestActs } from './repository.ts'

const dayMs = 86_400_000
const looked = 5_000

export interface AuditedAct {
  id: string
  at: Date
  action: string
  actorId: string
  actorName: string | null
  resourceType: string
  resourceId: string
  /** The current name of an account or agent. */
  resourceName: string | null
}
/**
 * The newest changes and exports by people within a week, without those of sessions, newest first. On a busy installation only those among
 * the newest entries.
 */
export async function newestActsOfPeople(db: Database, now: Date, most: number): Promise<AuditedAct[]> {
  const rows = await newestActs(db, { from: new Date(now.getTime() - 7 * dayMs), looked, limit: most })
  return rows.map(({ id, at, action, actor_id, actor_name, resource_type, resource_id, resource_name }) => ({
    ...{ id, at, action, actorId: actor_id, actorName: actor_name },
    ...{ resourceType: resource_type, resourceId: resource_id, resourceName: resource_name },
  }))
}
