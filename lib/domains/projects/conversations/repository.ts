import { utc } from '#lib/stores/postgres/record-pages.ts'
import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'
import type { Writer } from '../contract.ts'
import { newestFirst, pageTypes } from '../list-page.ts'
import { servedSql } from '../participants/restricting.ts'
import { claimantSql, doerSql, servedTitleSql, shownSql, writerSql } from '../readable-rows.ts'
import type { projectMessageRoles } from '../rules.ts'
import type { AttachmentView } from './contract.ts'

const conversationColumns = {
  stored_id: 'text',
  id: 'text',
  project_id: 'text',
  title: 'text',
  region: 'text?',
  threads: 'text[]!',
  created_by: typed<Writer>('json'),
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
  messages: 'int4',
} as const
export type ConversationRow = RowOf<typeof conversationColumns>
const selectConversations = `SELECT c.id AS stored_id, ${shownSql('c.id')} AS id, c.project_id, ${servedTitleSql('c', '$reader')} AS title, c.region, c.threads,
    ${doerSql('c.created_by', '$reader')} AS created_by, c.created_at, c.updated_at,
    (SELECT count(*)::int4 FROM messages m WHERE m.conversation_id = c.id AND m.erasing_since IS NULL
      AND ${servedSql('m', '$reader')}) AS messages
  FROM conversations c WHERE c.project_id = $project AND c.erasing_since IS NULL`

export const conversationInProject = statement('projects.conversation', {
  takes: { project: 'text', id: 'text', reader: 'text?' },
  returns: conversationColumns,
  isPrepared: true,
  sql: `${selectConversations} AND c.id = $id`,
})

export const conversationsPage = statement('projects.conversations-page', {
  takes: { project: 'text', ...pageTypes, reader: 'text?' },
  returns: conversationColumns,
  isPrepared: true,
  sql: `${selectConversations} AND ${newestFirst('c.created_at', 'c.id')}`,
})

export const findConversation = statement('projects.find-conversation', {
  takes: { project: 'text', id: 'text' },
  returns: { region: 'text?', isErasing: 'bool' },
  isPrepared: true,
  sql: 'SELECT region, erasing_since IS NOT NULL AS "isErasing" FROM conversations WHERE id = $id AND project_id = $project',
})

export const regionOfConversation = statement('projects.region-of-conversation', {
  takes: { id: 'text' },
  returns: { region: 'text?' },
  isPrepared: true,
  sql: 'SELECT region FROM conversations WHERE id = $id',
})

/** Locks the project against changes, so that its region stays until the end of the transaction. */
export const lockRegionOfProject = statement('projects.lock-region', {
  takes: { id: 'text' },
  returns: { region: 'text?' },
  isPrepared: true,
  sql: 'SELECT region FROM projects WHERE id = $id FOR SHARE',
})

