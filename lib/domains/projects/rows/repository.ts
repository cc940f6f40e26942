import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import { statement } from '#lib/stores/postgres/statement.ts'
import {
  type AuthoredTable,
  type CoveredTable,
  conversationHold,
  coveredParameters,
  coveredSql,
  coveredTables,
  joinProjectHolds,
  projectActorsOf,
  projectHold,
  projectHoldSql,
  projectHoldsSql,
  scopePart,
  scopeSubject,
  staysSql,
  writersOf,
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

/** A page of these records, in any project, after an id, up to an id or the last one. */
export const quotingRecords = statement('projects.quoting-records', {
  takes: { after: 'text', last: 'text?' },
  returns: { id: 'text', project: 'text', texts: 'text[]', at: 'timestamptz' },
  isPrepared: true,
  variants: quotingKinds,
  sql: (kind: QuotingKind) => `WITH ${projectHoldsSql('now()')}
    SELECT x.id, ${quotingSql[kind].columns} FROM ${quotingSql[kind].from}
    WHERE x.id > $after AND ($last::text IS NULL OR x.id <= $last) AND ${quotingSql[kind].where} ORDER BY x.id LIMIT ${maxQuoting[kind]}`,
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

/** Parallel lists of kinds and ids of the subject's authors, and the subject's names as an actor. */
const subject = { kinds: 'text[]', ids: 'text[]', actors: 'text[]' } as const
const subjectAt = { ...subject, now: 'timestamptz' } as const

const isWriter = (kind: string, id: string): string =>
  `EXISTS (SELECT FROM unnest($kinds, $ids) AS w(kind, id) WHERE w.kind = ${kind} AND w.id = ${id})`
const isTheirs = (alias: string): string => isWriter(`${alias}.author_kind`, `${alias}.author_id`)

/** Conversations that the subject created or wrote in, with no messages of others. They are erased with the subject. */
const emptiedConversations = `SELECT c.id, c.project_id, c.threads FROM (
    SELECT id FROM conversations WHERE created_by = ANY($actors)
    UNION SELECT m.conversation_id FROM unnest($kinds, $ids) AS w(kind, id) JOIN messages m ON m.author_kind = w.kind AND m.author_id = w.id
  ) AS f JOIN conversations c ON c.id = f.id
  WHERE NOT EXISTS (SELECT FROM messages m WHERE m.conversation_id = c.id AND NOT ${isTheirs('m')})`

/** Projects with no members, messages, documents or conversations of people other than the subject. They are erased with the subject. */
const emptiedProjects = `SELECT p.id FROM (
    SELECT m.project_id AS id FROM unnest($kinds, $ids) AS w(kind, id) JOIN project_members m ON m.kind = w.kind AND m.member_id = w.id
    UNION SELECT id FROM projects WHERE created_by = ANY($actors)) AS f JOIN projects p ON p.id = f.id
  WHERE p.status <> 'closed'
    AND NOT EXISTS (SELECT FROM project_members m WHERE m.project_id = p.id AND NOT ${isWriter('m.kind', 'm.member_id')})
    AND NOT EXISTS (SELECT FROM messages m WHERE m.project_id = p.id AND NOT ${isTheirs('m')})
    AND NOT EXISTS (SELECT FROM documents d WHERE d.project_id = p.id AND NOT ${isTheirs('d')})
    AND NOT EXISTS (SELECT FROM conversations c WHERE c.project_id = p.id AND c.created_by <> ALL($actors))`

const wholeProject = { id: 'text', group: 'text', conversations: 'text[]', threads: 'text[]!' } as const
const wholeProjectSql = `p.id, p.group_id AS group, ARRAY(SELECT c.id FROM conversations c WHERE c.project_id = p.id ORDER BY c.id) AS conversations,
  ARRAY(SELECT DISTINCT t FROM conversations c CROSS JOIN LATERAL unnest(c.threads) AS t WHERE c.project_id = p.id ORDER BY t) AS threads`
/** Projects that are erased with the subject and are not under legal hold. */
const wholeProjectsOfSubject = statement('projects.whole-projects-of-subject', {
  takes: subjectAt,
  returns: wholeProject,
  isPrepared: true,
  sql: `WITH ${projectHoldsSql('$now')} SELECT ${wholeProjectSql}
    FROM (${emptiedProjects}) AS f JOIN projects p ON p.id = f.id WHERE ${projectHold} IS NULL ORDER BY p.id`,
})
const wholeProjectById = statement('projects.whole-project', {
  takes: { id: 'text', now: 'timestamptz' },
  returns: wholeProject,
  isPrepared: true,
  sql: `WITH ${projectHoldsSql('$now')} SELECT ${wholeProjectSql} FROM projects p WHERE p.id = $id AND ${projectHold} IS NULL`,
})

const wholeConversation = { id: 'text', project: 'text', threads: 'text[]!', hold: 'text?' } as const
const wholeConversationSql = `c.id, c.project_id AS project, c.threads, ${conversationHold} AS hold`
/** Conversations that are erased with the subject, with their legal holds. */
const wholeConversationsOfSubject = statement('projects.whole-conversations-of-subject', {
  takes: subjectAt,
  returns: wholeConversation,
  isPrepared: true,
  sql: `WITH ${projectHoldsSql('$now')} SELECT ${wholeConversationSql} FROM (${emptiedConversations}) AS c`,
})
/** The conversation itself, or all conversations of a project, with their legal holds. */
const wholeConversationsOfPart = statement('projects.whole-conversations-of-part', {
  takes: { id: 'text', project: 'text', now: 'timestamptz' },
  returns: wholeConversation,
  isPrepared: true,
  variants: ['conversation', 'project'],
  sql: (kind: 'conversation' | 'project') => `WITH ${projectHoldsSql('$now')} SELECT ${wholeConversationSql}
    FROM conversations c WHERE c.${kind === 'conversation' ? 'id' : 'project_id'} = $id AND c.project_id = $project`,
})

export const conversationInventory = statement('projects.conversation-inventory', {
  takes: subject,
  returns: inventory,
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n, min(c.created_at) AS since FROM (${emptiedConversations}) AS f JOIN conversations c ON c.id = f.id`,
})
/** Deletes conversations that have no messages. */
export const deleteConversations = statement('projects.delete-conversations', {
  takes: { items: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `DELETE FROM conversations c WHERE c.id = ANY($items)
    AND NOT EXISTS (SELECT FROM messages m WHERE m.conversation_id = c.id) RETURNING c.id`,
})
const isUnheld = `NOT EXISTS (SELECT FROM held_projects h WHERE h.id = c.project_id)
  AND NOT EXISTS (SELECT FROM messages m JOIN held_writers h ON h.kind = m.author_kind AND h.id = m.author_id WHERE m.conversation_id = c.id)`
export const countErasableConversations = statement('projects.count-erasable-conversations', {
  takes: subjectAt,
  returns: counted,
  sql: `WITH ${projectHoldsSql('$now')} SELECT count(*)::int4 AS n FROM (${emptiedConversations}) AS c WHERE ${isUnheld}`,
})
export const countErasableConversationsOfProject = statement('projects.count-erasable-conversations-of-project', {
  takes: { project: 'text', now: 'timestamptz' },
  returns: counted,
  sql: `WITH ${projectHoldsSql('$now')} SELECT count(*)::int4 AS n FROM conversations c WHERE c.project_id = $project AND ${isUnheld}`,
})
export const countConversations = statement('projects.count-conversations', {
  takes: { items: 'text[]' },
  returns: counted,
  sql: 'SELECT count(*)::int4 AS n FROM conversations WHERE id = ANY($items)',
})
/** The ids that exist. A closed project is already erased. */
export const identitiesOfContainers = statement('projects.identities-of-containers', {
  takes: { items: 'text[]' },
  returns: { id: 'text', wasPublic: 'bool' },
  isPrepared: true,
  variants: ['conversation', 'project'],
  sql: (kind: 'conversation' | 'project') =>
    kind === 'conversation'
      ? 'SELECT id, false AS "wasPublic" FROM conversations WHERE id = ANY($items)'
      : `SELECT id, false AS "wasPublic" FROM projects WHERE id = ANY($items) AND status <> 'closed'`,
})

export const projectInventory = statement('projects.project-inventory', {
  takes: subject,
  returns: inventory,
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n, min(p.created_at) AS since FROM (${emptiedProjects}) AS f JOIN projects p ON p.id = f.id`,
})
export const plannedProject = statement('projects.planned-project', {
  takes: { id: 'text', now: 'timestamptz' },
  returns: planned,
  isPrepared: true,
  sql: `WITH ${projectHoldsSql('$now')} SELECT p.id, ${projectHold} AS hold FROM projects p WHERE p.id = $id AND p.status <> 'closed'`,
})
const selectPlannedProjects = `WITH ${projectHoldsSql('$now')} SELECT p.id, ${projectHold} AS hold FROM (${emptiedProjects}) AS p`
export const plannedProjects = statement('projects.planned-projects', {
  takes: subjectAt,
  returns: planned,
  isPrepared: true,
  sql: selectPlannedProjects,
})
export const countErasableProjects = statement('projects.count-erasable-projects', {
  takes: subjectAt,
  returns: counted,
  sql: `SELECT count(*)::int4 AS n FROM (${selectPlannedProjects}) AS f WHERE hold IS NULL`,
})
/** Open projects that the subject owns and that have members or content of others. */
export const countSharedOwnedProjects = statement('projects.count-shared-owned', {
  takes: subject,
  returns: counted,
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM (
      SELECT m.project_id AS id FROM unnest($kinds, $ids) AS w(kind, id)
        JOIN project_members m ON m.kind = w.kind AND m.member_id = w.id WHERE m.role = 'owner'
      EXCEPT ${emptiedProjects}) AS f JOIN projects p ON p.id = f.id WHERE p.status <> 'closed'`,
})
const isEmpty = ['messages', 'documents', 'conversations']
  .map((table) => `NOT EXISTS (SELECT FROM ${table} x WHERE x.project_id = p.id)`)
  .join(' AND ')
/** Deletes projects that contain nothing and have no members. */
export const deleteProjects = statement('projects.delete-projects', {
  takes: { items: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `DELETE FROM projects p WHERE p.id = ANY($items) AND ${isEmpty}
    AND NOT EXISTS (SELECT FROM project_members m WHERE m.project_id = p.id) RETURNING p.id`,
})
/** Closes empty projects. Their rows remain for the receipt, without personal data. */
export const closeProjects = statement('projects.close', {
  takes: { items: 'text[]', now: 'timestamptz?' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `UPDATE projects p SET name = '', status = 'closed', entity_kinds = '{}', created_by = 'erased', closing_by = NULL, erasing_since = NULL,
      closed_at = coalesce($now, p.closes_at, p.updated_at), updated_at = coalesce($now, p.updated_at)
    WHERE p.id = ANY($items) AND p.status <> 'closed' AND ${isEmpty} RETURNING p.id`,
})
const tablesOfProjects = [
  'project_members',
  'conversations',
  'messages',
  'documents',
  'provenance',
  'project_participants',
]
/** How many rows still belong to a closed project. */
export const countRowsOfProject = statement('projects.count-rows', {
  takes: { id: 'text' },
  returns: counted,
  sql: `SELECT ((SELECT count(*) FROM projects WHERE id = $id AND (status <> 'closed' OR name <> '' OR entity_kinds <> '{}' OR created_by <> 'erased'))
    + ${tablesOfProjects.map((table) => `(SELECT count(*) FROM ${table} WHERE project_id = $id)`).join(' + ')})::int4 AS n`,
})

/** Remaining rows that name the subject as an actor. Excludes rows that are erased with the subject. */
const emptied = `emptied_projects AS MATERIALIZED (${emptiedProjects}), emptied_conversations AS MATERIALIZED (${emptiedConversations})`
const references = `
  SELECT 'project:' || p.id AS id, p.id AS project_id, p.created_at AS at FROM projects p
    WHERE (p.created_by = ANY($actors) OR p.closing_by = ANY($actors)) AND p.id NOT IN (SELECT e.id FROM emptied_projects e)
  UNION ALL SELECT 'conversation:' || c.id, c.project_id, c.created_at FROM conversations c
    WHERE c.created_by = ANY($actors) AND c.id NOT IN (SELECT e.id FROM emptied_conversations e)
  UNION ALL SELECT 'member:' || m.project_id || '/' || m.kind || '/' || m.member_id, m.project_id, m.added_at FROM project_members m
    WHERE m.added_by = ANY($actors) AND NOT ${isWriter('m.kind', 'm.member_id')}
  UNION ALL SELECT 'pointer:' || v.id, v.project_id, v.at FROM provenance v
    LEFT JOIN messages x ON v.source_kind = 'message' AND x.id = v.source_id
    LEFT JOIN documents y ON v.source_kind = 'document' AND y.id = v.source_id
    WHERE v.told_by = ANY($actors) AND NOT ${isWriter('coalesce(x.author_kind, y.author_kind)', 'coalesce(x.author_id, y.author_id)')}
  UNION ALL SELECT 'participant:' || o.id, o.project_id, o.created_at FROM project_participants o
    WHERE (o.created_by = ANY($actors) OR o.email_by = ANY($actors)) AND NOT ${isWriter("'participant'", 'o.id')}
  UNION ALL SELECT 'written-message:' || m.id, m.project_id, m.created_at FROM messages m
    WHERE m.written_by = ANY($actors) AND NOT ${isTheirs('m')}
  UNION ALL SELECT 'written-document:' || d.id, d.project_id, d.created_at FROM documents d
    WHERE d.written_by = ANY($actors) AND NOT ${isTheirs('d')}
  UNION ALL SELECT 'edit:' || e.id, m.project_id, e.edited_at FROM message_edits e JOIN messages m ON m.id = e.message_id
    WHERE e.edited_by = ANY($actors) AND NOT ${isTheirs('m')}`
export const referenceInventory = statement('projects.reference-inventory', {
  takes: subject,
  returns: inventory,
  isPrepared: true,
  sql: `WITH ${emptied} SELECT count(*)::int4 AS n, min(at) AS since FROM (${references}) AS f`,
})
const selectReferences = `WITH ${projectHoldsSql('$now')}, ${emptied}
  SELECT n.id, h.hold FROM (${references}) AS n LEFT JOIN held_projects h ON h.id = n.project_id`
export const plannedReferences = statement('projects.planned-references', {
  takes: subjectAt,
  returns: planned,
  isPrepared: true,
  sql: selectReferences,
})
export const countErasableReferences = statement('projects.count-erasable-references', {
  takes: subjectAt,
  returns: counted,
  sql: `SELECT count(*)::int4 AS n FROM (${selectReferences}) AS f WHERE hold IS NULL`,
})

/** The kinds of references, by the prefix of their items. */
export const referenceKinds = [
  'project',
  'conversation',
  'member',
  'pointer',
  'participant',
  'written-message',
  'written-document',
  'edit',
] as const
type ReferenceKind = (typeof referenceKinds)[number]
const itemsOf = (kind: ReferenceKind): string =>
  `(SELECT substr(i, ${kind.length + 2}) FROM unnest($items) AS i WHERE starts_with(i, '${kind}:'))`
const renamed = (column: string): string =>
  `${column} = coalesce((SELECT r.name FROM unnest($names, $pseudonyms) AS r(was, name) WHERE r.was = x.${column}), x.${column})`
const renamings: Record<ReferenceKind, string> = {
  project: `projects x SET ${renamed('created_by')}, ${renamed('closing_by')} WHERE x.id IN ${itemsOf('project')}`,
  // The subject chose the title.
  conversation: `conversations x SET title = '', ${renamed('created_by')} WHERE x.id IN ${itemsOf('conversation')}`,
  member: `project_members x SET ${renamed('added_by')} WHERE x.project_id IN (SELECT split_part(i, '/', 1) FROM ${itemsOf('member')} AS f(i))
    AND x.project_id || '/' || x.kind || '/' || x.member_id IN ${itemsOf('member')}`,
  pointer: `provenance x SET ${renamed('told_by')} WHERE x.id IN ${itemsOf('pointer')}`,
  participant: `project_participants x SET ${renamed('created_by')}, ${renamed('email_by')} WHERE x.id IN ${itemsOf('participant')}`,
  'written-message': `messages x SET ${renamed('written_by')} WHERE x.id IN ${itemsOf('written-message')}`,
  'written-document': `documents x SET ${renamed('written_by')} WHERE x.id IN ${itemsOf('written-document')}`,
  edit: `message_edits x SET ${renamed('edited_by')} WHERE x.id IN ${itemsOf('edit')}`,
}
/** Replaces names of the subject by pseudonyms in the rows of the items of one kind. */
export const renameReferences = statement('projects.rename-references', {
  takes: { items: 'text[]', names: 'text[]', pseudonyms: 'text[]' },
  returns: 'count',
  isPrepared: true,
  variants: referenceKinds,
  sql: (kind: ReferenceKind) => `UPDATE ${renamings[kind]}`,
})

/** The authors among the subject's identities, and its names as an actor. */
export const identitiesOf = (subject: Subject) => ({ ...writersOf(subject), actors: projectActorsOf(subject) })

/** Projects that are erased completely with a scope and are not under legal hold. */
export async function wholeProjects(scope: ErasureScope, tx: Transaction, now: Date) {
  const subject = scopeSubject(scope)
  if (subject) return wholeProjectsOfSubject(tx, { ...identitiesOf(subject), now })
  const part = scopePart(scope)
  return part?.kind === 'project' ? wholeProjectById(tx, { id: part.id, now }) : []
}

/** Conversations that are erased completely with a scope, with their legal holds. */
export async function wholeConversations(scope: ErasureScope, tx: Transaction, now: Date) {
  const subject = scopeSubject(scope)
  if (subject) return wholeConversationsOfSubject(tx, { ...identitiesOf(subject), now })
  const part = scopePart(scope)
  return part?.kind === 'conversation' || part?.kind === 'project'
    ? wholeConversationsOfPart(tx, { id: part.id, project: part.project, now }, part.kind)
    : []
}
