import type { PartKind } from '#lib/kernel/erasure-scope.ts'
import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'
import { doerIdSql, doerKindSql, projectManagersSql, projectRoleSql, readerTypes } from '../readable-rows.ts'

const everyPart: readonly PartKind[] = ['project', 'conversation', 'message', 'document']

/** The kinds of parts with which documents that were made from them are erased. */
export type SourceKind = 'conversation' | 'message'
const madeFrom: Record<SourceKind, string> = {
  message: 'made_from = $id',
  conversation: 'made_from IN (SELECT id FROM messages WHERE conversation_id = $id)',
}

type PartLock = 'FOR UPDATE' | 'FOR SHARE'
export const lockProject = statement('projects.lock', {
  takes: { id: 'text' },
  returns: 'count',
  variants: ['FOR UPDATE', 'FOR SHARE'],
  sql: (lock: PartLock) => `SELECT FROM projects WHERE id = $id ${lock}`,
})
const partTables = { conversation: 'conversations', message: 'messages', document: 'documents' } as const
export const lockPartRow = statement('projects.lock-part', {
  takes: { id: 'text', project: 'text' },
  returns: 'count',
  variants: [
    ['conversation', 'FOR UPDATE'],
    ['conversation', 'FOR SHARE'],
    ['message', 'FOR UPDATE'],
    ['document', 'FOR UPDATE'],
  ],
  sql: ([kind, lock]: readonly [keyof typeof partTables, PartLock]) =>
    `SELECT FROM ${partTables[kind]} WHERE id = $id AND project_id = $project ${lock}`,
})
/** Locks the documents made from a message, or from the messages of a conversation. */
export const lockDocumentsMadeFrom = statement('projects.lock-documents-made-from', {
  takes: { id: 'text' },
  returns: 'count',
  isPrepared: true,
  variants: ['conversation', 'message'],
  sql: (kind: SourceKind) => `SELECT FROM documents WHERE ${madeFrom[kind]} ORDER BY id FOR UPDATE`,
})
/** Marks the documents made from a part as being erased. Null removes the mark from documents with the same mark as the part. */
export const markDocumentsMadeFrom = statement('projects.mark-documents-made-from', {
  takes: { id: 'text', since: 'timestamptz?' },
  returns: 'count',
  isPrepared: true,
  variants: ['conversation', 'message'],
  sql: (kind: SourceKind) => `UPDATE documents SET erasing_since = $since WHERE ${madeFrom[kind]}
    AND erasing_since IS NOT DISTINCT FROM CASE WHEN $since IS NULL THEN (SELECT erasing_since FROM ${partTables[kind]} WHERE id = $id) END`,
})

/** Conditions on `project_parts` for a part and everything inside it. Each kind has its own condition, so that it uses its index. */
const inside: Record<PartKind, string> = {
  project: 'project_id = $id',
  conversation: 'conversation_id = $id',
  message: "kind = 'message' AND id = $id",
  document: "kind = 'document' AND id = $id",
}
const partColumns = { kind: 'text', id: 'text', projectId: 'text', conversationId: 'text?' } as const
export type PartRow = RowOf<typeof partColumns>

/** Creation time of the newest record in a part. */
export const newestInPart = statement('projects.newest-in-part', {
  takes: { id: 'text' },
  returns: { at: 'timestamptz?' },
  isPrepared: true,
  variants: everyPart,
  sql: (kind: PartKind) => `SELECT max(created_at) AS at FROM project_parts WHERE ${inside[kind]}`,
})
/** All records of a part, and whether each was created after a time. */
export const recordsInPart = statement('projects.records-in-part', {
  takes: { id: 'text', at: 'timestamptz' },
  returns: { ...partColumns, isSince: 'bool' },
  isPrepared: true,
  variants: everyPart,
  sql: (
    kind: PartKind,
  ) => `SELECT kind, id, project_id AS "projectId", conversation_id AS "conversationId", created_at > $at AS "isSince"
    FROM project_parts WHERE ${inside[kind]} ORDER BY kind, id`,
})
/** Which of the parts, given as parallel lists, still exist. */
export const existingParts = statement('projects.existing-parts', {
  takes: { kinds: 'text[]', ids: 'text[]', projects: 'text[]' },
  returns: partColumns,
  isPrepared: true,
  sql: `SELECT p.kind, p.id, p.project_id AS "projectId", p.conversation_id AS "conversationId"
    FROM unnest($kinds, $ids, $projects) AS w(kind, id, project)
    JOIN project_parts p ON p.kind = w.kind AND p.id = w.id AND p.project_id = w.project`,
})

