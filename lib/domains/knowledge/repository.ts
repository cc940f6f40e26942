import type { Unit, Visibility } from '#lib/domains/knowledge/contract.ts'
import { awardOne } from '#lib/domains/knowledge/reputation/repository.ts'
import { rejectionsToQuarantine } from '#lib/domains/knowledge/rules.ts'
import type { InstructionField } from '#lib/domains/sanitizer/contract.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Expiring } from '#lib/kernel/expiring.ts'
import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'
import { idsUnderLegalHold } from './erasure/repository.ts'

/** A reader's access rights for {@link visibleTo}. */
export interface KnowledgeReader {
  agents: readonly string[]
  organisation: string | null
  admin: boolean
}
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

/** Columns of the unit `u` that a response needs. */
export const unitColumns =
  'u.id, u.document, u.visibility, u.quality_score, u.instructions, u.version, u.created_at, u.updated_at'
/** Types of {@link unitColumns}. */
export const unitRow = {
  id: 'text',
  document: typed<Unit>('jsonb'),
  visibility: typed<Visibility>('visibility'),
  quality_score: 'float8',
  instructions: typed<InstructionField[] | null>('jsonb?'),
  version: 'int4',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} as const
export type UnitRow = RowOf<typeof unitRow>

/** `now` if the agent had enough rejections since `since` for quarantine, otherwise null. */
const quarantine = (agent: string, since: string, max: string, now: string): string =>
  `CASE WHEN (SELECT count(*) FROM content_rejections c WHERE c.agent_id = ${agent} AND c.at > ${since}::timestamptz) >= ${max}::int THEN ${now}::timestamptz END`

/**
 * CTEs that store one unit, the first version of an SOP and the author's reputation, for `ctx.pipeline.statement`. Agent and organization
 * come from the token; the number of recently rejected contributions decides on quarantine.
 */
export const insertUnitSql = `stored AS (
  INSERT INTO units (id, type, agent_id, organisation_id, attributed_to, visibility, document, quality_score, quarantined_at, created_at, updated_at, domain, search, instructions)
  SELECT $1, $2::unit_type, $3, $4, $5, $6::visibility, $7::jsonb, $8::float8, ${quarantine('$3', '$10', '$11', '$9')},
    $9::timestamptz, $9::timestamptz, $12, $13::tsvector, $19::jsonb
  ON CONFLICT (id) DO NOTHING
  RETURNING id AS resource_id, quarantined_at IS NOT NULL AS quarantined),
wording AS (
  INSERT INTO sop_versions (unit_id, version, document, created_by, created_at)
  SELECT resource_id, 1, $7::jsonb, $3, $9::timestamptz FROM stored WHERE $2::unit_type = 'ExpertSOP'),
${awardOne({ agent: '$3', at: '$9', subject: '$1', gain: '$14', reason: '$15', entry: '$16', full: '$17', uuids: '$18' })},
done AS (SELECT * FROM stored)`

/** The values of one unit in {@link insertUnits}, with their types. The database parses the document from its text. */
const columns = [
  ['id', 'text'],
  ['type', 'unit_type'],
  ['attributed', 'text'],
  ['original', 'text'],
  ['visibility', 'visibility'],
  ['domain', 'text'],
  ['document', 'text'],
  ['quality', 'float8'],
  ['search', 'tsvector'],
  ['instructions', 'text'],
] as const
type UnitValues = Record<(typeof columns)[number][0], string | number | null> & { id: string }

/** Maximum units of one statement. */
export const maxInsertedUnits = 25
const positions = Array.from({ length: maxInsertedUnits }, (_, n) => n)

const insertTexts = new Map<number, string>()
const insertText = (
  count: number,
): string => `WITH sent (${columns.map(([name]) => name).join(', ')}) AS MATERIALIZED (VALUES
  ${positions
    .slice(0, count)
    .map((n) => `(${columns.map(([name]) => `$${name}_${n}${name === 'document' ? '::jsonb' : ''}`).join(', ')})`)
    .join(', ')}),
gone AS MATERIALIZED (SELECT id FROM erased_records WHERE id = ANY($ids)),
stored AS (
  INSERT INTO units (id, type, agent_id, organisation_id, attributed_to, original_author, visibility, domain, document, quality_score, search, instructions, quarantined_at, created_at, updated_at)
  SELECT s.id, s.type, $author, $organisation, s.attributed, s.original, s.visibility, s.domain, s.document, s.quality, s.search, s.instructions::jsonb,
    ${quarantine('$author', '$since', String(rejectionsToQuarantine), '$now')}, $now, $now
  FROM sent s WHERE s.id NOT IN (SELECT id FROM gone)
  ON CONFLICT (id) DO NOTHING RETURNING id, quarantined_at IS NOT NULL AS quarantined),
wordings AS (
  INSERT INTO sop_versions (unit_id, version, document, created_by, created_at)
  SELECT s.id, 1, s.document, $author, $now FROM sent s JOIN stored USING (id) WHERE s.type = 'ExpertSOP')
SELECT id, true AS stored, quarantined, false AS erased FROM stored UNION ALL SELECT id, false, false, true FROM gone`

