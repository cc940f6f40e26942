import { actsOf, joinRepeated, namedIds } from '#lib/domains/audit/acts.ts'
import type { AuditAct } from '#lib/domains/audit/contract.ts'
import { type AuditNameDeps, auditNames } from '#lib/domains/audit/names.ts'
import { isRevocation } from '#lib/domains/audit/rules.ts'
import { actView } from '#lib/domains/audit/service.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { newestActs } from './repository.ts'

const dayMs = 86_400_000
const looked = 5_000
/** Entries per act that is shown: acts with more entries leave room for fewer acts. */
const entriesPerAct = 40

export interface AuditedAct {
  id: string
  at: Date
  /** An action of the log, or `revoke` for the revocation of a token. */
  action: string
  actorId: string
  actorName: string | null
  resourceType: string
  resourceId: string
  /** The current name of an account, agent or subject of a request, or the name and prefix of a token. */
  resourceName: string | null
  act: AuditAct
}
/**
 * The newest changes and exports by people within a week, without those of sessions, newest first. The same act of a person, repeated
 * without another one between, is one act. On a busy installation only those among the newest entries.
 */
export async function newestActsOfPeople(
  { db, ...deps }: AuditNameDeps & { db: Database },
  now: Date,
  most: number,
): Promise<AuditedAct[]> {
  const from = new Date(now.getTime() - 7 * dayMs)
  const rows = await newestActs(db, { from, looked, limit: most * entriesPerAct })
  const acts = joinRepeated(actsOf(rows.map((entry) => ({ entry, count: 1 })))).slice(0, most)
  const shown = acts.flatMap(({ parts }) => parts.map(({ entry }) => entry))
  const names = await auditNames(db, deps).of(
    shown,
    shown.flatMap((entry) => namedIds(entry)),
  )
  return acts.flatMap((act) => {
    const entry = act.parts[0]?.entry
    if (!entry) return []
    return [
      {
        id: entry.id,
        at: entry.at,
        action: isRevocation(entry.resource_type, entry.details) ? 'revoke' : entry.action,
        actorId: entry.agent_id,
        actorName: names.get(entry.agent_id) ?? null,
        resourceType: entry.resource_type,
        resourceId: entry.resource_id,
        resourceName: names.get(entry.resource_id) ?? null,
        act: actView(act, names),
      },
    ]
  })
}
