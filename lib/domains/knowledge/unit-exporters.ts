import type { Exporter, ExportReader } from '#lib/kernel/exporter.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { both, derivedOnly, members } from './export-bases.ts'
import { isValidatedBy } from './repository.ts'
import { visibleTo } from './visibility.ts'

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
const namedInWording = `u.agent_id <> $1 AND v.document->'source'->>'expert_id' = $1 AND v.created_at <= $2 AND ((${sharedWithAdmin} AND ${isShared('v.document')}) OR u.agent_id = ANY($4::text[])
  OR (${visibleTo('$4::text[]', '$5', '$3')} AND ${meansAgent('v.created_at')}
    AND v.document->'metadata'->>'visibility' = ANY(CASE WHEN u.organisation_id = $5 THEN '{network,org}' ELSE '{network}' END::text[])
    AND v.version IN ((SELECT max(n.version) FROM sop_versions n WHERE n.unit_id = u.id),
      (SELECT max(n.version) FROM sop_versions n WHERE n.unit_id = u.id AND n.approved_at IS NOT NULL))))`

export const units = (db: Database): Exporter => ({
  part: 'knowledge_units',
  isShared: true,
  bases: both,
  tables: ['units'],
  async *pages(agentId, reader) {
    const shape = {
      ...{ from: 'units u', at: 'u.created_at', id: 'u.id', columns: unitColumns },
      ...{ record: unitRecord(reader), weight: 'pg_column_size(u.document)' },
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

export const references = (db: Database): Exporter => ({
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

export const sopVersions = (db: Database): Exporter => ({
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
      where: namedInWording,
      values: [agentId, until, isAdmin, agents, organisationId ?? null],
    })
  },
})
