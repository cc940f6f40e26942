import type { Unit, Visibility } from '#lib/domains/knowledge/contract.ts'
import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'
import { expiringTables, isUnderLegalHold, unitColumns, unitRow, visibleTo } from '../repository.ts'
import { listedRows } from '../search/repository.ts'
import { skillColumns, skillRow } from '../skills/repository.ts'
import type { FrontMatter } from '../skills/rules.ts'
import type { recordKinds } from './contract.ts'

const statusColumns = `u.agent_id = ANY($agents) AS is_own, u.was_public, u.quarantined_at,
  EXISTS (SELECT FROM restricted_agents r WHERE r.id = u.agent_id) AS is_paused`
const statusRow = { is_own: 'bool', was_public: 'bool', quarantined_at: 'timestamptz?', is_paused: 'bool' } as const
export type StatusRow = RowOf<typeof statusRow> & { created_at: Date; visibility: Visibility }

const takes = { id: 'text', agents: 'text[]', organisation: 'text?', admin: 'bool' } as const
const visible = visibleTo('$agents', '$organisation', '$admin')
const votesWhere = (condition: string) =>
  `(SELECT count(*)::int FROM unit_votes v WHERE v.unit_id = u.id AND ${condition})`

export const inspectedUnit = statement('knowledge.inspected-unit', {
  takes,
  returns: {
    ...unitRow,
    ...statusRow,
    agent_id: 'text',
    attributed_to: 'text[]',
    wordings: 'int4',
    votes_for: 'int4',
    votes_against: 'int4',
    votes_waiting: 'int4',
  },
  isPrepared: true,
  sql: `SELECT ${unitColumns}, u.agent_id, ${statusColumns},
      array_remove(ARRAY[nullif(u.attributed_to, u.agent_id), nullif(u.original_author, u.agent_id)], NULL) AS attributed_to,
      ${votesWhere('v.weight > 0 AND v.valid')} AS votes_for, ${votesWhere('v.weight > 0 AND NOT v.valid')} AS votes_against,
      ${votesWhere('v.weight = 0')} AS votes_waiting,
      greatest(1, (SELECT count(*)::int FROM sop_versions s WHERE s.unit_id = u.id)) AS wordings
    FROM units u WHERE u.id = $id AND ${visible}`,
})
export const inspectedSkill = statement('knowledge.inspected-skill', {
  takes,
  returns: { ...skillRow, ...statusRow },
  isPrepared: true,
  sql: `SELECT ${skillColumns}, ${statusColumns} FROM skills u WHERE u.id = $id AND ${visible}`,
})

/** Maximum characters of a title and of a summary. */
const [titleLength, summaryLength] = [300, 240]
const unitTitle = `left(coalesce(u.document->'task'->>'objective', u.document->>'name', ''), ${titleLength})`
const columns = 'u.id, u.agent_id, u.visibility, u.quality_score, u.created_at, u.updated_at, u.quarantined_at'
const listedRow = {
  id: 'text',
  agent_id: 'text',
  visibility: typed<Visibility>('visibility'),
  quality_score: 'float8',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  quarantined_at: 'timestamptz?',
  kind: typed<(typeof recordKinds)[number]>('text'),
  title: 'text',
  summary: 'text?',
  domain: 'text?',
} as const
const unitSummary = `${columns}, split_part(u.id, ':', 2) AS kind, u.domain,
  ${unitTitle} AS title,
  left(coalesce(u.document->'outcome'->>'result_summary', u.document->>'description'), ${summaryLength}) AS summary`
const skillSummary = `${columns}, 'skill' AS kind, NULL AS domain, u.name AS title, left(u.description, ${summaryLength}) AS summary`
/** Without documents, all rows have about the same size. */
const summarySize = '1000'

export const unitSummaries = listedRows('knowledge.unit-summaries', {
  table: 'units',
  returns: listedRow,
  columns: unitSummary,
  size: summarySize,
})
export const unitSummariesWithTexts = listedRows('knowledge.unit-summaries-with-texts', {
  table: 'units',
  returns: { ...listedRow, document: typed<Unit>('jsonb') },
  columns: `${unitSummary}, u.document`,
})
export const skillSummaries = listedRows('knowledge.skill-summaries', {
  table: 'skills',
  returns: listedRow,
  columns: skillSummary,
  size: summarySize,
})
export const skillSummariesWithTexts = listedRows('knowledge.skill-summaries-with-texts', {
  table: 'skills',
  returns: { ...listedRow, document: 'text', front_matter: typed<FrontMatter>('jsonb') },
  columns: `${skillSummary}, u.document, u.front_matter`,
})

const visibleToAdmins = visibleTo("'{}'::text[]", 'NULL::text', 'true')
export const titlesForAdmins = statement('knowledge.titles-for-admins', {
  takes: { ids: 'text[]' },
  returns: { id: 'text', title: 'text' },
  sql: `SELECT * FROM (SELECT u.id, ${unitTitle} AS title FROM units u WHERE u.id = ANY($ids) AND ${visibleToAdmins}
      UNION ALL SELECT u.id, u.name FROM skills u WHERE u.id = ANY($ids) AND ${visibleToAdmins}) AS shared WHERE title <> ''`,
})

const countOf = (table: 'units' | 'skills') =>
  `(SELECT count(*)::int FROM (SELECT FROM ${table} t WHERE t.agent_id = a.id LIMIT $bound) AS counted)`
/** Counts of each agent stop at `bound`. */
export const contributionsOf = statement('knowledge.contributions-of', {
  takes: { agents: 'text[]', bound: 'int4' },
  returns: { id: 'text', units: 'int4', skills: 'int4', reputation: 'float8' },
  isPrepared: true,
  sql: `SELECT a.id, ${countOf('units')} AS units, ${countOf('skills')} AS skills,
      coalesce((SELECT r.score FROM reputation r WHERE r.agent_id = a.id), 0) AS reputation
    FROM unnest($agents) AS a(id)`,
})

/** Counts of the agents' records, by visibility, that were stored in a scope until a time and that no legal hold covers. */
export const countStoredUntil = statement('knowledge.count-stored-until', {
  takes: {
    agents: 'text[]',
    now: 'timestamptz',
    scopes: typed<readonly { visibility: Visibility; scope: string; before: Date }[]>('jsonb'),
  },
  returns: { visibility: typed<Visibility>('text'), n: 'int4', since: 'timestamptz' },
  isPrepared: true,
  sql: `SELECT p.visibility, count(*)::int AS n, min(t.created_at) AS since
    FROM jsonb_to_recordset($scopes) AS p (visibility text, scope text, before timestamptz)
    CROSS JOIN LATERAL (${expiringTables
      .map(
        (kind) => `SELECT t.created_at FROM ${kind.table} t WHERE t.scope = p.scope AND t.created_at <= p.before
          AND t.agent_id = ANY($agents) AND NOT (${isUnderLegalHold(kind, '$now')})`,
      )
      .join(' UNION ALL ')}) AS t
    GROUP BY p.visibility`,
})
