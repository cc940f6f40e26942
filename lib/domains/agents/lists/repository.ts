// Agents in the admin list and in the search.
import type { TierName } from '#lib/domains/tokens/rules.ts'
import { mostNamesCompared } from '#lib/kernel/name-search.ts'
import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'

const listedColumns = {
  id: 'text',
  name: 'text?',
  tier: typed<TierName>('tier'),
  readsPerMinute: 'int4?',
  writesPerMinute: 'int4?',
  ownerId: 'text?',
  ownerName: 'text?',
  organisationId: 'text',
  organisationName: 'text',
  restrictedAt: 'timestamptz?',
  suspendedAt: 'timestamptz?',
  createdAt: 'timestamptz',
} as const
/** An agent in the admin list. */
export type ListedAgent = RowOf<typeof listedColumns>
const selectListed = `SELECT a.id, a.name, a.tier, a.reads_per_minute AS "readsPerMinute", a.writes_per_minute AS "writesPerMinute",
    a.owner_id AS "ownerId", w.name AS "ownerName", a.organisation_id AS "organisationId", o.name AS "organisationName",
    a.restricted_at AS "restrictedAt", a.suspended_at AS "suspendedAt", a.created_at AS "createdAt"
  FROM agents a JOIN organisation_names o ON o.id = a.organisation_id LEFT JOIN account_names w ON w.id = a.owner_id`
const isListed = `($pattern IS NULL OR lower(a.id) LIKE $pattern OR lower(a.name) LIKE $pattern OR lower(w.name) LIKE $pattern
      OR a.id = ANY($also))
    AND ($tier IS NULL OR a.tier::text = $tier)`

/** A page of all agents, newest first, after the position (`at`, `id`). `pattern`: a LIKE pattern in lower case. */
export const listedAgentsPage = statement('agents.listed-page', {
  takes: { pattern: 'text?', also: 'text[]', tier: 'text?', at: 'timestamptz?', id: 'text?', limit: 'int4' },
  returns: listedColumns,
  isPrepared: true,
  sql: `${selectListed} WHERE ${isListed} AND ($at IS NULL OR (a.created_at, a.id) < ($at, $id))
    ORDER BY a.created_at DESC, a.id DESC LIMIT $limit`,
})

/** Counts agents, up to `most`. */
export const countListedAgents = statement('agents.count-listed', {
  takes: { pattern: 'text?', also: 'text[]', tier: 'text?', most: 'int4' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM (SELECT FROM agents a
    LEFT JOIN account_names w ON w.id = a.owner_id WHERE ${isListed} LIMIT $most) AS counted`,
})

export const listedAgent = statement('agents.listed', {
  takes: { agent: 'text' },
  returns: listedColumns,
  isPrepared: true,
  sql: `${selectListed} WHERE a.id = $agent`,
})

/** SQL: the id and the name of an agent `a`, as the index `agents_words_idx` has them. */
const words = "lower(a.id || ' ' || coalesce(a.name, ''))"

/** Agents whose id or name matches: those of the owner, or all agents with `everyone`. */
export const foundAgents = statement('agents.found', {
  takes: { one: 'text', other: 'text', start: 'text', everyone: 'bool', owner: 'text?', limit: 'int4' },
  returns: { id: 'text', name: 'text?', ownerId: 'text?' },
  sql: `SELECT f.id, f.name, f."ownerId" FROM (SELECT a.id, a.name, a.owner_id AS "ownerId" FROM agents a
      WHERE (${words} LIKE $one OR ${words} LIKE $other) AND ($everyone OR a.owner_id = $owner)
      LIMIT ${mostNamesCompared}) f
    ORDER BY lower(f.id) LIKE $start DESC, lower(coalesce(f.name, '')) LIKE $start DESC, f.name, f.id LIMIT $limit`,
})
