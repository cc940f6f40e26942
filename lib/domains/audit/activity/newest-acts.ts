import type { AuditNameDeps } from '#lib/domains/audit/names.ts'
import { isRevocation } from '#lib/domains/audit/rules.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { newestActs } from './repository.ts'

const dayMs = 86_400_000
const looked = 5_000

export interface AuditedAct {
  id: string
  at: Date
  /** An action of the log, or `revoke` for the revocation of a token. */
  action: string
  actorId: string
  actorName: string | null
  resourceType: string
  resourceId: string
  /** The current name of an account or agent, or the name and prefix of a token. */
  resourceName: string | null
}
interface ActsDeps extends Pick<AuditNameDeps, 'tokenNames'> {
  db: Database
}
/**
 * The newest changes and exports by people within a week, without those of sessions, newest first. On a busy installation only those among
 * the newest entries.
 */
export async function newestActsOfPeople({ db, tokenNames }: ActsDeps, now: Date, most: number): Promise<AuditedAct[]> {
  const rows = await newestActs(db, { from: new Date(now.getTime() - 7 * dayMs), looked, limit: most })
  const tokens = await tokenNames(
    db.prisma,
    rows.filter((row) => row.resource_type === 'token').map((row) => row.resource_id),
  )
  return rows.map(({ id, at, action, actor_id, actor_name, resource_type, resource_id, resource_name, details }) => ({
    ...{ id, at, action: isRevocation(resource_type, details) ? 'revoke' : action },
    ...{ actorId: actor_id, actorName: actor_name, resourceType: resource_type, resourceId: resource_id },
    resourceName: resource_name ?? tokens.get(resource_id) ?? null,
  }))
}