export const lockConversation = statement('projects.lock-conversation', {
  takes: { project: 'text', id: 'text' },
  returns: { title: 'text', region: 'text?', threads: 'text[]!', erasing_since: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT title, region, threads, erasing_since FROM conversations
    WHERE id = $id AND project_id = $project FOR NO KEY UPDATE`,
})

/** Inserts nothing if the id is in use. */
export const insertConversation = statement('projects.insert-conversation', {
  takes: {
    id: 'text',
    project: 'text',
    title: 'text',
    region: 'text?',
    threads: 'text[]',
    createdBy: 'text',
    at: 'timestamptz',
    now: 'timestamptz',
  },
  returns: 'count',
  sql: `INSERT INTO conversations (id, project_id, title, region, threads, created_by, created_at, updated_at)
    VALUES ($id, $project, $title, $region, $threads, $createdBy, $at, $now) ON CONFLICT (id) DO NOTHING`,
})

/** Waits for other transactions that take one of these threads. */
export const lockThreads = statement('projects.lock-threads', {
  takes: { threads: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: `SELECT pg_advisory_xact_lock(h) FROM (
    SELECT DISTINCT hashtextextended('thread:' || t, 0) AS h FROM unnest($threads) AS t ORDER BY h) AS l`,
})

/** Which of the threads belong to other conversations, and in which projects. */
export const takenThreads = statement('projects.taken-threads', {
  takes: { threads: 'text[]', conversation: 'text' },
  returns: { thread: 'text', project: 'text' },
  isPrepared: true,
  sql: `SELECT DISTINCT t.thread, c.project_id AS project FROM conversations c CROSS JOIN LATERAL unnest(c.threads) AS t(thread)
    WHERE c.threads && $threads AND t.thread = ANY($threads) AND c.id <> $conversation`,
})

const attachmentSql = `json_build_object('id', a.id, 'name', a.name, 'media_type', a.media_type, 'bytes', a.bytes,
  'sha256', encode(a.sha256, 'hex'), 'created_at', ${utc('a.created_at')})`
const messageColumns = {
  stored_id: 'text',
  id: 'text',
  conversation_id: 'text',
  role: typed<(typeof projectMessageRoles)[number]>('text'),
  author: typed<Writer>('json'),
  written_by: 'text?',
  claimed_by: 'text?',
  content: 'text',
  edits: 'int4',
  attachments: typed<AttachmentView[]>('json'),
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} as const
export type MessageRow = RowOf<typeof messageColumns>
const messageSql = `m.id AS stored_id, ${shownSql('m.id')} AS id, ${shownSql('m.conversation_id')} AS conversation_id, m.role,
  ${writerSql('m.author_kind', 'm.author_id')} AS author, m.written_by, ${claimantSql('m')} AS claimed_by, m.content,
  (SELECT count(*)::int4 FROM message_edits e WHERE e.message_id = m.id) AS edits,
  coalesce((SELECT json_agg(${attachmentSql} ORDER BY a.created_at, a.id) FROM attachments a WHERE a.message_id = m.id), '[]') AS attachments,
  m.created_at, m.updated_at`

/** The parameters that identify a message in its conversation. */
const messageTypes = { projectId: 'text', conversationId: 'text', messageId: 'text' } as const
const isMessage = 'm.id = $messageId AND m.conversation_id = $conversationId AND m.project_id = $projectId'

export const messageInConversation = statement('projects.message', {
  takes: messageTypes,
  returns: messageColumns,
  isPrepared: true,
  sql: `SELECT ${messageSql} FROM messages m JOIN conversations c ON c.id = m.conversation_id
    WHERE ${isMessage} AND m.erasing_since IS NULL AND c.erasing_since IS NULL`,
})

export const lockMessage = statement('projects.lock-message', {
  takes: messageTypes,
  returns: {
    id: 'text',
    author_kind: 'text',
    author_id: 'text',
    written_by: 'text?',
    claimed_by: 'text?',
    content: 'text',
    erasing_since: 'timestamptz?',
  },
  isPrepared: true,
  sql: `SELECT m.id, m.author_kind, m.author_id, m.written_by, ${claimantSql('m')} AS claimed_by, m.content, m.erasing_since
    FROM messages m WHERE ${isMessage} FOR NO KEY UPDATE OF m`,
})

/** The last erasure of a message. */
export const lastErasureOfMessage = statement('projects.last-erasure-of-message', {
  takes: messageTypes,
  returns: { isDone: 'bool', receipt: 'text', audit: 'text' },
  isPrepared: true,
  sql: `SELECT state = 'done' AS "isDone", receipt_id AS receipt, audit_id AS audit FROM erasure_scopes
    WHERE part_kind = 'message' AND part_id = $messageId AND conversation_id = $conversationId AND project_id = $projectId
    ORDER BY created_at DESC, id DESC LIMIT 1`,
})

/** Maximum bytes of messages in one response. */
const maxBytes = 4 * 1024 * 1024
/** A page of messages. It is selected by size first, so that it never loads more content than a response may have. */
export const messagesPage = statement('projects.messages-page', {
  takes: { conversation: 'text', ...pageTypes, reader: 'text?' },
  returns: { ...messageColumns, candidates: 'int4' },
  isPrepared: true,
  variants: ['oldest', 'newest'],
  sql: (first: 'oldest' | 'newest') => {
    const { sign, order } = first === 'oldest' ? { sign: '>', order: 'ASC' } : { sign: '<', order: 'DESC' }
    return `WITH candidate AS MATERIALIZED (
        SELECT m.id, m.created_at, octet_length(m.content) AS weight FROM messages m
        WHERE m.conversation_id = $conversation AND m.erasing_since IS NULL AND (m.created_at, m.id) ${sign} ($afterAt, $afterId)
          AND ${servedSql('m', '$reader')}
        ORDER BY m.created_at ${order}, m.id ${order} LIMIT $limit + 1),
      weighed AS (SELECT *, row_number() OVER ordered AS n, sum(weight) OVER ordered AS so_far FROM candidate
        WINDOW ordered AS (ORDER BY created_at ${order}, id ${order} ROWS UNBOUNDED PRECEDING))
      SELECT ${messageSql}, (SELECT count(*)::int4 FROM candidate) AS candidates FROM weighed w JOIN messages m ON m.id = w.id
      WHERE w.n <= $limit AND (w.n = 1 OR w.so_far <= ${maxBytes}) ORDER BY w.n`
  },
})

export const countServedMessages = statement('projects.count-served-messages', {
  takes: { conversation: 'text', reader: 'text?' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM messages m
    WHERE m.conversation_id = $conversation AND m.erasing_since IS NULL AND ${servedSql('m', '$reader')}`,
})

/** Earlier texts of a message, newest first: at most 100, and as many as fit into a response. */
export const formerTexts = statement('projects.former-texts', {
  takes: { message: 'text' },
  returns: { id: 'text', content: 'text', edited_by: typed<Writer>('json'), edited_at: 'timestamptz' },
  isPrepared: true,
  sql: `SELECT f.id, f.content, f.edited_by, f.edited_at FROM (
      SELECT e.id, e.content, ${doerSql('e.edited_by')} AS edited_by, e.edited_at,
        sum(octet_length(e.content)) OVER (ORDER BY e.edited_at DESC, e.id DESC ROWS UNBOUNDED PRECEDING) AS so_far
      FROM message_edits e WHERE e.message_id = $message) AS f
    WHERE f.so_far <= ${maxBytes} ORDER BY f.edited_at DESC, f.id DESC LIMIT 100`,
})

/** Inserts nothing if the id is in use. */
export const insertMessage = statement('projects.insert-message', {
  takes: {
    id: 'text',
    project: 'text',
    conversation: 'text',
    role: 'text',
    authorKind: 'text',
    authorId: 'text',
    writtenBy: 'text?',
    content: 'text',
    at: 'timestamptz',
    now: 'timestamptz',
  },
  returns: 'count',
  sql: `INSERT INTO messages (id, project_id, conversation_id, role, author_kind, author_id, written_by, content, created_at, updated_at)
    VALUES ($id, $project, $conversation, $role, $authorKind, $authorId, $writtenBy, $content, $at, $now)
    ON CONFLICT (id) DO NOTHING`,
})

export const countAttachments = statement('projects.count-attachments', {
  takes: { message: 'text' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: 'SELECT count(*)::int4 AS n FROM attachments WHERE message_id = $message',
})

export const attachmentOfMessage = statement('projects.attachment', {
  takes: { message: 'text', id: 'text' },
  returns: { view: typed<AttachmentView>('json') },
  isPrepared: true,
  sql: `SELECT ${attachmentSql} AS view FROM attachments a WHERE a.id = $id AND a.message_id = $message`,
})

export const fileOfAttachment = statement('projects.attachment-file', {
  takes: { ...messageTypes, attachmentId: 'text' },
  returns: {
    object_key: 'text',
    name: 'text',
    media_type: 'text',
    bytes: 'int4',
    author_kind: 'text',
    author_id: 'text',
  },
  isPrepared: true,
  sql: `SELECT a.object_key, a.name, a.media_type, a.bytes, m.author_kind, m.author_id
    FROM attachments a JOIN messages m ON m.id = a.message_id JOIN conversations c ON c.id = m.conversation_id
    WHERE a.id = $attachmentId AND ${isMessage} AND m.erasing_since IS NULL AND c.erasing_since IS NULL`,
})
