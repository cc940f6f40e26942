import { statement, typed } from '#lib/stores/postgres/statement.ts'
import { possibleTextTypes } from '#lib/text/file-text.ts'
import { textsOfDocumentSql } from '../documents/texts.ts'
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
import { existingSource, possibleSql, shownSql } from '../readable-rows.ts'
import type { WriterKind } from '../rules.ts'
import { isByPersonSql } from '../words/repository.ts'
import type { PointerView } from './contract.ts'
import type { StoredPointer } from './sources.ts'

const withHolds = `WITH ${projectHoldsSql('$now')}`
const messageStays = staysSql('x', 'c.erasing_since IS NOT NULL')

/** Returns one row if the account manages the organization. */
export const managerOf = statement('provenance.manager', {
  takes: { account: 'text?', organisation: 'text?' },
  returns: { id: 'text' },
  sql: `SELECT id FROM account_names WHERE id = $account AND role = 'manager' AND organisation_id = $organisation`,
})

export const organisationOfProject = statement('provenance.organisation-of-project', {
  takes: { project: 'text' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: 'SELECT organisation_id AS id FROM projects WHERE id = $project',
})

/** Of these ids, other projects and conversations of other projects. */
export const foreignContainers = statement('provenance.foreign-containers', {
  takes: { project: 'text', ids: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT id FROM projects WHERE id = ANY($ids) AND id <> $project
    UNION ALL SELECT id FROM conversations WHERE id = ANY($ids) AND project_id <> $project`,
})

/** Of these threads, those that already belong to the project. `sources` are the messages whose pointers name them. */
export const ownThreads = statement('provenance.own-threads', {
  takes: { project: 'text', threads: 'text[]', sources: 'text[]' },
  returns: { thread: 'text' },
  isPrepared: true,
  sql: `SELECT t.thread FROM unnest($threads, $sources) AS t (thread, source)
    WHERE EXISTS (SELECT FROM conversations c WHERE c.threads @> ARRAY[t.thread] AND c.project_id = $project)
      OR EXISTS (SELECT FROM provenance v WHERE v.store = 'checkpoints' AND v.place = t.thread AND v.project_id = $project)
      OR EXISTS (SELECT FROM messages m WHERE m.id = t.source AND m.project_id = $project
        AND m.conversation_id ~ '^conv_[0-9A-Za-z]{22}$' AND strpos(t.thread, m.conversation_id) > 0)`,
})

/**
 * The ids of graph groups or threads that are outside the namespace of an organization. Its namespace contains ids with its own prefix or
 * with an assigned prefix. If `is_any` is set, it also contains every id outside the namespaces of other organizations.
 */
export const idsOutsideNamespace = statement('provenance.ids-outside-namespace', {
  takes: { organisation: 'text?', ids: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT i.id FROM unnest($ids) AS i(id) LEFT JOIN organisation_namespaces own ON own.id = $organisation
    WHERE NOT coalesce(starts_with(i.id, own.id || '_')
      OR EXISTS (SELECT FROM unnest(own.namespaces) AS n WHERE n <> '*' AND starts_with(i.id, n))
      OR (own.is_any AND NOT EXISTS (SELECT FROM organisation_namespaces o WHERE o.id <> $organisation
        AND (o.id = substring(i.id FROM '^(org_[0-9A-Za-z]{22})_')
          OR EXISTS (SELECT FROM unnest(o.namespaces) AS n WHERE n <> '*' AND starts_with(i.id, n))))), false)`,
})

/** The numbers of pointers that belong to other projects: threads of their conversations, generated ids, groups, and keys that their pointers name. */
export const foreignPointers = statement('provenance.foreign-pointers', {
  takes: { project: 'text', numbers: 'int4[]', stores: 'text[]', refs: 'text[]', places: 'text[]' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT i.n FROM unnest($numbers, $stores, $refs, $places) AS i(n, store, ref, place)
    WHERE (i.store = 'checkpoints' AND i.place <> '' AND (
        EXISTS (SELECT FROM conversations c WHERE c.threads @> ARRAY[i.place] AND c.project_id <> $project)
        OR EXISTS (SELECT FROM provenance v WHERE v.store = 'checkpoints' AND v.place = i.place AND v.project_id <> $project)))
      OR (i.store = 'checkpoints' AND i.ref ~ '^(prj|conv|msg|doc)_[0-9A-Za-z]{22}$' AND (
        EXISTS (SELECT FROM messages m WHERE m.id = i.ref AND m.project_id <> $project)
        OR EXISTS (SELECT FROM documents d WHERE d.id = i.ref AND d.project_id <> $project)
        OR EXISTS (SELECT FROM conversations c WHERE c.id = i.ref AND c.project_id <> $project)
        OR EXISTS (SELECT FROM projects p WHERE p.id = i.ref AND p.id <> $project)))
      OR (i.store = 'graph' AND i.place <> '' AND EXISTS (SELECT FROM projects p WHERE p.group_id = i.place AND p.id <> $project))
      OR (i.store IN ('objects', 'cache') AND EXISTS (
        SELECT FROM provenance v WHERE v.store = i.store AND v.ref = i.ref AND v.project_id <> $project))`,
})

export const conversationsOfMessages = statement('provenance.conversations-of-messages', {
  takes: { project: 'text', messages: 'text[]' },
  returns: { id: 'text', conversation: 'text' },
  isPrepared: true,
  sql: 'SELECT id, conversation_id AS conversation FROM messages WHERE project_id = $project AND id = ANY($messages)',
})

interface PointerRow extends StoredPointer {
  id: string
  kind: 'message' | 'document'
  source: string
}
/** Stores pointers. Merges the ended facts of an existing pointer. */
export const storePointers = statement('provenance.store', {
  takes: { rows: typed<PointerRow[]>('json'), project: 'text', reporter: 'text', now: 'timestamptz' },
  returns: { is_new: 'bool' },
  isPrepared: true,
  sql: `INSERT INTO provenance AS v (id, project_id, source_kind, source_id, store, ref, place, ended, told_by, at)
    SELECT r.id, $project, r.kind, r.source, r.store, r.ref, r.place, r.ended, $reporter, $now
    FROM json_to_recordset($rows) AS r(id text, kind text, source text, store text, ref text, place text, ended text[])
    ORDER BY r.source, r.store, r.place, r.ref
    ON CONFLICT (source_id, store, place, ref) DO UPDATE
      SET ended = ARRAY(SELECT DISTINCT e FROM unnest(v.ended || excluded.ended) AS e ORDER BY e)
    RETURNING xmax = 0 AS is_new`,
})

/** Locks sources, so that no erasure of them can begin. A source that is being erased accepts no pointers. */
export const lockSources = statement('provenance.lock-sources', {
  takes: { project: 'text', ids: 'text[]' },
  returns: { id: 'text', kind: typed<'message' | 'document'>('text'), is_erasing: 'bool' },
  isPrepared: true,
  sql: `WITH g AS MATERIALIZED (SELECT unnest(${possibleSql('$project', 'i')}) AS id FROM unnest($ids) AS i),
    m AS MATERIALIZED (SELECT m.id, m.erasing_since, m.conversation_id FROM messages m
      WHERE m.project_id = $project AND m.id IN (SELECT id FROM g) ORDER BY m.id FOR KEY SHARE),
    d AS MATERIALIZED (SELECT d.id, d.erasing_since FROM documents d
      WHERE d.project_id = $project AND d.id IN (SELECT id FROM g) ORDER BY d.id FOR KEY SHARE)
    SELECT m.id, 'message' AS kind, m.erasing_since IS NOT NULL OR c.erasing_since IS NOT NULL AS is_erasing
      FROM m JOIN conversations c ON c.id = m.conversation_id
    UNION ALL SELECT d.id, 'document', d.erasing_since IS NOT NULL FROM d`,
})

/** Pointers of a project, or of one source, before a cursor; newest first. */
export const pointersBefore = statement('provenance.page', {
  takes: {
    project: 'text',
    source: 'text?',
    id: 'text',
    limit: 'int4',
    at: typed<Date | 'infinity'>('timestamptz'),
  },
  returns: {
    id: 'text',
    source_id: 'text',
    ref: 'text',
    place: 'text',
    ended: 'text[]!',
    told_by: 'text',
    at: 'timestamptz',
    source_kind: typed<PointerView['source_kind']>('text'),
    store: typed<PointerView['store']>('text'),
  },
  isPrepared: true,
  sql: `SELECT id, source_kind, ${shownSql('source_id')} AS source_id, store, ref, place, ended, told_by, at FROM provenance v
    WHERE project_id = $project AND ($source IS NULL OR source_id = ANY(${possibleSql('$project', '$source')})) AND (at, id) < ($at, $id) AND ${existingSource('v')}
    ORDER BY at DESC, id DESC LIMIT $limit`,
})

/**
 * Remaining messages and documents that name these references. In checkpoints, this includes a source whose own id is the reference. With
 * a project, only its sources.
 */
export const remainingSourcesOf = statement('provenance.remaining-sources', {
  takes: { store: 'text', refs: 'text[]', now: 'timestamptz', project: 'text?' },
  returns: { ref: 'text', source: 'text' },
  isPrepared: true,
  sql: `${withHolds},
    named AS MATERIALIZED (SELECT v.ref, v.source_kind, v.source_id FROM provenance v WHERE v.store = $store AND v.ref = ANY($refs)
      UNION SELECT r.ref, k.kind, i.id FROM unnest($refs) AS r(ref), (VALUES ('message'), ('document')) AS k(kind), unnest(${possibleSql('$project', 'r.ref')}) AS i(id)
        WHERE $store = 'checkpoints')
    SELECT n.ref, x.id AS source FROM named n JOIN messages x ON n.source_kind = 'message' AND x.id = n.source_id
      JOIN conversations c ON c.id = x.conversation_id ${joinProjectHolds('x')} WHERE ${messageStays} AND ($project IS NULL OR x.project_id = $project)
    UNION SELECT n.ref, x.id FROM named n JOIN documents x ON n.source_kind = 'document' AND x.id = n.source_id
      ${joinProjectHolds('x')} WHERE ${staysSql('x')} AND ($project IS NULL OR x.project_id = $project)`,
})

/** Maximum number of remaining sources to read. */
const maxNaming = 500

/** The texts of remaining messages and documents whose pointers name these references, without the sources in `erased`. */
export const remainingTextsNaming = statement('provenance.remaining-texts', {
  takes: { store: 'text', refs: 'text[]', now: 'timestamptz', erased: 'text[]' },
  returns: { ref: 'text', texts: 'text[]' },
  isPrepared: true,
  sql: `${withHolds}
    SELECT ref, texts FROM (SELECT v.ref, x.id AS source, ARRAY[x.content] || ARRAY(SELECT e.content FROM message_edits e WHERE e.message_id = x.id) AS texts
      FROM provenance v JOIN messages x ON v.source_kind = 'message' AND x.id = v.source_id
      JOIN conversations c ON c.id = x.conversation_id ${joinProjectHolds('x')}
      WHERE v.store = $store AND v.ref = ANY($refs) AND ${messageStays}
    UNION ALL SELECT v.ref, x.id, ARRAY(SELECT k.content FROM document_chunks k WHERE k.document_id = x.id ORDER BY k.position)
      FROM provenance v JOIN documents x ON v.source_kind = 'document' AND x.id = v.source_id ${joinProjectHolds('x')}
      WHERE v.store = $store AND v.ref = ANY($refs) AND ${staysSql('x')}) AS f WHERE NOT source = ANY($erased) LIMIT ${maxNaming}`,
})

/** Of these references, those that only pointers of other projects name. */
export const refsOfOtherProjects = statement('provenance.refs-of-other-projects', {
  takes: { store: 'text', refs: 'text[]', projects: 'text[]' },
  returns: { ref: 'text' },
  isPrepared: true,
  sql: `SELECT v.ref FROM provenance v WHERE v.store = $store AND v.ref = ANY($refs) GROUP BY v.ref
    HAVING bool_and(v.project_id <> ALL($projects))`,
})

/** Maximum number of sources that {@link sourceIdsAfter} returns. */
export const idsAtOnce = 5_000
const weights: Record<AuthoredTable, string> = {
  messages: `octet_length(x.content) + coalesce((SELECT sum(octet_length(e.content)) FROM message_edits e WHERE e.message_id = x.id), 0)`,
  documents: `coalesce((SELECT sum(octet_length(k.content)) FROM document_chunks k WHERE k.document_id = x.id), 0)`,
}

/** The sources of a scope after an id that are not under legal hold, with the bytes of their texts. */
export const sourceIdsAfter = statement('provenance.source-ids', {
  takes: { ...coveredParameters, now: 'timestamptz', after: 'text' },
  returns: { id: 'text', weight: 'int4' },
  isPrepared: true,
  variants: coveredTables,
  sql: (which: CoveredTable) => `${withHolds},
    candidate AS MATERIALIZED (SELECT x.id FROM ${which.table} x ${joinProjectHolds('x')}
      WHERE ${coveredSql(which)} AND x.id > $after AND ${projectHoldSql} IS NULL ORDER BY x.id LIMIT ${idsAtOnce})
    SELECT x.id, (${weights[which.table]})::int4 AS weight FROM ${which.table} x WHERE x.id IN (SELECT id FROM candidate) ORDER BY x.id`,
})

/** Counts the records of a scope under legal hold, by hold. */
export const heldSources = statement('provenance.held-sources', {
  takes: { ...coveredParameters, now: 'timestamptz' },
  returns: { hold: 'text', n: 'int4' },
  isPrepared: true,
  variants: coveredTables,
  sql: (which: CoveredTable) => `${withHolds}
    SELECT hold, count(*)::int4 AS n FROM (
      SELECT ${projectHoldSql} AS hold FROM ${which.table} x ${joinProjectHolds('x')} WHERE ${coveredSql(which)}) AS f
    WHERE hold IS NOT NULL GROUP BY hold`,
})

const sourceColumns = `x.id, x.project_id AS project, p.group_id AS group, x.created_at, x.author_kind, x.author_id,
  CASE x.author_kind WHEN 'account' THEN (SELECT n.name FROM account_names n WHERE n.id = x.author_id)
    WHEN 'participant' THEN (SELECT n.name FROM project_participants n WHERE n.id = x.author_id)
    ELSE (SELECT n.name FROM agent_names n WHERE n.id = x.author_id) END AS author_name,
  coalesce((SELECT json_agg(json_build_object('store', v.store, 'ref', v.ref, 'place', v.place, 'ended', v.ended) ORDER BY v.store, v.place, v.ref)
    FROM provenance v WHERE v.source_id = x.id), '[]') AS pointers`
/** A file whose text the database does not have. */
export interface StoredFile {
  key: string
  mediaType: string
  bytes: number
}
const fileSql = (alias: string): string =>
  `json_build_object('key', ${alias}.object_key, 'mediaType', ${alias}.media_type, 'bytes', ${alias}.bytes)`
/** SQL: a document without a text in the database, or with one that was read in the wrong encoding. */
const lacksText = (alias: string): string =>
  `(NOT EXISTS (SELECT FROM document_chunks k WHERE k.document_id = ${alias}.id)
    OR EXISTS (SELECT FROM document_chunks k WHERE k.document_id = ${alias}.id AND strpos(k.content, U&'\\FFFD') > 0))`
/** SQL: {@link lacksText}, by its first part only, so that not every part of all documents is read. */
const lacksBeginning = (alias: string): string =>
  `NOT EXISTS (SELECT FROM document_chunks k WHERE k.document_id = ${alias}.id AND k.position = 0 AND strpos(k.content, U&'\\FFFD') = 0)`
/** SQL: the files of a message or document whose texts the database does not have. */
const filesSql: Record<AuthoredTable, string> = {
  messages: `coalesce((SELECT json_agg(${fileSql('a')} ORDER BY a.object_key) FROM attachments a WHERE a.message_id = x.id), '[]')`,
  documents: `CASE WHEN ${lacksText('x')} THEN json_build_array(${fileSql('x')}) ELSE '[]' END`,
}
/** SQL: a file that may be a text, is not too large, and whose message or document is not among the erased ones. */
const isReadable = (file: string): string =>
  `${file}.bytes <= $bytes AND ${file}.media_type ~ '${possibleTextTypes.source}' AND x.id <> ALL($erased)`
/**
 * Files of persons in a project that remain and that may be texts of at most so many bytes, whose texts the database does not have. Other
 * files must not count towards the limit: people store hundreds of images.
 */
export const remainingFiles = statement('provenance.remaining-files', {
  takes: { project: 'text', now: 'timestamptz', erased: 'text[]', bytes: 'int4', max: 'int4' },
  returns: { file: typed<StoredFile>('json') },
  isPrepared: true,
  sql: `${withHolds}
    (SELECT ${fileSql('a')} AS file FROM messages x JOIN attachments a ON a.message_id = x.id
      JOIN conversations c ON c.id = x.conversation_id ${joinProjectHolds('x')}
      WHERE x.project_id = $project AND ${isByPersonSql.messages} AND ${messageStays} AND ${isReadable('a')}
      ORDER BY a.object_key LIMIT $max)
    UNION ALL (SELECT ${fileSql('x')} FROM documents x ${joinProjectHolds('x')}
      WHERE x.project_id = $project AND ${isByPersonSql.documents} AND ${staysSql('x')} AND ${isReadable('x')} AND ${lacksBeginning('x')}
      ORDER BY x.id LIMIT $max)`,
})
/** The rows of these files, of which the database has no text. */
export const filesWithoutText = statement('provenance.files-without-text', {
  takes: { keys: 'text[]' },
  returns: { file: typed<StoredFile>('json') },
  isPrepared: true,
  sql: `SELECT ${fileSql('a')} AS file FROM attachments a WHERE a.object_key = ANY($keys)
    UNION ALL SELECT ${fileSql('x')} FROM documents x WHERE x.object_key = ANY($keys) AND ${lacksText('x')}`,
})

const sourcesIn: Record<AuthoredTable, string> = {
  messages: `SELECT ${sourceColumns}, x.conversation_id AS conversation, c.threads, x.ordinal::float8 AS ordinal,
      ARRAY[x.content] || ARRAY(SELECT e.content FROM message_edits e WHERE e.message_id = x.id ORDER BY e.edited_at, e.id) AS texts,
      ARRAY(SELECT a.object_key FROM attachments a WHERE a.message_id = x.id ORDER BY a.object_key) AS objects,
      ${filesSql.messages} AS files
    FROM messages x JOIN projects p ON p.id = x.project_id JOIN conversations c ON c.id = x.conversation_id
    WHERE x.id = ANY($ids) ORDER BY x.id`,
  documents: `SELECT ${sourceColumns}, NULL::text AS conversation, NULL::text[] AS threads, NULL::float8 AS ordinal,
      ${textsOfDocumentSql('x.id')} AS texts, ARRAY[x.object_key] AS objects,
      ${filesSql.documents} AS files
    FROM documents x JOIN projects p ON p.id = x.project_id WHERE x.id = ANY($ids) ORDER BY x.id`,
}

/** Messages or documents with their texts, authors, objects and pointers, ordered by id. */
export const sourcesById = statement('provenance.sources', {
  takes: { ids: 'text[]' },
  returns: {
    id: 'text',
    project: 'text',
    group: 'text',
    conversation: 'text?',
    threads: 'text[]?',
    created_at: 'timestamptz',
    ordinal: 'float8?',
    author_kind: typed<WriterKind>('text'),
    author_id: 'text',
    author_name: 'text?',
    texts: 'text[]',
    objects: 'text[]',
    files: typed<StoredFile[]>('json'),
    pointers: typed<StoredPointer[]>('json'),
  },
  isPrepared: true,
  variants: ['messages', 'documents'],
  sql: (table: AuthoredTable) => sourcesIn[table],
})
