import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'
import type { Writer } from '../contract.ts'
import { newestFirst, pageTypes } from '../list-page.ts'
import { servedSql } from '../participants/restricting.ts'
import { claimantSql, shownSql, writerSql } from '../readable-rows.ts'
import type { ProjectDocumentKind } from '../rules.ts'
import { isByPersonSql } from '../words/repository.ts'

const documentColumns = {
  stored_id: 'text',
  id: 'text',
  project_id: 'text',
  kind: typed<ProjectDocumentKind>('text'),
  name: 'text',
  media_type: 'text',
  bytes: 'int4',
  sha256: 'text',
  author: typed<Writer>('json'),
  written_by: 'text?',
  claimed_by: 'text?',
  made_from: 'text?',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  chunks: 'int4',
} as const
export type DocumentRow = RowOf<typeof documentColumns>
const selectDocuments = `SELECT d.id AS stored_id, ${shownSql('d.id')} AS id, d.project_id, d.kind, d.name, d.media_type, d.bytes,
    encode(d.sha256, 'hex') AS sha256, ${writerSql('d.author_kind', 'd.author_id')} AS author, d.written_by,
    ${claimantSql('d')} AS claimed_by, ${shownSql('d.made_from')} AS made_from, d.created_at, d.updated_at,
    (SELECT count(*)::int4 FROM document_chunks k WHERE k.document_id = d.id) AS chunks
  FROM documents d`

export const documentInProject = statement('projects.document', {
  takes: { project: 'text', id: 'text' },
  returns: documentColumns,
  isPrepared: true,
  sql: `${selectDocuments} WHERE d.id = $id AND d.project_id = $project AND d.erasing_since IS NULL`,
})

const servedTypes = { project: 'text', kind: 'text?', reader: 'text?' } as const
const served = `d.project_id = $project AND ($kind IS NULL OR d.kind = $kind) AND d.erasing_since IS NULL AND ${servedSql('d', '$reader')}`

export const documentsPage = statement('projects.documents-page', {
  takes: { ...servedTypes, ...pageTypes },
  returns: documentColumns,
  isPrepared: true,
  sql: `${selectDocuments} WHERE ${served} AND ${newestFirst('d.created_at', 'd.id')}`,
})

export const countServedDocuments = statement('projects.count-served-documents', {
  takes: servedTypes,
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM documents d WHERE ${served}`,
})

export const fileOfDocument = statement('projects.document-file', {
  takes: { project: 'text', id: 'text' },
  returns: {
    object_key: 'text',
    name: 'text',
    media_type: 'text',
    bytes: 'int4',
    author_kind: 'text',
    author_id: 'text',
  },
  isPrepared: true,
  sql: `SELECT object_key, name, media_type, bytes, author_kind, author_id FROM documents
    WHERE id = $id AND project_id = $project AND erasing_since IS NULL`,
})

export const conversationOfMessage = statement('projects.conversation-of-message', {
  takes: { id: 'text' },
  returns: { conversation: 'text' },
  isPrepared: true,
  sql: 'SELECT conversation_id AS conversation FROM messages WHERE id = $id',
})

/** Inserts nothing if the id or the object key is in use. */
export const insertDocument = statement('projects.insert-document', {
  takes: {
    id: 'text',
    project: 'text',
    kind: 'text',
    name: 'text',
    mediaType: 'text',
    bytes: 'int4',
    sha256: 'bytea',
    key: 'text',
    madeFrom: 'text?',
    authorKind: 'text',
    authorId: 'text',
    writtenBy: 'text?',
    at: 'timestamptz',
    now: 'timestamptz',
  },
  returns: 'count',
  sql: `INSERT INTO documents (id, project_id, kind, name, media_type, bytes, sha256, object_key, made_from, author_kind, author_id, written_by, created_at, updated_at)
    VALUES ($id, $project, $kind, $name, $mediaType, $bytes, $sha256, $key, $madeFrom, $authorKind, $authorId, $writtenBy, $at, $now)
    ON CONFLICT DO NOTHING`,
})

/** Stores consecutive chunks of a document; `first` is the position of the first one. */
export const insertChunks = statement('projects.insert-chunks', {
  takes: { document: 'text', first: 'int4', contents: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: `INSERT INTO document_chunks (document_id, position, content)
    SELECT $document, $first + t.n::int4 - 1, t.content FROM unnest($contents) WITH ORDINALITY AS t(content, n)`,
})

/** The object keys that a row of an attachment or document refers to. */
export const keysInUse = statement('projects.keys-in-use', {
  takes: { keys: 'text[]' },
  returns: { key: 'text' },
  isPrepared: true,
  sql: `SELECT object_key AS key FROM attachments WHERE object_key = ANY($keys)
    UNION ALL SELECT object_key FROM documents WHERE object_key = ANY($keys)`,
})

/** Of these object keys, those of artifacts, and of files in messages that no person wrote. With the row that must not be under legal hold. */
export const machineFiles = statement('projects.machine-files', {
  takes: { keys: 'text[]' },
  returns: {
    key: 'text',
    kind: typed<'messages' | 'artifacts'>('text'),
    id: 'text',
    project: 'text',
    at: 'timestamptz',
  },
  isPrepared: true,
  sql: `SELECT a.object_key AS key, 'messages' AS kind, x.id, x.project_id AS project, x.created_at AS at
      FROM attachments a JOIN messages x ON x.id = a.message_id
      WHERE a.object_key = ANY($keys) AND x.erasing_since IS NULL AND NOT ${isByPersonSql.messages}
    UNION ALL SELECT x.object_key, 'artifacts', x.id, x.project_id, x.updated_at
      FROM documents x WHERE x.object_key = ANY($keys) AND x.erasing_since IS NULL AND NOT ${isByPersonSql.documents}`,
})

/** The savepoint of the check before an upload, which leaves no rows. */
export const changeCheckSavepoint = statement('projects.document-check-savepoint', {
  takes: {},
  returns: 'count',
  variants: ['SAVEPOINT', 'ROLLBACK TO SAVEPOINT'],
  sql: (action: 'SAVEPOINT' | 'ROLLBACK TO SAVEPOINT') => `${action} document_check`,
})
