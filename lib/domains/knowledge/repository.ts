import type { Expiring } from '#lib/kernel/expiring.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'
import { idsUnderLegalHold } from './erasure/repository.ts'
import { unitColumns, unitRow, type Visibility } from './units/repository.ts'
import { type KnowledgeReader, visibleTo } from './visibility.ts'

/** Which unit a reader requests. */
export interface UnitRequest extends KnowledgeReader {
  n: number
  id: string
}
/**
 * The requested units that their readers may see, each with the number of the request. Uses one index lookup per reader, even while the
 * planner considers the table small.
 */
export const visibleUnits = statement('knowledge.visible-units', {
  takes: { requests: typed<readonly UnitRequest[]>('json') },
  returns: { n: 'int4', ...unitRow },
  isPrepared: true,
  sql: `SELECT q.n, found.*
    FROM json_to_recordset($requests) AS q(n int, id text, agents text[], organisation text, admin boolean)
    CROSS JOIN LATERAL (
      SELECT ${unitColumns} FROM units u WHERE u.id = q.id AND ${visibleTo('q.agents', 'q.organisation', 'q.admin')} LIMIT 1) AS found`,
})

/** Those of the ids that the organization uses. */
export const idsOfOrganisation = statement('knowledge.ids-of-organisation', {
  takes: { ids: 'text[]', organisation: 'text' },
  returns: { id: 'text' },
  isPrepared: true,
  variants: ['units', 'skills'],
  sql: (table: 'units' | 'skills') =>
    `SELECT id FROM ${table} WHERE id = ANY($ids) AND organisation_id = $organisation`,
})

/** Units that list an agent as a validator; `agent` is SQL. Uses `units_validated_by_idx`. */
export const isValidatedBy = (agent: string): string =>
  `u.document->'metadata'->'validated_by' IS NOT NULL AND u.document->'metadata'->'validated_by' @> to_jsonb(${agent})`
/** Whether any unit names the agent as expert (also in a former version), first author or validator. */
export const namesAgent = statement('knowledge.names-agent', {
  takes: { agent: 'text' },
  returns: { is: 'bool' },
  isPrepared: true,
  sql: `SELECT EXISTS (SELECT FROM units WHERE attributed_to = $agent OR original_author = $agent)
    OR EXISTS (SELECT FROM units u WHERE ${isValidatedBy('$agent')})
    OR EXISTS (SELECT FROM sop_versions WHERE document->'source'->>'expert_id' = $agent) AS is`,
})

export interface ExpiringTable {
  table: 'units' | 'skills'
  scope: Expiring['scope']
  resourceType: string
  /** Columns that may contain the id of an agent whose legal hold covers the row. */
  agents: readonly { column: string; isOptional: boolean }[]
  /** Whether former versions exist; each may name another expert. */
  hasVersions: boolean
}
const author = { column: 'agent_id', isOptional: false }
export const expiringTables: readonly ExpiringTable[] = [
  {
    table: 'units',
    scope: 'unit',
    resourceType: 'knowledge',
    agents: [author, { column: 'attributed_to', isOptional: true }, { column: 'original_author', isOptional: true }],
    hasVersions: true,
  },
  { table: 'skills', scope: 'skill', resourceType: 'skill', agents: [author], hasVersions: false },
]

const versions = (held: string): string =>
  `SELECT v.unit_id AS id FROM sop_versions v WHERE v.document->'source'->>'expert_id' IN (${held})`
/** Condition for a row under a legal hold. Each subquery runs once per statement, so the cost does not grow with the number of holds. */
export const isUnderLegalHold = ({ scope, agents, hasVersions }: ExpiringTable, now: string): string =>
  [
    `t.id IN (${idsUnderLegalHold(scope, now)})`,
    ...agents.map(({ column, isOptional }) => {
      const id = isOptional ? `coalesce(t.${column}, '')` : `t.${column}`
      return `${id} IN (${idsUnderLegalHold('agent', now)})`
    }),
    ...(hasVersions ? [`t.id IN (${versions(idsUnderLegalHold('agent', now))})`] : []),
  ].join(' OR ')

