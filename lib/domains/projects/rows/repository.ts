import { statement } from '#lib/stores/postgres/statement.ts'
import {
  type AuthoredTable,
  type CoveredTable,
  coveredParameters,
  coveredSql,
  coveredTables,
  joinProjectHolds,
  projectHoldSql,
  projectHoldsSql,
  staysSql,
} from '../legal-holds.ts'
import { isByPersonSql } from '../words/repository.ts'

const authors = { kinds: 'text[]', ids: 'text[]' } as const
const covering = { ...coveredParameters, now: 'timestamptz' } as const
const planned = { id: 'text', hold: 'text?' } as const
const counted = { n: 'int4' } as const
const inventory = { n: 'int4', since: 'timestamptz?' } as const
const authoredTables: readonly AuthoredTable[] = ['messages', 'documents']
const sources: Record<AuthoredTable, string> = { messages: 'message', documents: 'document' }

export const authoredInventory = statement('projects.authored-inventory', {
  takes: authors,
  returns: inventory,
  isPrepared: true,
  variants: authoredTables,
  sql: (table: AuthoredTable) => `SELECT count(*)::int4 AS n, min(x.created_at) AS since
    FROM unnest($kinds, $ids) AS w(kind, id) JOIN ${table} x ON x.author_kind = w.kind AND x.author_id = w.id`,
})

const selectHeld = (table: AuthoredTable, where: string) => `WITH ${projectHoldsSql('$now')}
  SELECT x.id, ${projectHoldSql} AS hold FROM ${table} x ${joinProjectHolds('x')} WHERE ${where}`
const selectPlanned = (which: CoveredTable) => selectHeld(which.table, coveredSql(which))
/** The rows that a scope covers, with the legal holds that cover them. */
export const plannedRows = statement('projects.planned-rows', {
  takes: covering,
  returns: planned,
  isPrepared: true,
  variants: coveredTables,
  sql: selectPlanned,
})
/** How many of the rows that a scope covers are under no legal hold. */
export const countErasableRows = statement('projects.count-erasable-rows', {
  takes: covering,
  returns: counted,
  variants: coveredTables,
  sql: (which: CoveredTable) => `SELECT count(*)::int4 AS n FROM (${selectPlanned(which)}) AS f WHERE hold IS NULL`,
})

const nameOf: Record<AuthoredTable, string> = { messages: 'NULL::text', documents: 'x.name' }
const evidenceOf: Record<AuthoredTable, string> = {
  messages: `ARRAY['edits:' || (SELECT count(*) FROM message_edits e WHERE e.message_id = x.id),
    'attachments:' || (SELECT count(*) FROM attachments a WHERE a.message_id = x.id),
    'pointers:' || (SELECT count(*) FROM provenance v WHERE v.source_id = x.id)]`,
  documents: `ARRAY['chunks:' || (SELECT count(*) FROM document_chunks k WHERE k.document_id = x.id),
    'pointers:' || (SELECT count(*) FROM provenance v WHERE v.source_id = x.id)]`,
}
/** Planned rows with their display name, and `<what>:<count>` for the data that is deleted with each. */
export const explainedRows = statement('projects.explained-rows', {
  takes: covering,
  returns: { ...planned, name: 'text?', evidence: 'text[]' },
  isPrepared: true,
  variants: coveredTables,
  sql: (
    which: CoveredTable,
  ) => `SELECT f.id, f.hold, ${nameOf[which.table]} AS name, ${evidenceOf[which.table]} AS evidence
    FROM (${selectPlanned(which)}) AS f JOIN ${which.table} x ON x.id = f.id ORDER BY f.id`,
})

