import type { Sop, Visibility } from '#lib/domains/knowledge/contract.ts'
import { listedRows } from '#lib/domains/knowledge/search/repository.ts'
import type { InstructionField } from '#lib/domains/sanitizer/contract.ts'
import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'
import { visibleTo } from '../repository.ts'

const newestApproved = (column: string): string =>
  `(SELECT v.${column} FROM sop_versions v WHERE v.unit_id = u.id AND v.approved_at IS NOT NULL ORDER BY v.version DESC LIMIT 1)`
const currentVersion = '(SELECT max(v.version) FROM sop_versions v WHERE v.unit_id = u.id)'
/** Columns of {@link SopRow} for the unit `u`. */
const sopColumns = `u.id, u.agent_id, u.organisation_id, u.document, u.visibility, u.quality_score, u.instructions, u.version, u.created_at, u.updated_at,
  ${currentVersion} AS current_version, ${newestApproved('version')} AS approved_version, ${newestApproved('approved_at')} AS approved_at`
const sopRow = {
  id: 'text',
  agent_id: 'text',
  organisation_id: 'text',
  document: typed<Sop>('jsonb'),
  visibility: typed<Visibility>('visibility'),
  quality_score: 'float8',
  instructions: typed<InstructionField[] | null>('jsonb?'),
  /** Version of the row, which every change increments. */
  version: 'int4',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  /** Number of the current version of the SOP. */
  current_version: 'int4',
  /** Number of the newest approved version of the SOP. */
  approved_version: 'int4?',
  approved_at: 'timestamptz?',
} as const
export type SopRow = RowOf<typeof sopRow>

const reader = { agents: 'text[]', organisation: 'text?', admin: 'bool' } as const
const selectVisible = `SELECT ${sopColumns} FROM units u
  WHERE u.id = $id AND u.type = 'ExpertSOP' AND ${visibleTo('$agents', '$organisation', '$admin')}`

/** The SOP, if the reader may see it. */
export const visibleSop = statement('knowledge.visible-sop', {
  takes: { id: 'text', ...reader },
  returns: sopRow,
  isPrepared: true,
  sql: selectVisible,
})
/** Like {@link visibleSop}, for a transaction that locked or changes the SOP. */
export const visibleSopWithin = statement('knowledge.visible-sop-within', {
  takes: { id: 'text', ...reader },
  returns: sopRow,
  sql: selectVisible,
})
/** The SOP, without checking access. */
export const sopById = statement('knowledge.sop-by-id', {
  takes: { id: 'text' },
  returns: sopRow,
  sql: `SELECT ${sopColumns} FROM units u WHERE u.id = $id`,
})
export const listedSops = listedRows('knowledge.sops', { table: 'units', returns: sopRow, columns: sopColumns })
export const lockSop = statement('knowledge.lock-sop', {
  takes: { id: 'text' },
  returns: 'count',
  sql: "SELECT FROM units WHERE id = $id AND type = 'ExpertSOP' FOR UPDATE",
})
/** The locked SOP, if the actor may change it: the author and its owner may, and admins unless it is private. */
export const lockChangeableSop = statement('knowledge.lock-changeable-sop', {
  takes: { id: 'text', agents: 'text[]', isAdmin: 'bool' },
  returns: {
    agent_id: 'text',
    attributed_to: 'text?',
    original_author: 'text?',
    document: typed<Sop>('jsonb'),
    version: 'int4',
    current_version: 'int4',
    quality_score: 'float8',
    quarantined_at: 'timestamptz?',
    visibility: typed<Visibility>('visibility'),
    restricted: 'bool',
  },
  sql: `SELECT u.agent_id, u.attributed_to, u.original_author, u.document, u.version, u.visibility, ${currentVersion} AS current_version,
      u.quality_score, u.quarantined_at, EXISTS (SELECT FROM restricted_agents r WHERE r.id = u.agent_id) AS restricted
    FROM units u
    WHERE u.id = $id AND u.type = 'ExpertSOP' AND (u.agent_id = ANY($agents) OR ($isAdmin AND u.visibility <> 'private')) FOR UPDATE`,
})

