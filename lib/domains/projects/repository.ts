import { maxNamesCompared } from '#lib/kernel/name-search.ts'
import { scopeSign } from '#lib/kernel/scoped-ids.ts'
import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'
import { newestFirst, pageTypes } from './list-page.ts'
import {
  memberProjectsSql,
  possibleSql,
  projectManagersSql,
  projectRoleSql,
  readerTypes,
  servedAuthorSql,
} from './readable-rows.ts'
import type { MemberKind, MemberRole, ProjectStatus } from './rules.ts'

const access = {
  role: typed<MemberRole | null>('project_role?'),
  office: typed<'manager' | 'admin' | null>('text?'),
} as const
const accessSql = `${projectRoleSql} AS role, ${projectManagersSql} AS office`

const seenColumns = {
  ...access,
  id: 'text',
  organisationId: 'text',
  status: typed<ProjectStatus>('project_status'),
  groupId: 'text',
  region: 'text?',
  createdAt: 'timestamptz',
  closingAt: 'timestamptz?',
  closesAt: 'timestamptz?',
  erasingSince: 'timestamptz?',
} as const
/** A project with the reader's role in it and office over it. */
export type SeenProject = RowOf<typeof seenColumns>
/** `change` waits for concurrent changes of the project. */
export type ProjectLock = 'none' | 'change'

export const projectOfReader = statement('projects.of-reader', {
  takes: { ...readerTypes, id: 'text' },
  returns: seenColumns,
  isPrepared: true,
  variants: ['none', 'change'],
  sql: (
    lock: ProjectLock,
  ) => `SELECT p.id, p.organisation_id AS "organisationId", p.status, p.group_id AS "groupId", p.region,
      p.created_at AS "createdAt", p.closing_at AS "closingAt", p.closes_at AS "closesAt", p.erasing_since AS "erasingSince", ${accessSql}
    FROM projects p WHERE p.id = $id${lock === 'change' ? ' FOR NO KEY UPDATE OF p' : ''}`,
})

const projectColumns = {
  ...access,
  id: 'text',
  name: 'text',
  status: typed<ProjectStatus>('project_status'),
  group_id: 'text',
  region: 'text?',
  entity_kinds: typed<Record<string, 'person' | 'business'>>('jsonb'),
  allows_redaction: 'bool',
  members: 'int4',
  conversations: 'int4',
  documents: 'int4',
  participants: 'int4',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  closing_at: 'timestamptz?',
  closes_at: 'timestamptz?',
  is_held: 'bool',
  erasing_since: 'timestamptz?',
  closed_at: 'timestamptz?',
  receipt_id: 'text?',
} as const
export type ProjectRow = RowOf<typeof projectColumns>
const selectProjects = `SELECT p.id, p.name, p.status, ${accessSql}, p.group_id, p.region, p.entity_kinds, p.allows_redaction,
    (SELECT count(*)::int4 FROM project_members c WHERE c.project_id = p.id) AS members,
    (SELECT count(*)::int4 FROM conversations c WHERE c.project_id = p.id AND c.erasing_since IS NULL) AS conversations,
    (SELECT count(*)::int4 FROM documents c WHERE c.project_id = p.id AND c.erasing_since IS NULL) AS documents,
    (SELECT count(*)::int4 FROM project_participants c WHERE c.project_id = p.id) AS participants,
    p.created_at, p.updated_at, p.closing_at, p.closes_at, p.erasing_since, p.closed_at, p.receipt_id,
    EXISTS (SELECT FROM holds_in_force h WHERE h.kind = 'project' AND h.target_id = p.id
      AND (h.expires_at IS NULL OR h.expires_at > $now)) AS is_held
  FROM projects p`

export const projectForReader = statement('projects.for-reader', {
  takes: { ...readerTypes, now: 'timestamptz', id: 'text' },
  returns: projectColumns,
  isPrepared: true,
  sql: `${selectProjects} WHERE p.id = $id`,
})

