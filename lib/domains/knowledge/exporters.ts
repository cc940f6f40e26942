import type { Basis, Exporter, ExportReader } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { isValidatedBy, visibleTo } from './repository.ts'
import { erasedSubject } from './reputation/rules.ts'

const unitColumns = 'u.id, u.document, u.visibility, u.quality_score, u.created_at, u.updated_at'
/** Members in the API's order. No column is null, so text concatenation works and costs a third less than building an object. */
const unitRecord = ({ basis }: ExportReader): string =>
  `'{"id":' || to_json(c.id)::text || ',"unit":' || c.document::text || ',"visibility":"' || c.visibility::text || '"' ||
    ${basis === 'all' ? `',"quality_score":' || c.quality_score::text ||` : ''}
    ',"created_at":"' || ${utc('c.created_at')} || '","updated_at":"' || ${utc('c.updated_at')} || '"}'`

/**
 * Whether a record that the reader can see, written at `at`, refers to agent $1: it belongs to the agent's organization or was written
 * after the agent registered.
 */
const meansAgent = (at: string): string => `EXISTS (SELECT FROM name_bearers b WHERE b.kind = 'agent' AND b.id = $1
    AND (b.organisation_id = u.organisation_id OR ${at} >= b.registered_at))`

/** Whether an admin reads the unit or skill `u` of others. */
const sharedWithAdmin = `($3 AND u.visibility <> 'private')`

/**
 * Units by other authors that name the agent as expert or first author. Anyone can choose such a name, so it grants no access: readers get
 * records that they could read anyway and that refer to the agent; admins, who judge the others, get all that are not private.
 */
const attributed = `u.agent_id <> $1 AND (u.attributed_to = $1 OR u.original_author = $1) AND u.created_at <= $2
  AND (${sharedWithAdmin} OR (${visibleTo('$4::text[]', '$5', '$3')} AND ${meansAgent('u.created_at')}))`

const isShared = (document: string): string => `${document}->'metadata'->>'visibility' <> 'private'`

/**
 * Versions of others' SOPs, including former ones, that name the agent as expert, under the rules of {@link attributed}. Readers only get
 * the versions that any reader of the SOP has: the current one and the newest approved one, as far as these were shared with them.
 */
const namedInVersion = `u.agent_id <> $1 AND v.document->'source'->>'expert_id' = $1 AND v.created_at <= $2 AND ((${sharedWithAdmin} AND ${isShared('v.document')}) OR u.agent_id = ANY($4::text[])
  OR (${visibleTo('$4::text[]', '$5', '$3')} AND ${meansAgent('v.created_at')}
    AND v.document->'metadata'->>'visibility' = ANY(CASE WHEN u.organisation_id = $5 THEN '{network,org}' ELSE '{network}' END::text[])
    AND v.version IN ((SELECT max(n.version) FROM sop_versions n WHERE n.unit_id = u.id),
      (SELECT max(n.version) FROM sop_versions n WHERE n.unit_id = u.id AND n.approved_at IS NOT NULL))))`

const both: readonly Basis[] = ['provided', 'all']
const derivedOnly: readonly Basis[] = ['all']

/** Omits derived data when only provided data is requested (GDPR art. 20). */
const members = ({ basis }: ExportReader, provided: Record<string, string>, derived: Record<string, string>): string =>
  jsonObject(basis === 'all' ? { ...provided, ...derived } : provided)

const units = (db: Database): Exporter => ({
  part: 'knowledge_units',
  isShared: true,
  bases: both,
  tables: ['units'],
  async *pages(agentId, reader) {
    const shape = {
      from: 'units u',
      at: 'u.created_at',
      id: 'u.id',
      columns: unitColumns,
      record: unitRecord(reader),
      weight: 'pg_column_size(u.document)',
    }
    yield* recordPages(db, {
      ...shape,
      where: `u.agent_id = $1 AND u.created_at <= $2${reader.seesPrivate ? '' : " AND u.visibility <> 'private'"}`,
      values: [agentId, reader.until],
    })
    const { until, isAdmin, agents, organisationId } = reader
    yield* recordPages(db, {
      ...shape,
      where: attributed,
      values: [agentId, until, isAdmin, agents, organisationId ?? null],
    })
  },
})