export const deleteRows = statement('projects.delete-rows', {
  takes: { ...coveredParameters, items: 'text[]' },
  returns: 'count',
  isPrepared: true,
  variants: coveredTables,
  sql: (which: CoveredTable) => `DELETE FROM ${which.table} x WHERE x.id = ANY($items) AND ${coveredSql(which)}`,
})
export const deletePointersOf = statement('projects.delete-pointers-of', {
  takes: { kind: 'text', sources: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: 'DELETE FROM provenance WHERE source_kind = $kind AND source_id = ANY($sources)',
})

const countBy = (column: string, tables: readonly string[]) =>
  tables.map((table) => `(SELECT count(*) FROM ${table} WHERE ${column} = ANY($items))`).join(' + ')
const remaining: Record<AuthoredTable, string> = {
  messages: countBy('message_id', ['message_edits', 'attachments']),
  documents: countBy('document_id', ['document_chunks']),
}
/** How many of the rows remain, with rows that a foreign key should have deleted. */
export const countRemainingRows = statement('projects.count-remaining-rows', {
  takes: { items: 'text[]' },
  returns: counted,
  variants: authoredTables,
  sql: (table: AuthoredTable) =>
    `SELECT (${countBy('id', [table])} + ${remaining[table]} + ${countBy('source_id', ['provenance'])})::int4 AS n`,
})
/** How many documents made from the messages remain, except those under legal hold. */
export const countDocumentsMadeFrom = statement('projects.count-documents-made-from', {
  takes: { messages: 'text[]', now: 'timestamptz' },
  returns: counted,
  sql: `SELECT count(*)::int4 AS n FROM (${selectHeld('documents', 'x.made_from = ANY($messages)')}) AS f WHERE hold IS NULL`,
})
export const identitiesOfRows = statement('projects.identities-of-rows', {
  takes: { items: 'text[]' },
  returns: { id: 'text', wasPublic: 'bool' },
  isPrepared: true,
  variants: authoredTables,
  sql: (table: AuthoredTable) => `SELECT id, false AS "wasPublic" FROM ${table} WHERE id = ANY($items)`,
})

const writtenPointers = (table: AuthoredTable) => `SELECT v.id, v.at FROM unnest($kinds, $ids) AS w(kind, id)
  JOIN ${table} x ON x.author_kind = w.kind AND x.author_id = w.id
  JOIN provenance v ON v.source_id = x.id AND v.source_kind = '${sources[table]}' AND v.store = 'outside'`
export const outsidePointerInventory = statement('projects.outside-pointer-inventory', {
  takes: authors,
  returns: inventory,
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n, min(at) AS since
    FROM (${writtenPointers('messages')} UNION ALL ${writtenPointers('documents')}) AS f`,
})
/** Outside pointers of the rows that a scope covers, except those of rows under legal hold. */
export const outsidePointers = statement('projects.outside-pointers', {
  takes: covering,
  returns: { id: 'text', ref: 'text', place: 'text' },
  isPrepared: true,
  variants: coveredTables,
  sql: (
    which: CoveredTable,
  ) => `SELECT v.id, v.ref, v.place FROM (${selectPlanned(which)}) AS f JOIN provenance v ON v.source_id = f.id
    WHERE f.hold IS NULL AND v.source_kind = '${sources[which.table]}' AND v.store = 'outside'`,
})
/** Deletes pointers, and counts them by place. */
export const deleteOutsidePointers = statement('projects.delete-outside-pointers', {
  takes: { items: 'text[]' },
  returns: { place: 'text', n: 'int4' },
  isPrepared: true,
  sql: `WITH deleted AS (DELETE FROM provenance WHERE id = ANY($items) AND store = 'outside' RETURNING place)
    SELECT place, count(*)::int4 AS n FROM deleted GROUP BY place ORDER BY place`,
})
export const countPointers = statement('projects.count-pointers', {
  takes: { items: 'text[]' },
  returns: counted,
  sql: 'SELECT count(*)::int4 AS n FROM provenance WHERE id = ANY($items)',
})

const memberItem = "m.project_id || '/' || m.kind || '/' || m.member_id"
export const memberInventory = statement('projects.member-inventory', {
  takes: authors,
  returns: inventory,
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n, min(m.added_at) AS since FROM unnest($kinds, $ids) AS w(kind, id)
    JOIN project_members m ON m.kind = w.kind AND m.member_id = w.id`,
})
export type MemberScope = 'subject' | 'project'
const memberScopes: Record<MemberScope, string> = {
  subject: '(m.kind, m.member_id) IN (SELECT w.kind, w.id FROM unnest($kinds, $ids) AS w(kind, id))',
  project: 'm.project_id = $project',
}
const selectMembers = (scope: MemberScope) => `WITH ${projectHoldsSql('$now')} SELECT ${memberItem} AS id, h.hold
  FROM project_members m LEFT JOIN held_projects h ON h.id = m.project_id WHERE ${memberScopes[scope]}`
const memberTypes = { ...authors, project: 'text?', now: 'timestamptz' } as const
/** Memberships of the subject or of the project. An id is `<project>/<kind>/<member>`. */
export const plannedMembers = statement('projects.planned-members', {
  takes: memberTypes,
  returns: planned,
  isPrepared: true,
  variants: ['subject', 'project'],
  sql: selectMembers,
})
export const countErasableMembers = statement('projects.count-erasable-members', {
  takes: memberTypes,
  returns: counted,
  variants: ['subject', 'project'],
  sql: (scope: MemberScope) => `SELECT count(*)::int4 AS n FROM (${selectMembers(scope)}) AS f WHERE hold IS NULL`,
})
export const countMembers = statement('projects.count-members', {
  takes: { items: 'text[]' },
  returns: counted,
  sql: `SELECT count(*)::int4 AS n FROM project_members m WHERE ${memberItem} = ANY($items)`,
})
/** Deletes memberships and returns the project of each. In an item, only the id of the member may contain slashes. */
export const deleteMembers = statement('projects.delete-members', {
  takes: { items: 'text[]' },
  returns: { project_id: 'text' },
  isPrepared: true,
  sql: `DELETE FROM project_members m USING (
      SELECT split_part(i, '/', 1) AS project_id, split_part(i, '/', 2) AS kind,
        substr(i, length(split_part(i, '/', 1)) + length(split_part(i, '/', 2)) + 3) AS member_id FROM unnest($items) AS i) AS i
    WHERE m.project_id = i.project_id AND m.kind = i.kind AND m.member_id = i.member_id RETURNING m.project_id`,
})
/** In projects without an owner, makes the member who joined first the owner. */
export const appointOwners = statement('projects.appoint-owners', {
  takes: { projects: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: `UPDATE project_members m SET role = 'owner' FROM (
      SELECT DISTINCT ON (n.project_id) n.project_id, n.kind, n.member_id FROM project_members n WHERE n.project_id = ANY($projects)
        AND NOT EXISTS (SELECT FROM project_members o WHERE o.project_id = n.project_id AND o.role = 'owner')
      ORDER BY n.project_id, n.added_at, n.kind, n.member_id) AS f
    WHERE m.project_id = f.project_id AND m.kind = f.kind AND m.member_id = f.member_id`,
})

/** Maximum number of pointers that {@link reportedPointers} returns. */
export const maxReportedPointers = 1_000
/** Keys and outside references of a project after an id, reported since a time. */
export const reportedPointers = statement('projects.reported-pointers', {
  takes: { project: 'text', after: 'text', since: 'timestamptz' },
  returns: { id: 'text', source_id: 'text', store: 'text', ref: 'text', place: 'text' },
  isPrepared: true,
  sql: `SELECT id, source_id, store, ref, place FROM provenance WHERE project_id = $project AND id > $after AND at >= $since
      AND store IN ('cache', 'objects', 'outside') ORDER BY id LIMIT ${maxReportedPointers}`,
})

/** SQL: whether a message may quote the oldest erased one. Clients state `created_at`; we note when we stored or changed a message. */
const isLaterMessage = '(x.created_at >= $since OR x.updated_at >= $since)'
/** Maximum number of messages that {@link machineMessages} returns. */
export const maxMachineMessages = 500
const joinContainers = 'JOIN conversations c ON c.id = x.conversation_id JOIN projects p ON p.id = x.project_id'
const isFree = `${projectHoldSql} IS NULL AND ${staysSql('x', 'c.erasing_since IS NOT NULL OR p.erasing_since IS NOT NULL')}`

/** Messages of assistants, tools and system prompts after an id, except those that are being erased or under legal hold. */
export const machineMessages = statement('projects.machine-messages', {
  takes: { project: 'text', after: 'text', since: 'timestamptz', now: 'timestamptz' },
  returns: { id: 'text', content: 'text', edits: 'text[]', contents: 'text[]', files: 'text[]', names: 'text[]' },
  isPrepared: true,
  sql: `WITH ${projectHoldsSql('$now')}
    SELECT x.id, x.content, ARRAY(SELECT e.id FROM message_edits e WHERE e.message_id = x.id ORDER BY e.id) AS edits,
      ARRAY(SELECT e.content FROM message_edits e WHERE e.message_id = x.id ORDER BY e.id) AS contents,
      ARRAY(SELECT a.id FROM attachments a WHERE a.message_id = x.id ORDER BY a.id) AS files,
      ARRAY(SELECT a.name FROM attachments a WHERE a.message_id = x.id ORDER BY a.id) AS names
    FROM messages x ${joinContainers} ${joinProjectHolds('x')}
    WHERE x.project_id = $project AND x.id > $after AND ${isLaterMessage} AND NOT ${isByPersonSql.messages} AND ${isFree}
    ORDER BY x.id LIMIT ${maxMachineMessages}`,
})

/** Records whose texts no person wrote: messages, artifacts, titles of conversations, names of projects, and reported references. */
export const quotingKinds = ['messages', 'artifacts', 'titles', 'names', 'references'] as const
export type QuotingKind = (typeof quotingKinds)[number]
/** Maximum number of records that {@link quotingRecords} returns. */
export const maxQuoting: Record<QuotingKind, number> = {
  messages: 200,
  artifacts: 20,
  titles: 1_000,
  names: 1_000,
  references: 1_000,
}
/** A title by a person has that person as its author. */
const isTitledByMachine = `x.created_by NOT LIKE 'user:%'`
const quotingSql: Record<QuotingKind, { columns: string; from: string; where: string }> = {
  messages: {
    columns: `x.project_id AS project, ARRAY[x.content] || ARRAY(SELECT e.content FROM message_edits e WHERE e.message_id = x.id ORDER BY e.edited_at, e.id)
        || ARRAY(SELECT a.name FROM attachments a WHERE a.message_id = x.id ORDER BY a.id) AS texts,
      coalesce((SELECT max(e.edited_at) FROM message_edits e WHERE e.message_id = x.id), x.created_at) AS at`,
    from: `messages x ${joinContainers} ${joinProjectHolds('x')}`,
    where: `NOT ${isByPersonSql.messages} AND ${staysSql('x', 'c.erasing_since IS NOT NULL OR p.erasing_since IS NOT NULL')}`,
  },
  artifacts: {
    columns: `x.project_id AS project, ARRAY[x.name] || ARRAY(SELECT k.content FROM document_chunks k WHERE k.document_id = x.id ORDER BY k.position) AS texts,
      x.updated_at AS at`,
    from: `documents x JOIN projects p ON p.id = x.project_id ${joinProjectHolds('x')}`,
    where: `NOT ${isByPersonSql.documents} AND ${staysSql('x', 'p.erasing_since IS NOT NULL')}`,
  },
  titles: {
    columns: 'x.project_id AS project, ARRAY[x.title] AS texts, x.updated_at AS at',
    from: 'conversations x LEFT JOIN held_projects hp ON hp.id = x.project_id',
    where: `${isTitledByMachine} AND x.erasing_since IS NULL AND x.title <> ''`,
  },
  names: {
    columns: 'x.id AS project, ARRAY[x.name] AS texts, x.updated_at AS at',
    from: 'projects x LEFT JOIN held_projects hp ON hp.id = x.id',
    where: `${isTitledByMachine} AND x.erasing_since IS NULL AND x.name <> ''`,
  },
  references: {
    columns: 'x.project_id AS project, ARRAY[x.ref, x.place] AS texts, x.at',
    from: 'provenance x LEFT JOIN held_projects hp ON hp.id = x.project_id',
    where: `x.store IN ('cache', 'objects', 'outside')`,
  },
}
const holdOf: Record<QuotingKind, string> = {
  messages: projectHoldSql,
  artifacts: projectHoldSql,
  titles: 'hp.hold',
  names: 'hp.hold',
  references: 'hp.hold',
}

/** A page of these records, in any project, after an id. */
export const quotingRecords = statement('projects.quoting-records', {
  takes: { after: 'text' },
  returns: { id: 'text', project: 'text', texts: 'text[]', at: 'timestamptz' },
  isPrepared: true,
  variants: quotingKinds,
  sql: (kind: QuotingKind) => `WITH ${projectHoldsSql('now()')}
    SELECT x.id, ${quotingSql[kind].columns} FROM ${quotingSql[kind].from}
    WHERE x.id > $after AND ${quotingSql[kind].where} ORDER BY x.id LIMIT ${maxQuoting[kind]}`,
})

/** The kinds of records that every erasure changes in its projects, and the time since which it searches them. */
const searchedKinds = { messages: isLaterMessage, references: 'x.at >= $since' } as const
export type SearchedKind = keyof typeof searchedKinds
/** A page of the records of a project that verification searches, after an id, except those under legal hold. */
export const quotingRecordsWithin = statement('projects.quoting-records-within', {
  takes: { project: 'text', after: 'text', since: 'timestamptz', now: 'timestamptz' },
  returns: { id: 'text', texts: 'text[]' },
  isPrepared: true,
  variants: ['messages', 'references'],
  sql: (
    kind: SearchedKind,
  ) => `WITH ${projectHoldsSql('$now')}, records AS (SELECT x.id, ${quotingSql[kind].columns} FROM ${quotingSql[kind].from}
      WHERE x.project_id = $project AND x.id > $after AND ${searchedKinds[kind]} AND ${quotingSql[kind].where} AND ${holdOf[kind]} IS NULL)
    SELECT id, texts FROM records ORDER BY id LIMIT ${maxQuoting[kind]}`,
})

/** Those of these records that exist and are not under legal hold. Locks them. */
export const changeableRecords = statement('projects.changeable-records', {
  takes: { ids: 'text[]', now: 'timestamptz' },
  returns: { id: 'text' },
  isPrepared: true,
  variants: quotingKinds,
  sql: (kind: QuotingKind) => `WITH ${projectHoldsSql('$now')}
    SELECT x.id FROM ${quotingSql[kind].from} WHERE x.id = ANY($ids) AND ${quotingSql[kind].where} AND ${holdOf[kind]} IS NULL
    ORDER BY x.id FOR UPDATE OF x`,
})
