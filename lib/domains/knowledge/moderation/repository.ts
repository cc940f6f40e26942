import type { Unit, Visibility } from '#lib/domains/knowledge/contract.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'
import { visibleTo } from '../repository.ts'
import { rejectionsToQuarantine, reportsToQuarantine } from '../rules.ts'
import { isHeardSql, voteIdentitySql } from '../votes/vote-identity.ts'

/** Totals stop counting at this number. */
export const countedTo = 1_001
const [maxReports, maxAgents] = [20, 50]

/** Those of the agents with enough rejections since that time for quarantine. */
export const agentsUnderReview = statement('knowledge.agents-under-review', {
  takes: { agents: 'text[]', since: 'timestamptz' },
  returns: { agent_id: 'text' },
  sql: `SELECT agent_id FROM content_rejections WHERE agent_id = ANY($agents) AND at > $since
    GROUP BY agent_id HAVING count(*) >= ${rejectionsToQuarantine}`,
})
/** Number of rejections by point, from 0, and stage. `step`: the length of a point in milliseconds. */
export const rejectionsByPoint = statement('knowledge.rejections-by-point', {
  takes: { since: 'timestamptz', until: 'timestamptz', step: 'float8' },
  returns: { point: 'int4', stage: 'text', n: 'int4' },
  isPrepared: true,
  sql: `SELECT floor(extract(epoch FROM at - $since) * 1000 / $step)::int AS point, stage, count(*)::int AS n
    FROM content_rejections WHERE at >= $since AND at <= $until GROUP BY 1, 2`,
})
/** The agents with most rejections, first by those after `recent`. `agents`: the number of all agents with rejections. */
export const rejectionsByAgent = statement('knowledge.rejections-by-agent', {
  takes: { since: 'timestamptz', recent: 'timestamptz', until: 'timestamptz' },
  returns: {
    agent_id: 'text',
    total: 'int4',
    lately: 'int4',
    last_at: 'timestamptz',
    agents: 'int4',
    by_stage: typed<Record<string, number>>('json'),
  },
  isPrepared: true,
  sql: `SELECT agent_id, sum(n)::int AS total, sum(lately)::int AS lately, max(last_at) AS last_at,
      json_object_agg(stage, n ORDER BY stage) AS by_stage, count(*) OVER ()::int AS agents
    FROM (SELECT agent_id, stage, count(*)::int AS n, count(*) FILTER (WHERE at > $recent)::int AS lately, max(at) AS last_at
      FROM content_rejections WHERE at >= $since AND at <= $until GROUP BY agent_id, stage) AS staged
    GROUP BY agent_id ORDER BY sum(lately) DESC, sum(n) DESC, agent_id LIMIT ${maxAgents}`,
})

/** The unit that the reporter sees, locked so that its reports are counted one after another. */
export const lockUnitForReport = statement('knowledge.lock-unit-for-report', {
  takes: { id: 'text', reporter: 'text', agents: 'text[]', organisation: 'text?', admin: 'bool' },
  returns: { quarantined: 'bool', owner_id: 'text?' },
  sql: `SELECT u.quarantined_at IS NOT NULL AS quarantined, (SELECT owner_id FROM agent_owners WHERE id = $reporter) AS owner_id
    FROM units u WHERE u.id = $id AND ${visibleTo('$agents', '$organisation', '$admin')} FOR NO KEY UPDATE OF u`,
})
/** Returns 0 if the owner already reported the unit. */
export const insertReport = statement('knowledge.insert-report', {
  takes: { unit: 'text', reporter: 'text', owner: 'text', reason: 'text', network: 'bytea?', now: 'timestamptz' },
  returns: 'count',
  sql: `INSERT INTO unit_reports (unit_id, reporter_id, owner_key, reason, network, at)
    VALUES ($unit, $reporter, $owner, $reason, $network, $now) ON CONFLICT DO NOTHING`,
})
/** Units with enough reports for quarantine, one or all, and the number of their reporters, who may be fewer. */
export const reportedUnits = statement('knowledge.reported-units', {
  takes: { unit: 'text?', oldEnough: 'timestamptz' },
  returns: { id: 'text', reporters: 'int4' },
  sql: `SELECT r.unit_id AS id, count(DISTINCT ${voteIdentitySql('r', 'r.reporter_id', 'a')})::int AS reporters
    FROM unit_reports r LEFT JOIN agent_owners a ON a.id = r.reporter_id
    WHERE r.settled_at IS NULL AND ($unit IS NULL OR r.unit_id = $unit) AND ${isHeardSql('r.reporter_id', 'a', '$oldEnough')}
    GROUP BY r.unit_id HAVING count(*) >= ${reportsToQuarantine}`,
})
/** Quarantines those of the units that are not quarantined yet, and returns them. */
export const quarantineUnits = statement('knowledge.quarantine-units', {
  takes: { ids: 'text[]', now: 'timestamptz' },
  returns: { id: 'text' },
  sql: `UPDATE units SET quarantined_at = $now WHERE id IN (
      SELECT id FROM units WHERE id = ANY($ids) AND quarantined_at IS NULL ORDER BY id FOR NO KEY UPDATE)
    RETURNING id`,
})

