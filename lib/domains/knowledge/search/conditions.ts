import type { Actor } from '#lib/kernel/context.ts'

/** Searchable tables: rows with `scope`, `search`, `quality_score`, `agent_id`, `quarantined_at` and `created_at`, named `u` in SQL. */
export type Table = 'units' | 'skills'
export type SearchVisibility = 'private' | 'org' | 'network'

/** SQL conditions and their values, numbered in order. */
export interface Conditions {
  values: unknown[]
  /** Adds a value and returns its placeholder `$n`. */
  value(value: unknown): string
  /** Conditions, to be joined by AND. */
  parts: string[]
}
export function conditions(): Conditions {
  const values: unknown[] = []
  return { values, parts: [], value: (value) => `$${values.push(value)}` }
}

/** Adds conditions on columns of every table: quality and storage time. */
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

/** Access rights of a search. */
export interface SearchReader {
  /** Scopes that may contain visible rows: `network`, `org:<organisation>`, `agent:<own>`. */
  scopes: readonly string[]
  /** The reader's own agents, whose rows it sees in any state. */
  agents: readonly string[]
  /** Whether the reader sees the rows of every organisation; only admins do. */
  everyOrganisation: boolean
}

/** Returns the actor's access rights, limited to one visibility if given. */
export function searchReaderOf(
  actor: Pick<Actor, 'agents' | 'organisationId' | 'isAdmin'>,
  visibility?: SearchVisibility,
): SearchReader {
  const is = (one: SearchVisibility) => visibility === undefined || visibility === one
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

/** Condition for a scope column of rows or of words. */
export const withinScopes = (reader: SearchReader, column: string, list: Conditions): string => {
  const own = `${column} = ANY(${list.value(reader.scopes)}::text[])`
  return reader.everyOrganisation ? `(${own} OR ${column} LIKE 'org:%')` : own
}

/** Condition that a row is neither in quarantine nor by a restricted author, or is the reader's own (GDPR art. 18). */
export const shownTo = (reader: SearchReader, list: Conditions): string =>
  `((u.quarantined_at IS NULL AND NOT EXISTS (SELECT FROM restricted_agents r WHERE r.id = u.agent_id)) OR u.agent_id = ANY(${list.value(reader.agents)}::text[]))`