const insertNumbered = statement('knowledge.insert-units', {
  takes: {
    author: 'text',
    organisation: 'text',
    now: 'timestamptz',
    since: 'timestamptz',
    ids: 'text[]',
    ...Object.fromEntries(
      positions.flatMap((n) => columns.map(([name, type]) => [`${name}_${n}`, typed<string | number | null>(type)])),
    ),
  },
  returns: { id: 'text', stored: 'bool', quarantined: 'bool', erased: 'bool' },
  isPrepared: true,
  variants: [1, 2, maxInsertedUnits],
  sql: (count: number) => {
    const text = insertTexts.get(count) ?? insertText(count)
    insertTexts.set(count, text)
    return text
  },
})

/**
 * Stores at most {@link maxInsertedUnits} units and the first versions of SOPs in one statement, and returns units that it stored or whose
 * ids were erased. Ids in use are skipped. Units must be ordered by id, so that concurrent requests with the same ids wait instead of
 * deadlocking. Values are separate parameters, because the database would parse a document within a larger one twice.
 */
export const insertUnits = (
  tx: Transaction,
  common: { author: string; organisation: string; now: Date; since: Date },
  units: readonly UnitValues[],
) =>
  insertNumbered(
    tx,
    {
      ...common,
      ids: units.map(({ id }) => id),
      ...Object.fromEntries(units.flatMap((unit, n) => columns.map(([name]) => [`${name}_${n}`, unit[name]]))),
    },
    units.length,
  )

export const setStoringSavepoint = statement('knowledge.set-storing-savepoint', {
  takes: {},
  returns: 'count',
  isPrepared: true,
  sql: 'SAVEPOINT storing',
})
export const rollBackStoring = statement('knowledge.roll-back-storing', {
  takes: {},
  returns: 'count',
  sql: 'ROLLBACK TO SAVEPOINT storing',
})

/** Those of the units that the reader can see with the same content, regardless of their author. */
export const sameUnits = statement('knowledge.same-units', {
  takes: {
    agents: 'text[]',
    organisation: 'text?',
    admin: 'bool',
    units: typed<readonly { id: string; document: Unit }[]>('json'),
  },
  returns: { id: 'text' },
  sql: `SELECT u.id FROM units u JOIN json_to_recordset($units) AS s(id text, document jsonb) ON s.id = u.id
    WHERE u.document #- '{metadata,agent_id}' = s.document #- '{metadata,agent_id}'
      AND ${visibleTo('$agents', '$organisation', '$admin')}`,
})

/** The locked unit, if the actor may correct it: the author and its owner may, and admins unless it is private. */
export const lockCorrectableUnit = statement('knowledge.lock-correctable-unit', {
  takes: { id: 'text', agents: 'text[]', isAdmin: 'bool' },
  returns: { ...unitRow, agent_id: 'text', novelty: 'float8?', votes_for: 'float8', votes_against: 'float8' },
  sql: `SELECT ${unitColumns}, u.agent_id, u.novelty, u.votes_for, u.votes_against
    FROM units u WHERE u.id = $id AND (u.agent_id = ANY($agents) OR ($isAdmin AND u.visibility <> 'private')) FOR UPDATE`,
})
/** Overwrites a unit. `document` is JSON. Quarantines it if `isHeld`. */
export const rewriteUnit = statement('knowledge.rewrite-unit', {
  takes: {
    id: 'text',
    document: 'text',
    domain: 'text',
    attributedTo: 'text?',
    quality: 'float8',
    now: 'timestamptz',
    isHeld: 'bool',
    visibility: typed<Visibility>('visibility'),
    search: typed<string>('tsvector'),
    instructions: typed<readonly InstructionField[]>('jsonb'),
  },
  returns: { version: 'int4' },
  sql: `UPDATE units SET document = $document::jsonb, visibility = $visibility, domain = $domain, attributed_to = $attributedTo,
      quality_score = $quality, was_public = was_public OR (visibility = 'network' AND $visibility <> 'network'), search = $search,
      instructions = nullif($instructions, '[]'::jsonb),
      quarantined_at = CASE WHEN $isHeld THEN coalesce(quarantined_at, $now) ELSE quarantined_at END,
      version = version + 1, updated_at = $now
    WHERE id = $id RETURNING version`,
})
/** Overwrites the current version of an SOP and removes its approval, which was for the former text. `document` is JSON. */
export const rewriteCurrentVersion = statement('knowledge.rewrite-current-version', {
  takes: { unit: 'text', document: 'text' },
  returns: 'count',
  sql: `UPDATE sop_versions SET document = $document::jsonb, approved_by = NULL, approved_at = NULL
    WHERE unit_id = $unit AND version = (SELECT max(version) FROM sop_versions WHERE unit_id = $unit)`,
})

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
