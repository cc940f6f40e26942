import type { Context } from '#lib/kernel/context.ts'

/** A reader's rights, as {@link visibleTo} asks for them. */
export interface Reader {
  agents: readonly string[]
  organisation: string | undefined
  admin: boolean
}
export const readerOf = ({ actor }: Pick<Context, 'actor'>): Reader => ({
  agents: actor.agents,
  organisation: actor.organisationId,
  admin: actor.isAdmin,
})

/**
 * Who sees the unit `u`: its author and the author's owner always; others what is org or network, neither held for review nor its
 * author's processing restricted; an admin nothing private of others. The names are SQL for the reader's agents, organisation, and
 * whether it is an admin.
 */
export const visibleTo = (agents: string, organisation: string, admin: string): string =>
  `(u.agent_id = ANY(${agents}) OR (
      (u.visibility = 'network' OR (u.visibility = 'org' AND (u.organisation_id = ${organisation} OR ${admin})))
      AND u.quarantined_at IS NULL AND NOT EXISTS (SELECT FROM restricted_agents r WHERE r.id = u.agent_id)))`

/** Who answers for an agent: `user:<account>` once a person claimed it, until then the agent itself. */
export const ownerKey = (agentId: string, ownerId: string | null | undefined): string =>
  ownerId == null ? agentId : `user:${ownerId}`
export const ownerKeySql = (alias: string): string =>
  `CASE WHEN ${alias}.owner_id IS NULL THEN ${alias}.id ELSE 'user:' || ${alias}.owner_id END`

/** The ETag of a unit: its version, and its quality, which votes move without a new version. */
export const etagOf = ({ version, quality }: { version: number; quality: number }): string =>
  `"v${version}-${Math.round(quality * 10_000)}"`

/** Whether an If-Match lets a change of this version pass: what others found of the unit since is no change of it. */
export const passes = (ifMatch: string | undefined, version: number): boolean =>
  ifMatch === undefined ||
  ifMatch.trim() === '*' ||
  ifMatch.split(',').some((tag) => /^"v(\d+)(?:-\d+)?"$/.exec(tag.trim())?.[1] === String(version))
