import type { Actor } from '#lib/kernel/context.ts'

/** What can be searched: rows with `scope`, `search`, `quality_score`, `agent_id`, `quarantined_at`, `created_at`, named `u` in SQL. */
export type Table = 'units' | 'skills'
export type Visibility = 'private' | 'org' | 'network'

/** SQL and its values, numbered as they come. */
export interface Conditions {
  values: unknown[]
  /** `$n` of one more value. */
  value(value: unknown): string
  /** Joined by AND. */
  parts: string[]
}
export function conditions(): Conditions {
  const values: unknown[] = []
  return { values, parts: [], value: (value) => `$${values.push(value)}` }
}

/** Conditions on what every row has: its quality, and when it was stored. */
export function narrow(
  list: Conditions,
  {
    min_quality: quality,
    from,
    to,
  }: { min_quality?: number | undefined; from?: Date | undefined; to?: Date | undefined },
): void {
  if (quality !== undefined) list.parts.push(`u.quality_score >= ${list.value(quality)}::float8`)
  if (from) list.parts.push(`u.created_at >= ${list.value(from)}::timestamptz`)
  if (to) list.parts.push(`u.created_at <= ${list.value(to)}::timestamptz`)
}

/** Whose eyes a search has. */
export interface Reader {
  /** Scopes that may hold something for it: `network`, `org:<organisation>`, `agent:<own>`. */
  scopes: readonly string[]
  /** Its own agents: their rows it sees in any state. */
  agents: readonly string[]
  /** Reads every organisation's; for an admin. */
  everyOrganisation: boolean
}

/** With a visibility only the scopes of that visibility remain. */
export function readerOf(actor: Pick<Actor, 'agents' | 'organisationId' | 'isAdmin'>, visibility?: Visibility): Reader {
  const is = (one: Visibility) => visibility === undefined || visibility === one
  return {
    scopes: [
      ...(is('network') ? ['network'] : []),
      ...(is('org') && actor.organisationId !== undefined ? [`org:${actor.organisationId}`] : []),
      ...(is('private') ? actor.agents.map((id) => `agent:${id}`) : []),
    ],
    agents: actor.agents,
    everyOrganisation: actor.isAdmin && is('org'),
  }
}

/** In which scopes: of rows `u`, or of words. */
export const withinScopes = (reader: Reader, column: string, list: Conditions): string => {
  const own = `${column} = ANY(${list.value(reader.scopes)}::text[])`
  return reader.everyOrganisation ? `(${own} OR ${column} LIKE 'org:%')` : own
}

/** Not held for review and its author's processing not restricted, or one's own (GDPR art. 18). */
export const shownTo = (reader: Reader, list: Conditions): string =>
  `((u.quarantined_at IS NULL AND NOT EXISTS (SELECT FROM restricted_agents r WHERE r.id = u.agent_id)) OR u.agent_id = ANY(${list.value(reader.agents)}::text[]))`
