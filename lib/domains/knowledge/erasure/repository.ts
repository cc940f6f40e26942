import type { Unit, Visibility } from '#lib/domains/knowledge/contract.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { agentsUnderLegalHold, lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'
import type { FrontMatter } from '../skills/rules.ts'
import { maxRecords, type referencePlaces } from './contract.ts'
import { meansBy, meantMember, versionMeans } from './rules.ts'

const kinds = ['unit', 'skill'] as const
type RecordKind = (typeof kinds)[number]

/** A legal hold on the record, one of the agents or the account of one of them. */
const holdOfRecord = statement('knowledge.hold-of-record', {
  takes: { kind: 'text', id: 'text', agents: 'text[]', now: 'timestamptz' },
  returns: { id: 'text' },
  sql: `SELECT id FROM holds_in_force
    WHERE ((kind = $kind AND target_id = $id) OR (kind IN ('agent', 'account') AND target_id = ANY($agents))
        OR (kind = 'account' AND target_id IN (SELECT owner_id FROM agent_owners WHERE id = ANY($agents))))
      AND (expires_at IS NULL OR expires_at > $now) ORDER BY id LIMIT 1`,
})
/** Experts named in any version of an SOP. */
const expertsOfVersions = statement('knowledge.experts-of-versions', {
  takes: { unit: 'text' },
  returns: { expert: 'text' },
  sql: `SELECT DISTINCT document->'source'->>'expert_id' AS expert
    FROM sop_versions WHERE unit_id = $unit AND document->'source'->>'expert_id' IS NOT NULL`,
})

const inForce = (now: string): string => `(expires_at IS NULL OR expires_at > ${now}::timestamptz)`

/**
 * SQL for ids under active legal holds, by kind. For agents: held agents, agents of held accounts, and the ids of those accounts. `now` is
 * a placeholder.
 */
export const idsUnderLegalHold = (kind: 'unit' | 'skill' | 'agent', now: string): string =>
  kind === 'agent'
    ? agentsUnderLegalHold(now)
    : `SELECT target_id FROM holds_in_force WHERE kind = '${kind}' AND ${inForce(now)}`

/**
 * CTEs that start from the holds, because few records are held. `held_agents (agent, hold)`; `held_records (id, hold)`: records of this
 * kind that are held directly or came from a held agent, including former versions. `now` is a placeholder.
 */
const knowledgeHoldsSql = (kind: 'unit' | 'skill', now: string): string => `in_force AS MATERIALIZED (
    SELECT id, kind, target_id FROM holds_in_force WHERE ${inForce(now)}),
  held_agents AS MATERIALIZED (
    SELECT agent, min(hold) AS hold FROM (
      SELECT target_id AS agent, id AS hold FROM in_force WHERE kind IN ('agent', 'account')
      UNION ALL SELECT a.id, h.id FROM in_force h JOIN agent_owners a ON a.owner_id = h.target_id WHERE h.kind = 'account') AS g GROUP BY agent),
  held_records AS MATERIALIZED (
    SELECT id, min(hold) AS hold FROM (
      SELECT target_id AS id, id AS hold FROM in_force WHERE kind = '${kind}'${kind === 'unit' ? fromHeld : ''}) AS g GROUP BY id)`
const fromHeld = `
      UNION ALL SELECT u.id, a.hold FROM held_agents a JOIN units u ON u.attributed_to = a.agent
      UNION ALL SELECT u.id, a.hold FROM held_agents a JOIN units u ON u.original_author = a.agent
      UNION ALL SELECT v.unit_id, a.hold FROM held_agents a JOIN sop_versions v ON v.document->'source'->>'expert_id' = a.agent`
/** The hold on record `alias`, as a column and the joins it needs; uses the CTEs of {@link knowledgeHoldsSql}. */
const knowledgeHoldSql = 'coalesce(r.hold, h.hold)'
const joinKnowledgeHolds = (alias: string): string =>
  `LEFT JOIN held_records r ON r.id = ${alias}.id LEFT JOIN held_agents h ON h.agent = ${alias}.agent_id`