/** Overwrites the SOP's row with its new version. `document` is JSON. */
export const updateSop = statement('knowledge.update-sop', {
  takes: {
    id: 'text',
    document: 'text',
    domain: 'text',
    attributedTo: 'text?',
    quality: 'float8',
    now: 'timestamptz',
    quarantinedAt: 'timestamptz?',
    visibility: typed<Visibility>('visibility'),
    search: typed<string>('tsvector'),
    instructions: typed<readonly InstructionField[]>('jsonb'),
  },
  returns: 'count',
  sql: `UPDATE units SET document = $document::jsonb, attributed_to = $attributedTo, visibility = $visibility, domain = $domain,
      search = $search, instructions = nullif($instructions, '[]'::jsonb), was_public = was_public OR (visibility = 'network' AND $visibility <> 'network'),
      quality_score = $quality, quarantined_at = $quarantinedAt, version = version + 1, updated_at = $now
    WHERE id = $id`,
})
/** Adds a version with the next number. `document` is JSON. */
export const insertVersion = statement('knowledge.insert-version', {
  takes: { unit: 'text', document: 'text', actor: 'text', now: 'timestamptz' },
  returns: 'count',
  sql: `INSERT INTO sop_versions (unit_id, version, document, created_by, created_at)
    SELECT $unit, coalesce(max(version), 0) + 1, $document::jsonb, $actor, $now FROM sop_versions WHERE unit_id = $unit`,
})
/** SQL: who answers for an actor as the audit log names actors: the person, the owner of the agent, or an agent without an owner. */
const answeringSql = (actor: string): string =>
  `coalesce((SELECT 'user:' || o.owner_id FROM agent_owners o WHERE o.id = ${actor}), ${actor})`
/** `isOwn`: the person who answers for the actor also answers for the author of the version or of the SOP. */
export const approvalOfVersion = statement('knowledge.approval-of-version', {
  takes: { unit: 'text', version: 'int4', actor: 'text' },
  returns: { approved_at: 'timestamptz?', visibility: 'text', isOwn: 'bool!' },
  sql: `SELECT v.approved_at, v.document->'metadata'->>'visibility' AS visibility,
      ${answeringSql('$actor')} IN (${answeringSql('v.created_by')}, ${answeringSql('u.agent_id')}) AS "isOwn"
    FROM sop_versions v JOIN units u ON u.id = v.unit_id WHERE v.unit_id = $unit AND v.version = $version`,
})
/** Deletes a version; a private one only for its author. */
export const deleteVersion = statement('knowledge.delete-version', {
  takes: { unit: 'text', version: 'int4', isOwn: 'bool' },
  returns: 'count',
  sql: `DELETE FROM sop_versions v WHERE v.unit_id = $unit AND v.version = $version
    AND (v.document->'metadata'->>'visibility' <> 'private' OR $isOwn)`,
})

const versionColumns = 'v.version, v.created_by, v.created_at, v.approved_by, v.approved_at'
const versionRow = {
  version: 'int4',
  created_by: 'text',
  created_at: 'timestamptz',
  approved_by: 'text?',
  approved_at: 'timestamptz?',
} as const
export type VersionRow = RowOf<typeof versionRow>

/** Which versions of an SOP that the reader can see it may read. */
const readerOfVersions = {
  unit: 'text',
  /** It is the reader's own, which allows all versions. */
  isOwn: 'bool',
  admin: 'bool',
  /** The SOP belongs to the reader's organization. */
  isOfOrganisation: 'bool',
  current: 'int4',
  approved: 'int4?',
} as const
/**
 * Of others' SOPs, only versions that were shared with the reader while current; of these an admin reads all, everyone else the current one
 * and the newest approved one. A version that was private stays private when a later one is shared.
 */
const readable = `v.unit_id = $unit AND ($isOwn OR (
  v.document->'metadata'->>'visibility' = ANY(CASE WHEN $isOfOrganisation THEN '{network,org}' ELSE '{network}' END::text[])
  AND ($admin OR v.version IN ($current, $approved))))`

/** Versions without their text, newest first, that are older than `before`, if given. */
export const versionsPage = statement('knowledge.versions-page', {
  takes: { ...readerOfVersions, before: 'int4?', limit: 'int4', offset: 'int4' },
  returns: versionRow,
  isPrepared: true,
  sql: `SELECT ${versionColumns} FROM sop_versions v WHERE ${readable} AND ($before IS NULL OR v.version < $before)
    ORDER BY v.version DESC LIMIT $limit OFFSET $offset`,
})
/** Number of versions; counting stops at 1,001. */
export const countVersions = statement('knowledge.count-versions', {
  takes: readerOfVersions,
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n FROM (SELECT FROM sop_versions v WHERE ${readable} LIMIT 1001) AS c`,
})
export const readableVersion = statement('knowledge.readable-version', {
  takes: { ...readerOfVersions, version: 'int4' },
  returns: { ...versionRow, document: typed<Sop>('jsonb') },
  isPrepared: true,
  sql: `SELECT ${versionColumns}, v.document FROM sop_versions v WHERE ${readable} AND v.version = $version`,
})
