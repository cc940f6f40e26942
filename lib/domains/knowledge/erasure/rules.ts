import type { Subject } from '#lib/kernel/erasure-scope.ts'

/**
 * Decides which references mean a subject. Agents choose their ids, so a name in a record may belong to a stranger. A record means the
 * bearer of a name if it belongs to the bearer's organization, or if it is shared with the network and was written after the bearer
 * registered. A private or organization-wide record of another organization never does. Records written after the bearer's fence was raised
 * do not either: the bearer no longer writes.
 */
export interface Bearers {
  /** Names of the subject in records: agents by id, an account with and without `user:`. */
  names: string[]
  /** For each name: `agent` or `account`, and its id. */
  kinds: string[]
  ids: string[]
}
export function bearersOf({ account, agents }: Subject): Bearers {
  const accounts = account === null ? [] : [`user:${account}`, account]
  return {
    names: [...agents, ...accounts],
    kinds: [...agents.map(() => 'agent'), ...accounts.map(() => 'account')],
    ids: [...agents, ...accounts.map(() => account ?? '')],
  }
}

/** A CTE `meant (name, organisation_id, registered_at, fenced_at)`. The arguments are SQL for the arrays of {@link Bearers}. */
export const meantMember = (names: string, kinds: string, ids: string): string => `meant AS MATERIALIZED (
    SELECT n.name, b.organisation_id, b.registered_at, b.fenced_at
    FROM unnest(${names}::text[], ${kinds}::text[], ${ids}::text[]) AS n(name, kind, id)
      JOIN name_bearers b ON b.kind = n.kind AND b.id = n.id)`

interface Written {
  organisation: string
  visibility: string
  at: string
}
/** Condition that a record means the bearer `m` of {@link meantMember}. The arguments are SQL about the record. */
const means = ({ organisation, visibility, at }: Written): string =>
  `((m.organisation_id = ${organisation} OR (${visibility} = 'network' AND ${at} >= m.registered_at)) AND ${at} <= coalesce(m.fenced_at, 'infinity'))`

/** The condition for row `alias` of units or skills. */
export const meansBy = (alias: string): string =>
  means({
    organisation: `${alias}.organisation_id`,
    visibility: `${alias}.visibility::text`,
    at: `${alias}.created_at`,
  })
/**
 * The condition for version `v` of SOP `u`. A version that was not shared with the network counts as private, whatever the SOP's current
 * visibility.
 */
export const versionMeans = means({
  organisation: 'u.organisation_id',
  visibility: `(CASE WHEN coalesce(v.document->'metadata'->>'visibility', u.visibility::text) = 'network' THEN u.visibility::text ELSE 'private' END)`,
  at: 'v.created_at',
})