const quarantinedIn = (table: 'units' | 'skills', kind: 'unit' | 'skill'): string =>
  `(SELECT id, '${kind}' AS kind, agent_id, visibility, quarantined_at FROM ${table}
    WHERE quarantined_at IS NOT NULL AND ($at IS NULL OR (quarantined_at, id) > ($at, $id)) ORDER BY quarantined_at, id LIMIT $limit)`
/** Quarantined records, oldest first, that follow the record with the given time and id, if any. Content of private records is omitted. */
export const quarantinePage = statement('knowledge.quarantine-page', {
  takes: { at: 'timestamptz?', id: 'text?', limit: 'int4' },
  returns: {
    id: 'text',
    agent_id: 'text',
    quarantined_at: 'timestamptz!',
    settled_reports: 'int4',
    skill_md: 'text?',
    kind: typed<'unit' | 'skill'>('text'),
    visibility: typed<Visibility>('visibility'),
    unit: typed<Unit | null>('jsonb?'),
    reports: typed<{ reason: string; reported_at: string }[]>('json'),
  },
  isPrepared: true,
  sql: `WITH held AS (
      ${quarantinedIn('units', 'unit')}
      UNION ALL
      ${quarantinedIn('skills', 'skill')}
      ORDER BY quarantined_at, id LIMIT $limit)
    SELECT h.*, u.document AS unit, s.document AS skill_md, coalesce((
        SELECT json_agg(json_build_object('reason', r.reason, 'reported_at', r.at) ORDER BY r.at, r.owner_key)
        FROM (SELECT * FROM unit_reports WHERE unit_id = h.id AND settled_at IS NULL ORDER BY at, owner_key LIMIT ${maxReports}) AS r), '[]') AS reports,
      (SELECT count(*)::int FROM unit_reports WHERE unit_id = h.id AND settled_at IS NOT NULL) AS settled_reports
    FROM held h LEFT JOIN units u ON u.id = h.id AND u.visibility <> 'private'
      LEFT JOIN skills s ON s.id = h.id AND s.visibility <> 'private'
    ORDER BY h.quarantined_at, h.id`,
})
export const countQuarantined = statement('knowledge.count-quarantined', {
  takes: {},
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n FROM (
    (SELECT FROM units WHERE quarantined_at IS NOT NULL LIMIT ${countedTo}) UNION ALL
    (SELECT FROM skills WHERE quarantined_at IS NOT NULL LIMIT ${countedTo})) AS held`,
})

const kinds = ['unit', 'skill'] as const
type RecordKind = (typeof kinds)[number]
export const lockForReview = statement('knowledge.lock-for-review', {
  takes: { id: 'text' },
  returns: { agent_id: 'text', type: 'text', imported: 'bool', quarantined: 'bool' },
  variants: kinds,
  sql: (kind: RecordKind) =>
    kind === 'skill'
      ? `SELECT agent_id, 'skill' AS type, false AS imported, quarantined_at IS NOT NULL AS quarantined
         FROM skills WHERE id = $id FOR NO KEY UPDATE`
      : `SELECT agent_id, type::text, original_author IS NOT NULL AS imported, quarantined_at IS NOT NULL AS quarantined
         FROM units WHERE id = $id FOR NO KEY UPDATE`,
})
export const releaseFromQuarantine = statement('knowledge.release-from-quarantine', {
  takes: { id: 'text' },
  returns: 'count',
  variants: kinds,
  sql: (kind: RecordKind) => `UPDATE ${kind === 'skill' ? 'skills' : 'units'} SET quarantined_at = NULL WHERE id = $id`,
})

/** `retention`: for how many milliseconds rejections are stored. */
export const rejectionsHolding = statement('knowledge.rejections-holding', {
  takes: { actors: 'text[]', retention: 'float8' },
  returns: { n: 'int4', since: 'timestamptz?', until: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n, min(at) AS since, max(at) + $retention * interval '1 ms' AS until
    FROM content_rejections WHERE agent_id = ANY($actors)`,
})
export const rejectionIds = statement('knowledge.rejection-ids', {
  takes: { actors: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: 'SELECT id FROM content_rejections WHERE agent_id = ANY($actors) ORDER BY id',
})
export const countRejectionsOf = statement('knowledge.count-rejections-of', {
  takes: { actors: 'text[]' },
  returns: { n: 'int4' },
  sql: 'SELECT count(*)::int AS n FROM content_rejections WHERE agent_id = ANY($actors)',
})
export const countRejectionsById = statement('knowledge.count-rejections-by-id', {
  takes: { ids: 'text[]' },
  returns: { n: 'int4' },
  sql: 'SELECT count(*)::int AS n FROM content_rejections WHERE id = ANY($ids)',
})