interface Holdable {
  kind: 'unit' | 'skill'
  id: string
  /** The author of the record and the agents to which it is attributed. */
  agents: readonly (string | null)[]
}

/**
 * Rejects the operation if a legal hold covers the record at that time. Waits for a hold that is being placed, so that nothing is erased
 * after a hold covers it.
 * @throws {Problem} `held`, with the hold's id but not its reason
 */
export async function rejectUnderLegalHold(tx: Transaction, { kind, id, agents }: Holdable, now: Date): Promise<void> {
  await lockHolds(tx)
  const [hold] = await holdOfRecord(tx, { kind, id, agents: agents.filter((agent) => agent !== null), now })
  if (hold)
    throw new Problem('held', {
      detail: `A legal hold covers this ${kind}, so nothing was erased. Ask an admin, who can release the hold.`,
      extensions: { hold_id: hold.id },
    })
}

/** Experts named in any version of an SOP. */
export async function expertsOfStoredVersions(tx: Transaction, unitId: string): Promise<string[]> {
  const rows = await expertsOfVersions(tx, { unit: unitId })
  return rows.map(({ expert }) => expert)
}

/** Those of the agents that authored a unit or skill under a legal hold, each with one such hold. */
export const authorsWithHolds = statement('knowledge.authors-with-holds', {
  takes: { agents: 'text[]', now: 'timestamptz' },
  returns: { agent: 'text', hold: 'text' },
  variants: kinds,
  sql: (kind: RecordKind) => `WITH ${knowledgeHoldsSql(kind, '$now')}
    SELECT s.agent_id AS agent, min(r.hold) AS hold FROM held_records r JOIN ${kind}s s ON s.id = r.id
    WHERE s.agent_id = ANY($agents) GROUP BY s.agent_id`,
})
/** A record that existed at that time, locked. */
export const lockRestoredRecord = statement('knowledge.lock-restored-record', {
  takes: { id: 'text', at: 'timestamptz' },
  returns: { formerOwner: 'text', wasPublic: 'bool' },
  variants: kinds,
  sql: (kind: RecordKind) => `SELECT agent_id AS "formerOwner", was_public OR visibility = 'network' AS "wasPublic"
    FROM ${kind}s WHERE id = $id AND created_at <= $at FOR UPDATE`,
})

const validated = "document->'metadata'->'validated_by'"
/** Units that contain one of the names as a reference, in any version; every field has an index. */
const naming = `SELECT id FROM units WHERE attributed_to = ANY($names)
  UNION SELECT id FROM units WHERE original_author = ANY($names)
  UNION SELECT u.id FROM unnest($names) AS n(name) JOIN units u ON u.${validated} IS NOT NULL AND u.${validated} @> to_jsonb(n.name)
  UNION SELECT unit_id FROM sop_versions WHERE document->'source'->>'expert_id' = ANY($names)
  UNION SELECT v.unit_id FROM unnest($names) AS n(name) JOIN sop_versions v ON v.${validated} IS NOT NULL AND v.${validated} @> to_jsonb(n.name)`
const doing = `SELECT unit_id AS id FROM sop_versions WHERE created_by = ANY($names)
  UNION SELECT unit_id FROM sop_versions WHERE approved_by IS NOT NULL AND approved_by = ANY($names)`
const skillsNaming =
  "SELECT id FROM skills WHERE front_matter->>'author' IS NOT NULL AND front_matter->>'author' = ANY($names)"

/** Whether the document of `alias` names `m` as expert or validator. */
const namedIn = (alias: string): string =>
  `(${alias}.document->'source'->>'expert_id' = m.name OR ${alias}.${validated} ? m.name)`
/**
 * Whether the unit `u` or one of its versions means the subject. The registry itself recorded authors and approvers of versions, so those
 * always do.
 */
const unitMeans = `(EXISTS (SELECT FROM meant m WHERE ${meansBy('u')}
      AND (u.attributed_to = m.name OR u.original_author = m.name OR ${namedIn('u')}))
    OR EXISTS (SELECT FROM sop_versions v WHERE v.unit_id = u.id AND (v.created_by = ANY($names) OR v.approved_by = ANY($names)
      OR EXISTS (SELECT FROM meant m WHERE ${versionMeans} AND ${namedIn('v')}))))`