/**
 * CTEs for `Expiring.removal`. They continue after the previous batch to avoid reading deleted and held rows again. They select rows by an
 * array of ids, because with a join the planner reads the whole table. A row changed while this statement waits (by a vote) is still
 * deleted, unless a hold covers its new state.
 */
export const removalSql = (kind: ExpiringTable): string => `due AS MATERIALIZED (
    SELECT t.id, t.created_at AS stored_at FROM ${kind.table} t
    WHERE t.visibility = $1::visibility AND t.created_at >= $2::timestamptz AND t.created_at <= $3::timestamptz
      AND NOT (${isUnderLegalHold(kind, '$4')})
    ORDER BY t.created_at LIMIT $5::int),
  gone AS (
    DELETE FROM ${kind.table} t WHERE t.id = ANY (ARRAY(SELECT id FROM due)) AND t.visibility = $1::visibility
      AND NOT (${isUnderLegalHold(kind, '$4')}) RETURNING t.id)`

const limits = { visibilities: typed<readonly Visibility[]>('visibility[]'), before: 'timestamptz[]' } as const
const counts = { visibility: typed<Visibility>('text'), n: 'int4' } as const
/** Number of rows of each visibility that were stored until its limit and are under a legal hold. Starts from the holds, which are few. */
export const countExpiredUnderHold = statement('knowledge.count-expired-under-hold', {
  takes: { ...limits, now: 'timestamptz' },
  returns: counts,
  isPrepared: true,
  variants: expiringTables,
  sql: (kind: ExpiringTable) => `WITH held_records AS MATERIALIZED (${idsUnderLegalHold(kind.scope, '$now')}),
      held_agents AS MATERIALIZED (${idsUnderLegalHold('agent', '$now')})
    SELECT p.visibility::text AS visibility, count(t.id)::int AS n
    FROM unnest($visibilities, $before) AS p (visibility, before)
    JOIN ${kind.table} t ON t.visibility = p.visibility AND t.created_at <= p.before
    WHERE t.id IN (SELECT target_id FROM held_records
      ${kind.agents.map(({ column }) => `UNION SELECT id FROM ${kind.table} WHERE ${column} IS NOT NULL AND ${column} IN (SELECT target_id FROM held_agents)`).join('\n      ')}
      ${kind.hasVersions ? `UNION ${versions('SELECT target_id FROM held_agents')}` : ''})
    GROUP BY p.visibility`,
})
/** The oldest rows that were stored until the limit of their visibility and are not under a legal hold. */
export const listExpired = statement('knowledge.list-expired', {
  takes: { ...limits, now: 'timestamptz', limit: 'int4' },
  returns: { id: 'text', visibility: typed<Visibility>('text'), agentId: 'text', storedAt: 'timestamptz' },
  variants: expiringTables,
  sql: (
    kind: ExpiringTable,
  ) => `SELECT t.id, t.visibility::text AS visibility, t.agent_id AS "agentId", t.created_at AS "storedAt"
    FROM unnest($visibilities, $before) AS p (visibility, before) CROSS JOIN LATERAL (
      SELECT * FROM ${kind.table} t WHERE t.visibility = p.visibility AND t.created_at <= p.before AND NOT (${isUnderLegalHold(kind, '$now')})
      ORDER BY t.created_at, t.id LIMIT $limit) AS t`,
})
/** Number of rows of each visibility that were stored until its limit. */
export const countExpired = statement('knowledge.count-expired', {
  takes: limits,
  returns: counts,
  isPrepared: true,
  variants: expiringTables,
  sql: ({ table }: Pick<ExpiringTable, 'table'>) => `SELECT p.visibility::text AS visibility,
      (SELECT count(*)::int FROM ${table} t WHERE t.visibility = p.visibility AND t.created_at <= p.before) AS n
    FROM unnest($visibilities, $before) AS p (visibility, before)`,
})