const byAuthor = '(author_kind, author_id) IN (SELECT w.kind, w.id FROM unnest($kinds, $ids) AS w(kind, id))'
/** The projects in which these authors wrote. */
export const projectsOfAuthors = statement('projects.of-authors', {
  takes: { kinds: 'text[]', ids: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT project_id AS id FROM messages WHERE ${byAuthor} UNION SELECT project_id FROM documents WHERE ${byAuthor} ORDER BY id`,
})

export const accessToProject = statement('projects.access', {
  takes: { ...readerTypes, id: 'text' },
  returns: { role: typed<'owner' | 'member' | null>('project_role?'), office: 'text?' },
  isPrepared: true,
  sql: `SELECT ${projectRoleSql} AS role, ${projectManagersSql} AS office FROM projects p WHERE p.id = $id`,
})

/** The receipt of an erased part. */
export const receiptOfErasedPart = statement('projects.receipt-of-erased-part', {
  takes: { id: 'text', project: 'text' },
  returns: { receiptId: 'text' },
  sql: `SELECT r.receipt_id AS "receiptId" FROM erased_records e JOIN erasure_scopes r ON r.receipt_id = e.receipt_id
    WHERE e.id = $id AND r.project_id = $project`,
})

const creator = `${doerKindSql('created_by')} AS kind, ${doerIdSql('created_by')} AS id`
const wrote = 'SELECT author_kind AS kind, author_id AS id FROM'
const recorded: Record<PartKind, string> = {
  project: `${wrote} messages WHERE project_id = $id UNION ${wrote} documents WHERE project_id = $id
    UNION SELECT ${creator} FROM conversations WHERE project_id = $id UNION SELECT kind, member_id FROM project_members WHERE project_id = $id`,
  conversation: `${wrote} messages WHERE conversation_id = $id
    UNION ${wrote} documents WHERE made_from IN (SELECT id FROM messages WHERE conversation_id = $id)
    UNION SELECT ${creator} FROM conversations WHERE id = $id`,
  message: `${wrote} messages WHERE id = $id UNION ${wrote} documents WHERE made_from = $id`,
  document: `${wrote} documents WHERE id = $id`,
}
/** People and agents with records in a part: authors, authors of documents made from it, its creator, members. */
export const recordedInPart = statement('projects.recorded-in-part', {
  takes: { id: 'text' },
  returns: { kind: 'text', id: 'text' },
  isPrepared: true,
  variants: everyPart,
  sql: (kind: PartKind) => recorded[kind],
})
/** Authors of documents made from messages of the subject. */
export const authorsOfDerivedDocuments = statement('projects.authors-of-derived-documents', {
  takes: { kinds: 'text[]', ids: 'text[]' },
  returns: { kind: 'text', id: 'text' },
  isPrepared: true,
  sql: `${wrote} documents WHERE made_from IN (
    SELECT m.id FROM unnest($kinds, $ids) AS w(kind, id) JOIN messages m ON m.author_kind = w.kind AND m.author_id = w.id)`,
})
/** The accounts that claimed these participations. */
export const claimantsOf = statement('projects.claimants', {
  takes: { participants: 'text[]' },
  returns: { id: 'text!' },
  isPrepared: true,
  sql: 'SELECT DISTINCT account_id AS id FROM project_participants WHERE id = ANY($participants) AND account_id IS NOT NULL',
})
