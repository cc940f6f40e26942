import type { Actor } from '#lib/kernel/context.ts'
import { typed } from '#lib/stores/postgres/statement.ts'

/** Searchable tables: rows with `scope`, `search`, `quality_score`, `agent_id`, `quarantined_at` and `created_at`, named `u` in SQL. */
export type Table = 'units' | 'skills'
export type SearchVisibility = 'private' | 'org' | 'network'

/** Conditions on the row `u`; each uses the value of its name, if any. */
const filterSql = {
  authors: 'u.agent_id = ANY($authors)',
  min_quality: 'u.quality_score >= $min_quality',
  from: 'u.created_at >= $from',
  to: 'u.created_at <= $to',
  domain: 'u.domain = $domain',
  type: 'u.type = $type',
  types: 'u.type = ANY($types)',
  // As a literal, so that the partial index on SOPs is used.
  isSop: "u.type = 'ExpertSOP'",
  sop_domain: "(u.domain = $sop_domain OR u.document->>'domain' = $sop_domain)",
  approved: '$approved = EXISTS (SELECT FROM sop_versions v WHERE v.unit_id = u.id AND v.approved_at IS NOT NULL)',
  tags: "u.front_matter->'tags' @> $tags",
} as const
type FilterName = keyof typeof filterSql

/** Parameters of the access rights and filters of a search. A statement only sends the values that its text names. */
export const searchParameters = {
  /** Scopes that may contain visible rows: `network`, `org:<organization>`, `agent:<own>`. */
  scopes: 'text[]',
  /** The reader's own agents, whose rows it sees in any state. */
  agents: 'text[]',
  authors: 'text[]?',
  min_quality: 'float8?',
  from: 'timestamptz?',
  to: 'timestamptz?',
  domain: 'text?',
  sop_domain: 'text?',
  approved: 'bool?',
  tags: 'jsonb?',
  type: typed<string | null>('unit_type'),
  types: typed<readonly string[] | null>('unit_type[]'),
} as const

/** Values of the filters of a list; undefined values do not filter. */
export interface Filters {
  authors?: readonly string[] | undefined
  min_quality?: number | undefined
  from?: Date | undefined
  to?: Date | undefined
  domain?: string | undefined
  type?: string | undefined
  types?: readonly string[] | undefined
  isSop?: true
  sop_domain?: string | undefined
  approved?: boolean | undefined
  tags?: readonly string[] | undefined
}

/** What the text of a search statement depends on. */
export interface SearchForm {
  table: Table
  /** Whether the reader sees the rows of every organization; only admins do. */
  everyOrganisation: boolean
  filters: readonly FilterName[]
}
const isFilter = (name: string): name is FilterName => Object.hasOwn(filterSql, name)
const filterNames = (filters: Filters): FilterName[] =>
  Object.entries(filters).flatMap(([name, value]) => (value !== undefined && isFilter(name) ? [name] : []))

/** Access rights of a search. */
export interface SearchReader {
  scopes: readonly string[]
  agents: readonly string[]
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

/** The rows that a search covers: a table as visible to a reader, with filters. */
export const searchTarget = (table: Table, reader: SearchReader, filters: Filters) => ({
  form: { table, everyOrganisation: reader.everyOrganisation, filters: filterNames(filters) },
  values: {
    scopes: reader.scopes,
    agents: reader.agents,
    authors: filters.authors ?? null,
    min_quality: filters.min_quality ?? null,
    from: filters.from ?? null,
    to: filters.to ?? null,
    domain: filters.domain ?? null,
    sop_domain: filters.sop_domain ?? null,
    approved: filters.approved ?? null,
    tags: filters.tags ?? null,
    type: filters.type ?? null,
    types: filters.types ?? null,
  },
})
export type SearchTarget = ReturnType<typeof searchTarget>

/** Condition for the scope of a word. */
export const wordWithinScopes = (everyOrganisation: boolean): string =>
  everyOrganisation ? "(scope = ANY($scopes) OR scope LIKE 'org:%')" : 'scope = ANY($scopes)'

/** Condition for the scope of the row `u`, in the form that the word index contains. */
export const withinScopes = (everyOrganisation: boolean): string =>
  everyOrganisation ? "(ARRAY[u.scope] && $scopes OR u.scope LIKE 'org:%')" : 'ARRAY[u.scope] && $scopes'

/** A row is neither in quarantine nor by a restricted author, or is the reader's own (GDPR art. 18). */
const shown =
  '((u.quarantined_at IS NULL AND NOT EXISTS (SELECT FROM restricted_agents r WHERE r.id = u.agent_id)) OR u.agent_id = ANY($agents))'

/** Conditions for the row `u`: the given ones, visibility to the reader, and the filters. */
export const conditionsOf = ({ filters }: SearchForm, ...others: string[]): string =>
  [...others, shown, ...filters.map((name) => filterSql[name])].join(' AND ')