const references = (db: Database): Exporter => ({
  part: 'references',
  isShared: true,
  bases: derivedOnly,
  tables: [],
  pages: (agentId, { until, isAdmin, agents, organisationId }) =>
    recordPages(db, {
      // A reference in another author's unit: only its position, none of the author's content.
      from: 'units u',
      where: `u.agent_id <> $1 AND ${isValidatedBy('$1::text')} AND u.created_at <= $2
        AND (${sharedWithAdmin} OR (${visibleTo('$4::text[]', '$5', '$3')} AND ${meansAgent('u.created_at')}))`,
      values: [agentId, until, isAdmin, agents, organisationId ?? null],
      at: 'u.created_at',
      id: 'u.id',
      columns: 'u.id, u.created_at',
      record: jsonObject({ unit_id: 'c.id', field: "'metadata.validated_by'", created_at: utc('c.created_at') }),
    }),
})

const sopVersions = (db: Database): Exporter => ({
  part: 'sop_versions',
  isShared: true,
  bases: both,
  tables: ['sop_versions'],
  async *pages(agentId, reader) {
    const shape = {
      // The approver's identity is another person's data (art. 15(4)); the fact and time of approval are not.
      from: 'sop_versions v JOIN units u ON u.id = v.unit_id',
      at: 'v.created_at',
      id: "(v.unit_id || ':' || lpad(v.version::text, 10, '0'))",
      columns: 'v.unit_id, v.version, v.document, v.created_at, v.approved_at',
      weight: 'pg_column_size(v.document)',
      record: members(
        reader,
        { unit_id: 'c.unit_id', version: 'c.version', document: 'c.document', created_at: utc('c.created_at') },
        { approved_at: utc('c.approved_at') },
      ),
    }
    yield* recordPages(db, {
      ...shape,
      where: `u.agent_id = $1 AND v.created_at <= $2${reader.seesPrivate ? '' : ` AND u.visibility <> 'private' AND ${isShared('v.document')}`}`,
      values: [agentId, reader.until],
    })
    const { until, isAdmin, agents, organisationId } = reader
    yield* recordPages(db, {
      ...shape,
      where: namedInVersion,
      values: [agentId, until, isAdmin, agents, organisationId ?? null],
    })
  },
})

const skills = (db: Database): Exporter => ({
  part: 'skills',
  isShared: true,
  bases: both,
  tables: ['skills', 'skill_files'],
  pages: (agentId, reader) =>
    recordPages(db, {
      from: 'skills s',
      where: `s.agent_id = $1 AND s.created_at <= $2${reader.seesPrivate ? '' : " AND s.visibility <> 'private'"}`,
      values: [agentId, reader.until],
      at: 's.created_at',
      id: 's.id',
      columns:
        's.id, s.name, s.description, s.visibility, s.document, s.quality_score, s.undeclared_tools, s.quarantined_at, s.created_at, s.updated_at',
      weight:
        'pg_column_size(s.document) + coalesce((SELECT sum(pg_column_size(f.content)) FROM skill_files f WHERE f.skill_id = s.id), 0)',
      record: members(
        reader,
        {
          id: 'c.id',
          name: 'c.name',
          description: 'c.description',
          visibility: 'c.visibility',
          skill_md: 'c.document',
          files:
            "coalesce((SELECT json_agg(json_build_object('path', f.path, 'size', f.size, 'sha256', f.sha256, 'content', f.content) ORDER BY f.path) FROM skill_files f WHERE f.skill_id = c.id), '[]')",
          created_at: utc('c.created_at'),
          updated_at: utc('c.updated_at'),
        },
        {
          quality_score: 'c.quality_score',
          undeclared_tools: 'c.undeclared_tools',
          quarantined_at: utc('c.quarantined_at'),
        },
      ),
    }),
})

const votes = (db: Database): Exporter => ({
  part: 'votes',
  isShared: true,
  bases: both,
  tables: ['unit_votes'],
  pages: (agentId, reader) =>
    recordPages(db, {
      from: 'unit_votes v',
      where: 'v.voter_id = $1 AND v.at <= $2',
      values: [agentId, reader.until],
      at: 'v.at',
      id: 'v.unit_id',
      columns: 'v.unit_id, v.valid, v.weight, v.feedback, v.at',
      weight: 'coalesce(pg_column_size(v.feedback), 0)',
      record: members(
        reader,
        { unit_id: 'c.unit_id', valid: 'c.valid', feedback: 'c.feedback', at: utc('c.at') },
        { weight: 'c.weight' },
      ),
    }),
})