const listedTypes = { ...readerTypes, all: 'bool', status: 'text?' } as const
const listed = `((p.id IN ${memberProjectsSql} AND p.organisation_id = $organisation) OR ($all AND ${projectManagersSql} IS NOT NULL))
  AND ($status IS NULL OR p.status::text = $status)`

/** Projects of the reader, newest first; with `all`, also those that the reader's office may see. */
export const projectsPage = statement('projects.page', {
  takes: { ...listedTypes, ...pageTypes, now: 'timestamptz' },
  returns: projectColumns,
  isPrepared: true,
  sql: `${selectProjects} WHERE ${listed} AND ${newestFirst('p.created_at', 'p.id')}`,
})

export const countListedProjects = statement('projects.count-listed', {
  takes: listedTypes,
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM projects p WHERE ${listed}`,
})

/** Inserts nothing if another project has the group id. */
export const insertProject = statement('projects.insert', {
  takes: {
    id: 'text',
    organisation: 'text',
    name: 'text',
    group: 'text',
    region: 'text?',
    entityKinds: 'jsonb',
    createdBy: 'text',
    now: 'timestamptz',
  },
  returns: 'count',
  sql: `INSERT INTO projects (id, organisation_id, name, group_id, region, entity_kinds, created_by, created_at, updated_at)
    VALUES ($id, $organisation, $name, $group, $region, $entityKinds, $createdBy, $now, $now) ON CONFLICT (group_id) DO NOTHING`,
})

/** The regions that conversations of a project require themselves. */
export const regionsOfConversations = statement('projects.regions-of-conversations', {
  takes: { project: 'text' },
  returns: { region: 'text!' },
  isPrepared: true,
  sql: 'SELECT DISTINCT region FROM conversations WHERE project_id = $project AND region IS NOT NULL',
})

/** Moves projects of which the agent is the only member to the agent's organization. */
export const moveProjectsOfAgent = statement('projects.move-with-agent', {
  takes: { agent: 'text' },
  returns: 'count',
  sql: `UPDATE projects p SET organisation_id = n.organisation_id FROM agent_names n
    WHERE n.id = $agent AND p.organisation_id <> n.organisation_id
      AND p.id IN (SELECT project_id FROM project_members WHERE kind = 'agent' AND member_id = $agent)
      AND NOT EXISTS (SELECT FROM project_members m WHERE m.project_id = p.id AND NOT (m.kind = 'agent' AND m.member_id = $agent))`,
})

const memberColumns = {
  kind: typed<MemberKind>('text'),
  member_id: 'text',
  role: typed<MemberRole>('project_role'),
  added_at: 'timestamptz',
  name: 'text?',
} as const
export type MemberRow = RowOf<typeof memberColumns>
const selectMembers = `SELECT m.kind, m.member_id, m.role, m.added_at,
  CASE WHEN NOT ${servedAuthorSql('m.kind', 'm.member_id', '$reader')} THEN NULL ELSE CASE m.kind
    WHEN 'account' THEN (SELECT n.name FROM account_names n WHERE n.id = m.member_id)
    ELSE (SELECT coalesce(n.name, n.id) FROM agent_names n WHERE n.id = m.member_id) END END AS name
  FROM project_members m WHERE m.project_id = $project`

export const membersPage = statement('projects.members-page', {
  takes: { project: 'text', ...pageTypes, reader: 'text?' },
  returns: memberColumns,
  isPrepared: true,
  sql: `${selectMembers} AND ${newestFirst('m.added_at', 'm.member_id')}`,
})

export const memberOfProject = statement('projects.member', {
  takes: { project: 'text', kind: 'text', id: 'text', reader: 'text?' },
  returns: memberColumns,
  isPrepared: true,
  sql: `${selectMembers} AND m.kind = $kind AND m.member_id = $id`,
})

/** Adds a member, or changes the role of one. */
export const setMember = statement('projects.set-member', {
  takes: {
    project: 'text',
    kind: 'text',
    id: 'text',
    role: typed<MemberRole>('project_role'),
    addedBy: 'text',
    now: 'timestamptz',
  },
  returns: 'count',
  sql: `INSERT INTO project_members (project_id, kind, member_id, role, added_by, added_at)
    VALUES ($project, $kind, $id, $role, $addedBy, $now)
    ON CONFLICT (project_id, kind, member_id) DO UPDATE SET role = excluded.role`,
})

/** One row if the organization has this agent, or this person with an open account. */
export const findInOrganisation = statement('projects.find-in-organisation', {
  takes: { kind: 'text', id: 'text', organisation: 'text' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT n.id FROM account_names n WHERE $kind = 'account' AND n.id = $id AND n.organisation_id = $organisation AND n.is_open
    UNION ALL SELECT n.id FROM agent_names n WHERE $kind = 'agent' AND n.id = $id AND n.organisation_id = $organisation`,
})

