import type { Context } from '#lib/kernel/context.ts'

/** A reader's access rights for {@link visibleTo}. */
export interface KnowledgeReader {
  agents: readonly string[]
  organisation: string | null
  admin: boolean
}
export const knowledgeReaderOf = ({ actor }: Pick<Context, 'actor'>): KnowledgeReader => ({
  agents: actor.agents,
  organisation: actor.organisationId ?? null,
  admin: actor.isAdmin,
})

/**
 * Condition that a reader sees the unit `u`. Its author and the author's owner always do. Others see shared units (organization or network)
 * that are neither in quarantine nor by a restricted author. An admin does not see others' private units. The arguments are SQL for the
 * reader's agents, organization, and whether it is an admin.
 */
export const visibleTo = (agents: string, organisation: string, admin: string): string =>
  `(u.agent_id = ANY(${agents}) OR (
      (u.visibility = 'network' OR (u.visibility = 'org' AND (u.organisation_id = ${organisation} OR ${admin})))
      AND u.quarantined_at IS NULL AND NOT EXISTS (SELECT FROM restricted_agents r WHERE r.id = u.agent_id)))`

/** The party responsible for an agent: `user:<account>` if claimed, otherwise the agent itself. */
export const ownerKey = (agentId: string, ownerId: string | null | undefined): string =>
  ownerId == null ? agentId : `user:${ownerId}`
export const ownerKeySql = (alias: string): string =>
  `CASE WHEN ${alias}.owner_id IS NULL THEN ${alias}.id ELSE 'user:' || ${alias}.owner_id END`

/** ETag of a unit: its version and its quality, which votes change without a new version. */
export const etagOf = ({ version, quality }: { version: number; quality: number }): string =>
  `"v${version}-${Math.round(quality * 10_000)}"`

/** Whether an If-Match header allows a change of this version. Quality is ignored: votes do not change the unit. */
export const passes = (ifMatch: string | undefined, version: number): boolean =>
  ifMatch === undefined ||
  ifMatch.trim() === '*' ||
  ifMatch.split(',').some((tag) => /^"v(\d+)(?:-\d+)?"$/.exec(tag.trim())?.[1] === String(version))