const votesReceived = (db: Database): Exporter => ({
  part: 'votes_received',
  bases: derivedOnly,
  tables: [],
  pages: (agentId, reader) =>
    recordPages(db, {
      // Only the number of votes: the voters are other persons (art. 15(4)).
      from: `(SELECT u.id, u.created_at, count(*) FILTER (WHERE v.valid) AS valid, count(*) FILTER (WHERE NOT v.valid) AS invalid
        FROM units u JOIN unit_votes v ON v.unit_id = u.id WHERE u.agent_id = $1 AND v.at <= $2 GROUP BY u.id) AS g`,
      where: 'true',
      values: [agentId, reader.until],
      at: 'g.created_at',
      id: 'g.id',
      columns: 'g.*',
      record: jsonObject({ unit_id: 'c.id', valid: 'c.valid', invalid: 'c.invalid' }),
    }),
})

const reports = (db: Database): Exporter => ({
  part: 'reports',
  isShared: true,
  bases: both,
  tables: ['unit_reports'],
  pages: (agentId, reader) =>
    recordPages(db, {
      from: 'unit_reports p',
      where: 'p.reporter_id = $1 AND p.at <= $2',
      values: [agentId, reader.until],
      at: 'p.at',
      id: 'p.unit_id',
      columns: 'p.unit_id, p.reason, p.at, p.settled_at',
      weight: 'pg_column_size(p.reason)',
      record: members(
        reader,
        { unit_id: 'c.unit_id', reason: 'c.reason', at: utc('c.at') },
        { settled_at: utc('c.settled_at') },
      ),
    }),
})

const reportsReceived = (db: Database): Exporter => ({
  part: 'reports_received',
  bases: derivedOnly,
  tables: [],
  pages: (agentId, reader) =>
    recordPages(db, {
      // Without the reporters and their texts, which could identify them.
      from: `(SELECT u.id, u.created_at, u.quarantined_at, count(*) AS reports
        FROM units u JOIN unit_reports p ON p.unit_id = u.id WHERE u.agent_id = $1 AND p.at <= $2 GROUP BY u.id) AS g`,
      where: 'true',
      values: [agentId, reader.until],
      at: 'g.created_at',
      id: 'g.id',
      columns: 'g.*',
      record: jsonObject({ unit_id: 'c.id', reports: 'c.reports', quarantined_at: utc('c.quarantined_at') }),
    }),
})

const reputation = (db: Database): Exporter => ({
  part: 'reputation',
  isShared: true,
  bases: derivedOnly,
  tables: ['reputation'],
  pages: (agentId) =>
    recordPages(db, {
      from: 'reputation r',
      where: 'r.agent_id = $1',
      values: [agentId],
      at: 'r.day::timestamptz',
      id: 'r.agent_id',
      columns: 'r.score, r.day, r.gained_today',
      record: jsonObject({ score: 'c.score', day: 'c.day', gained_on_that_day: 'c.gained_today' }),
    }),
})

const reputationLedger = (db: Database): Exporter => ({
  part: 'reputation_ledger',
  bases: derivedOnly,
  tables: ['reputation_ledger'],
  pages: (agentId, reader) =>
    recordPages(db, {
      from: 'reputation_ledger l',
      where: 'l.agent_id = $1 AND l.at <= $2',
      values: [agentId, reader.until],
      at: 'l.at',
      id: 'l.id',
      columns: 'l.at, l.change, l.reason, l.subject_id',
      record: jsonObject({
        at: utc('c.at'),
        change: 'c.change',
        reason: 'c.reason',
        subject_id: `nullif(c.subject_id, '${erasedSubject}')`,
      }),
    }),
})

const contentRejections = (db: Database): Exporter => ({
  part: 'content_rejections',
  bases: derivedOnly,
  tables: ['content_rejections'],
  pages: (agentId, reader) =>
    recordPages(db, {
      from: 'content_rejections x',
      where: 'x.agent_id = $1 AND x.at <= $2',
      values: [agentId, reader.until],
      at: 'x.at',
      id: 'x.id',
      columns: 'x.at, x.stage',
      record: jsonObject({ at: utc('c.at'), stage: 'c.stage' }),
    }),
})

/** Exports registry content about an agent, one part per kind of record. */
export const knowledgeExporters = (db: Database): Exporter[] => [
  units(db),
  references(db),
  skills(db),
  sopVersions(db),
  votes(db),
  votesReceived(db),
  reports(db),
  reportsReceived(db),
  reputation(db),
  reputationLedger(db),
  contentRejections(db),
]