export type ChosenIdKind = 'conversation' | 'message' | 'document'
/** The stored ids of records that clients name, in one project. */
export const storedIdsOf = statement('projects.stored-ids', {
  takes: { project: 'text', given: 'text[]' },
  returns: { given: 'text', id: 'text' },
  isPrepared: true,
  variants: ['conversation', 'message', 'document'],
  sql: (kind: ChosenIdKind) => `SELECT g.given, x.id FROM unnest($given) AS g(given)
    JOIN ${{ conversation: 'conversations', message: 'messages', document: 'documents' }[kind]} x
      ON x.id = ANY(${possibleSql('$project', 'g.given')}) AND x.project_id = $project`,
})

/** The stored id of an erased part, from erasure records of the project. */
export const erasedStoredId = statement('projects.erased-stored-id', {
  takes: { project: 'text', kind: 'text', given: 'text' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT id FROM (
      SELECT part_id AS id FROM erasure_scopes
        WHERE project_id = $project AND part_kind = $kind AND part_id = ANY(${possibleSql('$project', '$given')})
      UNION ALL SELECT e.id FROM erased_records e WHERE e.id = $project || '${scopeSign}' || $given) AS f LIMIT 1`,
})

/**
 * Finds ids that were erased before ids were stored with their project. The erasure of a part names its project. The erasure of a person or
 * agent does not, so such an id is rejected in every project, unless it was generated: generated ids are unique.
 */
export const findFormerlyErased = statement('projects.find-formerly-erased', {
  takes: { project: 'text', id: 'text' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT e.id FROM erased_records e JOIN erasure_scopes r ON r.receipt_id = e.receipt_id
    WHERE e.id = $id AND (r.project_id = $project OR (r.part_kind IS NULL AND e.id !~ '^[a-z]{2,8}_[0-9A-Za-z]{22}$'))`,
})

/** The organizations in `ids` and those of `projects`, with every other organization that has assigned prefixes. */
export const keySpaceClaimants = statement('projects.key-space-claimants', {
  takes: { ids: 'text[]', projects: 'text[]' },
  returns: { id: 'text', is_own: 'bool', namespaces: 'text[]', isAny: 'bool' },
  isPrepared: true,
  sql: `SELECT o.id, o.is_own, o.namespaces, CASE WHEN o.is_own THEN o.is_any ELSE false END AS "isAny"
    FROM (SELECT n.*, n.id = ANY($ids)
        OR EXISTS (SELECT FROM projects p WHERE p.id = ANY($projects) AND p.organisation_id = n.id) AS is_own
      FROM organisation_namespaces n) AS o
    WHERE o.is_own OR cardinality(o.namespaces) > 0`,
})

/**
 * The projects and people that a name identifies. `ids`: ids that cannot be words; `names`: also external ids of participants. `author`:
 * the author of a message or document, or the person. Of participants also the external id and the organization of their project.
 */
export const ownersNamed = statement('projects.owners-named', {
  takes: { ids: 'text[]', names: 'text[]' },
  returns: {
    kind: 'text',
    id: 'text',
    project: 'text?',
    author: 'text?',
    organisation: 'text?',
    external_id: 'text?',
  },
  isPrepared: true,
  sql: `SELECT o.*, NULL::text AS organisation, NULL::text AS external_id FROM (
      SELECT 'project' AS kind, id, id AS project, NULL::text AS author FROM projects WHERE id = ANY($ids) OR group_id = ANY($ids)
      UNION ALL SELECT 'conversation', id, project_id, NULL FROM conversations WHERE id = ANY($ids)
      UNION ALL SELECT 'conversation', id, project_id, NULL FROM conversations WHERE threads && $ids
      UNION ALL SELECT 'message', id, project_id, author_id FROM messages WHERE id = ANY($ids)
      UNION ALL SELECT 'document', id, project_id, author_id FROM documents WHERE id = ANY($ids)
      UNION ALL SELECT 'account', id, NULL, id FROM account_names WHERE id = ANY($ids)) o
    UNION ALL SELECT 'participant', r.id, r.project_id, r.id, p.organisation_id, r.external_id
      FROM project_participants r LEFT JOIN projects p ON p.id = r.project_id
      WHERE r.id = ANY($ids) OR r.external_id = ANY($names)`,
})

const isOther = (region: string) => `(${region} IS NOT NULL AND NOT ${region} = ANY($except))`
/** Projects with data that require, or of which a conversation requires, a region other than the given ones. */
const requireOther = `p.status <> 'closed' AND (${isOther('p.region')}
  OR EXISTS (SELECT FROM conversations c WHERE c.project_id = p.id AND ${isOther('c.region')}))`
export const countProjectsInRegions = statement('projects.count-in-regions', {
  takes: { except: 'text[]' },
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int4 AS n FROM projects p WHERE ${requireOther}`,
})
export const oldestProjectsInRegions = statement('projects.oldest-in-regions', {
  takes: { except: 'text[]', limit: 'int4' },
  returns: { id: 'text' },
  sql: `SELECT p.id FROM projects p WHERE ${requireOther} ORDER BY p.created_at, p.id LIMIT $limit`,
})

/** Projects whose name or id matches, as the list of projects shows them to the reader. */
export const foundProjects = statement('projects.found', {
  takes: { ...listedTypes, one: 'text', other: 'text', start: 'text', id: 'text', limit: 'int4' },
  returns: { id: 'text', name: 'text' },
  sql: `SELECT f.id, f.name FROM (SELECT p.id, p.name FROM projects p
      WHERE (lower(p.name) LIKE $one OR lower(p.name) LIKE $other OR p.id = $id) AND ${listed} LIMIT ${maxNamesCompared}) f
    ORDER BY f.id = $id DESC, lower(f.name) LIKE $start DESC, f.name, f.id LIMIT $limit`,
})

/** Counts a subject's documents and the attachments of its messages. */
export const filesOf = statement('objects.files-of-subject', {
  takes: { kinds: 'text[]', ids: 'text[]' },
  returns: { count: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: `WITH writer AS (SELECT * FROM unnest($kinds, $ids) AS w(kind, id)),
      own AS (
        SELECT a.created_at FROM messages m JOIN attachments a ON a.message_id = m.id
          WHERE (m.author_kind, m.author_id) IN (SELECT kind, id FROM writer)
        UNION ALL SELECT d.created_at FROM documents d WHERE (d.author_kind, d.author_id) IN (SELECT kind, id FROM writer))
    SELECT count(*)::int4 AS count, min(created_at) AS since FROM own`,
})

type SavepointAction = 'SAVEPOINT' | 'RELEASE SAVEPOINT' | 'ROLLBACK TO SAVEPOINT'
/** The savepoint of one imported line. */
export const changeLineSavepoint = statement('projects.import-line-savepoint', {
  takes: {},
  returns: 'count',
  variants: ['SAVEPOINT', 'RELEASE SAVEPOINT', 'ROLLBACK TO SAVEPOINT'],
  sql: (action: SavepointAction) => `${action} import_line`,
})