const skillMeans = `EXISTS (SELECT FROM meant m WHERE ${meansBy('s')} AND s.front_matter->>'author' = m.name)`

const meant = meantMember('$names', '$kinds', '$ids')
const bearers = { names: 'text[]', kinds: 'text[]', ids: 'text[]' } as const
const referring: Record<RecordKind, { row: string; from: string }> = {
  unit: {
    row: 'u',
    from: `FROM (${naming} UNION ${doing}) AS f JOIN units u ON u.id = f.id
      ${joinKnowledgeHolds('u')} WHERE u.agent_id <> ALL($agents) AND ${unitMeans}`,
  },
  skill: {
    row: 's',
    from: `FROM (${skillsNaming}) AS f JOIN skills s ON s.id = f.id
      ${joinKnowledgeHolds('s')} WHERE s.agent_id <> ALL($agents) AND ${skillMeans}`,
  },
}
const referencesSql = (kind: RecordKind): string => `WITH ${knowledgeHoldsSql(kind, '$now')}, ${meant}
  SELECT ${referring[kind].row}.id, ${referring[kind].row}.created_at, ${knowledgeHoldSql} AS hold ${referring[kind].from}`

/** Number of records of others that refer to the bearers. `agents`: the subject's agents, whose own records are deleted. */
export const referencesHolding = statement('knowledge.references-holding', {
  takes: { ...bearers, agents: 'text[]', now: 'timestamptz' },
  returns: { n: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n, min(created_at) AS since
    FROM ((${referencesSql('unit')}) UNION ALL (${referencesSql('skill')})) AS g`,
})
/** Records of others that refer to the bearers, with the legal hold that covers each. */
export const referringRecords = statement('knowledge.referring-records', {
  takes: { ...bearers, agents: 'text[]', now: 'timestamptz' },
  returns: { id: 'text', hold: 'text?' },
  isPrepared: true,
  variants: kinds,
  sql: (kind: RecordKind) => `SELECT id, hold FROM (${referencesSql(kind)}) AS p`,
})
export const countReferringRecords = statement('knowledge.count-referring-records', {
  takes: { ...bearers, agents: 'text[]', now: 'timestamptz' },
  returns: { n: 'int4' },
  variants: kinds,
  sql: (kind: RecordKind) => `SELECT count(*)::int AS n FROM (${referencesSql(kind)}) AS p WHERE p.hold IS NULL`,
})
/** Searches the documents of the records directly instead of using the indexes. */
export const countReferencesInDocuments = statement('knowledge.count-references-in-documents', {
  takes: { ...bearers, records: 'text[]' },
  returns: { n: 'int4' },
  sql: `WITH ${meant} SELECT ((SELECT count(*) FROM units u WHERE u.id = ANY($records)
      AND EXISTS (SELECT FROM meant m WHERE ${meansBy('u')} AND ${namedIn('u')}))
    + (SELECT count(*) FROM sop_versions v JOIN units u ON u.id = v.unit_id WHERE v.unit_id = ANY($records)
      AND EXISTS (SELECT FROM meant m WHERE ${versionMeans} AND ${namedIn('v')}))
    + (SELECT count(*) FROM skills s WHERE s.id = ANY($records) AND ${skillMeans}))::int AS n`,
})

const expertIn = (document: string): string => `${document}->'source'->>'expert_id' = ANY($names)`
const validatorIn = (document: string): string => `coalesce(${document}->'metadata'->'validated_by' ?| $names, false)`
const anyVersion = (is: (document: string) => string): string =>
  `EXISTS (SELECT FROM sop_versions v WHERE v.unit_id = u.id AND coalesce(${is('v.document')}, false))`
/**
 * Records that contain one of the names and were stored by `before`: all, or those with the ids. Authors and approvers of versions are not
 * included: the erasure already renamed those.
 */
export const recordsNaming = statement('knowledge.records-naming', {
  takes: { names: 'text[]', before: 'timestamptz?', ids: 'text[]?' },
  returns: {
    id: 'text',
    organisation_id: 'text',
    created_at: 'timestamptz',
    total: 'int4',
    visibility: typed<Visibility>('text'),
    places: typed<(typeof referencePlaces)[number][]>('text[]'),
  },
  isPrepared: true,
  sql: `SELECT *, count(*) OVER ()::int AS total FROM (
      SELECT u.id, u.organisation_id, u.visibility::text AS visibility, array_remove(ARRAY[
          CASE WHEN u.original_author = ANY($names) THEN 'original_author' END,
          CASE WHEN coalesce(${expertIn('u.document')}, false) OR ${anyVersion(expertIn)} THEN 'source.expert_id' END,
          CASE WHEN ${validatorIn('u.document')} OR ${anyVersion(validatorIn)} THEN 'metadata.validated_by' END], NULL) AS places, u.created_at
        FROM (${naming}) AS f JOIN units u ON u.id = f.id
        WHERE ($before IS NULL OR u.created_at <= $before) AND ($ids IS NULL OR u.id = ANY($ids))
      UNION ALL SELECT s.id, s.organisation_id, s.visibility::text, ARRAY['skill.author'], s.created_at
        FROM (${skillsNaming}) AS f JOIN skills s ON s.id = f.id
        WHERE ($before IS NULL OR s.created_at <= $before) AND ($ids IS NULL OR s.id = ANY($ids))) AS r ORDER BY id LIMIT ${maxRecords}`,
})

const meantOf = (means: string): string => `ARRAY(SELECT m.name FROM meant m WHERE ${means}) AS meant`
/** Locks units for renaming. `meant`: the names in the unit that mean the erased person or agent, not a namesake. */
export const lockUnitsToRename = statement('knowledge.lock-units-to-rename', {
  takes: { ...bearers, records: 'text[]' },
  returns: {
    id: 'text',
    meant: 'text[]',
    document: typed<Unit>('jsonb'),
    novelty: 'float8?',
    attributed_to: 'text?',
    original_author: 'text?',
  },
  isPrepared: true,
  sql: `WITH ${meant} SELECT u.id, ${meantOf(meansBy('u'))}, u.document, u.novelty, u.attributed_to, u.original_author FROM units u
    WHERE u.id = ANY($records) ORDER BY u.id FOR UPDATE OF u`,
})
export const versionsToRename = statement('knowledge.versions-to-rename', {
  takes: { ...bearers, records: 'text[]' },
  returns: {
    unit_id: 'text',
    meant: 'text[]',
    version: 'int4',
    document: typed<Unit>('jsonb'),
    created_by: 'text',
    approved_by: 'text?',
  },
  isPrepared: true,
  sql: `WITH ${meant} SELECT v.unit_id, ${meantOf(versionMeans)}, v.version, v.document, v.created_by, v.approved_by
    FROM sop_versions v JOIN units u ON u.id = v.unit_id WHERE v.unit_id = ANY($records)`,
})
/** A document of null stays unchanged. */
export const renameInUnits = statement('knowledge.rename-in-units', {
  takes: { rows: 'json' },
  returns: 'count',
  isPrepared: true,
  sql: `UPDATE units u SET document = coalesce(s.document, u.document), version = u.version + 1,
      attributed_to = s.attributed_to, original_author = s.original_author
    FROM json_to_recordset($rows) AS s(id text, document jsonb, attributed_to text, original_author text) WHERE u.id = s.id`,
})
export const renameInVersions = statement('knowledge.rename-in-versions', {
  takes: { rows: 'json' },
  returns: 'count',
  isPrepared: true,
  sql: `UPDATE sop_versions v SET document = s.document, created_by = s.created_by, approved_by = s.approved_by
    FROM json_to_recordset($rows) AS s(unit_id text, version int, document jsonb, created_by text, approved_by text)
    WHERE v.unit_id = s.unit_id AND v.version = s.version`,
})
export const renameInSearch = statement('knowledge.rename-in-search', {
  takes: { ids: 'text[]', vectors: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: 'UPDATE units u SET search = s.search::tsvector FROM unnest($ids, $vectors) AS s(id, search) WHERE u.id = s.id',
})
export const restoreNovelty = statement('knowledge.restore-novelty', {
  takes: { ids: 'text[]', novelties: typed<readonly (number | null)[]>('float8[]') },
  returns: 'count',
  isPrepared: true,
  sql: `UPDATE units u SET novelty = s.novelty FROM unnest($ids, $novelties) AS s(id, novelty)
    WHERE u.id = s.id AND s.novelty IS NOT NULL`,
})
export const lockSkillsToRename = statement('knowledge.lock-skills-to-rename', {
  takes: { ...bearers, records: 'text[]' },
  returns: {
    id: 'text',
    meant: 'text[]',
    document: 'text',
    front_matter: typed<FrontMatter>('jsonb'),
    files: typed<{ path: string; content: string }[]>('json'),
  },
  isPrepared: true,
  sql: `WITH ${meant} SELECT s.id, ${meantOf(meansBy('s'))}, s.document, s.front_matter,
      coalesce((SELECT json_agg(json_build_object('path', path, 'content', content) ORDER BY path)
        FROM skill_files f WHERE f.skill_id = s.id), '[]') AS files
    FROM skills s WHERE s.id = ANY($records) ORDER BY s.id FOR UPDATE OF s`,
})
export const renameInSkill = statement('knowledge.rename-in-skill', {
  takes: {
    id: 'text',
    document: 'text',
    frontMatter: typed<FrontMatter>('jsonb'),
    search: typed<string>('tsvector'),
  },
  returns: 'count',
  sql: 'UPDATE skills SET document = $document, front_matter = $frontMatter, search = $search, version = version + 1 WHERE id = $id',
})

export const recordKinds = ['unit', 'skill'] as const
export type ErasableKind = (typeof recordKinds)[number]

export const heldByAgents = statement('knowledge.records-held', {
  takes: { agents: 'text[]' },
  returns: { n: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  variants: recordKinds,
  sql: (kind: ErasableKind) =>
    `SELECT count(*)::int AS n, min(created_at) AS since FROM ${kind}s WHERE agent_id = ANY($agents)`,
})

/** Records of agents, with the legal holds that cover them. */
export const recordsWithHolds = statement('knowledge.records-with-holds', {
  takes: { agents: 'text[]', now: 'timestamptz' },
  returns: { id: 'text', hold: 'text?' },
  isPrepared: true,
  variants: recordKinds,
  sql: (kind: ErasableKind) => `WITH ${knowledgeHoldsSql(kind, '$now')}
    SELECT t.id, ${knowledgeHoldSql} AS hold FROM ${kind}s t ${joinKnowledgeHolds('t')} WHERE t.agent_id = ANY($agents)`,
})

/** Single records, which no legal hold retains: a hold rejects the request before their erasure. */
export const recordsById = statement('knowledge.records-by-id', {
  takes: { ids: 'text[]' },
  returns: { id: 'text', hold: 'text?' },
  isPrepared: true,
  variants: recordKinds,
  sql: (kind: ErasableKind) => `SELECT id, NULL::text AS hold FROM ${kind}s WHERE id = ANY($ids)`,
})

/** Locks those of the items that an erasure of these agents or single units selects. */
export const lockUnits = statement('knowledge.lock-units', {
  takes: { items: 'text[]', agents: 'text[]', ids: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: 'SELECT id FROM units WHERE id = ANY($items) AND (agent_id = ANY($agents) OR id = ANY($ids)) ORDER BY id FOR UPDATE',
})

const dependentTables = ['unit_votes', 'unit_reports', 'sop_versions'] as const
const deleteDependents = statement('knowledge.delete-dependents', {
  takes: { ids: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: `WITH votes AS (DELETE FROM unit_votes WHERE unit_id = ANY($ids)), reports AS (DELETE FROM unit_reports WHERE unit_id = ANY($ids))
    DELETE FROM sop_versions WHERE unit_id = ANY($ids)`,
})
const deleteUnitRows = statement('knowledge.delete-units', {
  takes: { ids: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: 'DELETE FROM units WHERE id = ANY($ids)',
})
/**
 * Deletes dependent rows first, a page at a time: the database's cascade would process them row by row. Units have a statement of their
 * own, because triggers find the agent of a deleted version through its unit.
 */
export async function deleteUnits(on: Parameters<typeof deleteUnitRows>[0], ids: readonly string[]): Promise<void> {
  await deleteDependents(on, { ids })
  await deleteUnitRows(on, { ids })
}

/** Counts records of agents that no legal hold retains. */
export const countWithoutHold = statement('knowledge.residue-of-agents', {
  takes: { agents: 'text[]', now: 'timestamptz' },
  returns: { n: 'int4' },
  variants: recordKinds,
  sql: (kind: ErasableKind) => `WITH ${knowledgeHoldsSql(kind, '$now')}
    SELECT count(*)::int AS n FROM ${kind}s t ${joinKnowledgeHolds('t')} WHERE t.agent_id = ANY($agents) AND ${knowledgeHoldSql} IS NULL`,
})

const rowsById: Record<ErasableKind, readonly string[]> = {
  unit: ['units WHERE id', ...dependentTables.map((table) => `${table} WHERE unit_id`)],
  skill: ['skills WHERE id', 'skill_files WHERE skill_id'],
}
/** Counts rows under these ids in all tables that have such rows. */
export const countById = statement('knowledge.residue-by-id', {
  takes: { ids: 'text[]' },
  returns: { n: 'int4' },
  variants: recordKinds,
  sql: (kind: ErasableKind) =>
    `SELECT (${[...rowsById[kind], 'reputation_ledger WHERE subject_id']
      .map((rows) => `(SELECT count(*) FROM ${rows} = ANY($ids))`)
      .join(' + ')})::int AS n`,
})

/** Counts documents of other units that contain the id of an erased unit as their own. */
export const countDocumentsById = statement('knowledge.residue-in-documents', {
  takes: { ids: 'text[]' },
  returns: { n: 'int4' },
  sql: "SELECT count(*)::int AS n FROM units WHERE document->>'id' = ANY($ids) AND document->>'id' <> id AND id <> ALL($ids)",
})

/** Whether each record was ever visible outside its organization. */
export const identitiesOfRecords = statement('knowledge.record-identities', {
  takes: { ids: 'text[]' },
  returns: { id: 'text', wasPublic: 'bool' },
  isPrepared: true,
  variants: recordKinds,
  sql: (kind: ErasableKind) =>
    `SELECT id, was_public OR visibility = 'network' AS "wasPublic" FROM ${kind}s WHERE id = ANY($ids)`,
})

/** A unit that these agents, or an admin unless it is private, may erase, locked. */
export const lockErasableUnit = statement('knowledge.lock-erasable-unit', {
  takes: { id: 'text', agents: 'text[]', isAdmin: 'bool' },
  returns: { agent_id: 'text', attributed_to: 'text?', original_author: 'text?', version: 'int4', was_public: 'bool' },
  sql: `SELECT agent_id, attributed_to, original_author, version, was_public OR visibility = 'network' AS was_public
    FROM units WHERE id = $id AND (agent_id = ANY($agents) OR ($isAdmin AND visibility <> 'private')) FOR UPDATE`,
})

/** A skill that these agents, or an admin unless it is private, may erase, locked. */
export const lockErasableSkill = statement('knowledge.lock-erasable-skill', {
  takes: { id: 'text', agents: 'text[]', isAdmin: 'bool' },
  returns: { agent_id: 'text', version: 'int4', was_public: 'bool' },
  sql: `SELECT agent_id, version, was_public OR visibility = 'network' AS was_public
    FROM skills WHERE id = $id AND (agent_id = ANY($agents) OR ($isAdmin AND visibility <> 'private')) FOR UPDATE`,
})
