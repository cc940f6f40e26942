import { claimantSql, doerSql, isMine, type ProjectQuery, wasErased, writerSql } from '#lib/domains/projects/access.ts'
import { shownSql } from '#lib/domains/projects/chosen-ids.ts'
import type { Writer } from '#lib/domains/projects/contract.ts'
import { refuseRestricted } from '#lib/domains/projects/participants/restricting.ts'
import type { projectMessageRoles } from '#lib/domains/projects/rules.ts'
import type { Actor } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { AttachmentView, MessageDetail, MessageView } from './contract.ts'

/** An attachment from a JSON column: its time is text. */
type ListedAttachment = AttachmentView
export interface MessageRow {
  stored_id: string
  id: string
  conversation_id: string
  role: (typeof projectMessageRoles)[number]
  author: Writer
  written_by: string | null
  claimed_by: string | null
  content: string
  edits: number
  attachments: ListedAttachment[]
  created_at: Date
  updated_at: Date
}
/** SQL: a time in the API's format. */
const utc = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
export const attachmentSql = `json_build_object('id', a.id, 'name', a.name, 'media_type', a.media_type, 'bytes', a.bytes,
  'sha256', encode(a.sha256, 'hex'), 'created_at', ${utc('a.created_at')})`
/** SQL: columns of a message `m`. */
export const messageColumns = `m.id AS stored_id, ${shownSql('m.id')} AS id, ${shownSql('m.conversation_id')} AS conversation_id, m.role, ${writerSql('m.author_kind', 'm.author_id')} AS author, m.written_by, ${claimantSql('m')} AS claimed_by, m.content,
  (SELECT count(*)::int FROM message_edits e WHERE e.message_id = m.id) AS edits,
  coalesce((SELECT json_agg(${attachmentSql} ORDER BY a.created_at, a.id) FROM attachments a WHERE a.message_id = m.id), '[]') AS attachments,
  m.created_at, m.updated_at`

export const messageView = (actor: Actor, row: MessageRow): MessageView => ({
  id: row.id,
  conversation_id: row.conversation_id,
  role: row.role,
  author: row.author,
  written_by: row.written_by,
  content: row.content,
  edits: row.edits,
  attachments: row.attachments,
  is_mine: isMine(actor, {
    authorKind: row.author.kind,
    authorId: row.author.id,
    writtenBy: row.written_by,
    claimedBy: row.claimed_by,
  }),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
export const noMessage = (): Problem =>
  new Problem('not_found', 'There is no such message in this conversation. It may be erased.')

export interface MessageCursor {
  projectId: string
  conversationId: string
  messageId: string
}
const one = `SELECT ${messageColumns} FROM messages m JOIN conversations c ON c.id = m.conversation_id
  WHERE m.id = $1 AND m.conversation_id = $2 AND m.project_id = $3 AND m.erasing_since IS NULL AND c.erasing_since IS NULL`
const lastErasure = `SELECT state = 'done' AS "isDone", receipt_id AS receipt, audit_id AS audit FROM erasure_scopes
  WHERE part_kind = 'message' AND part_id = $1 AND conversation_id = $2 AND project_id = $3 ORDER BY created_at DESC, id DESC LIMIT 1`

/** The problem for a missing message: `erased` after a verified erasure; before, `not_found` with the erasure's `audit_id`. */
async function whyMissing(
  ask: ProjectQuery,
  { messageId, conversationId, projectId }: MessageCursor,
): Promise<Problem> {
  const [run] = await ask<{ isDone: boolean; receipt: string; audit: string }>('message-erasure', lastErasure, [
    messageId,
    conversationId,
    projectId,
  ])
  if (!run) return noMessage()
  if (run.isDone) return wasErased(run.receipt)
  return new Problem('not_found', {
    detail: 'The message is being erased: nobody reads it any more.',
    extensions: { audit_id: run.audit },
  })
}

/** A message that the actor may read. @throws {Problem} `not_found`, also while it is being erased; `erased`; `restricted` */
export async function readMessageRow(ask: ProjectQuery, actor: Actor, cursor: MessageCursor): Promise<MessageRow> {
  const [row] = await ask<MessageRow>('message', one, [cursor.messageId, cursor.conversationId, cursor.projectId])
  if (!row) throw await whyMissing(ask, cursor)
  await refuseRestricted(ask, actor, { author_kind: row.author.kind, author_id: row.author.id })
  return row
}

/** Maximum bytes of messages in one response. */
export const messagePageBytes = 4 * 1024 * 1024
const former = `SELECT f.id, f.content, f.edited_by, f.edited_at FROM (
    SELECT e.id, e.content, ${doerSql('e.edited_by')} AS edited_by, e.edited_at,
      sum(octet_length(e.content)) OVER (ORDER BY e.edited_at DESC, e.id DESC ROWS UNBOUNDED PRECEDING) AS so_far
    FROM message_edits e WHERE e.message_id = $1) AS f WHERE f.so_far <= ${messagePageBytes} ORDER BY f.edited_at DESC, f.id DESC LIMIT 100`

/** A message with its earlier texts, newest first. A token without the scope `read`, which may edit it, gets no earlier text. */
export async function messageDetail(ask: ProjectQuery, actor: Actor, cursor: MessageCursor): Promise<MessageDetail> {
  const view = messageView(actor, await readMessageRow(ask, actor, cursor))
  if (!actor.can('projects:read')) return { ...view, former: [] }
  const edits = await ask<{ id: string; content: string; edited_by: Writer; edited_at: Date }>(
    'message-edits',
    former,
    [cursor.messageId],
  )
  return { ...view, former: edits.map((edit) => ({ ...edit, edited_at: edit.edited_at.toISOString() })) }
}

interface LockedMessage {
  id: string
  author_kind: string
  author_id: string
  written_by: string | null
  claimed_by: string | null
  content: string
  erasing_since: Date | null
}
/**
 * Locks a message for a change by its author until the transaction ends.
 * @throws {Problem} `not_found`, `fenced` while it is being erased, `restricted`, `forbidden` for anybody but the author
 */
export async function ownMessage(ask: ProjectQuery, actor: Actor, cursor: MessageCursor): Promise<LockedMessage> {
  const [row] = await ask<LockedMessage>(
    'lock-message',
    `SELECT m.id, m.author_kind, m.author_id, m.written_by, ${claimantSql('m')} AS claimed_by, m.content, m.erasing_since FROM messages m
     WHERE m.id = $1 AND m.conversation_id = $2 AND m.project_id = $3 FOR NO KEY UPDATE OF m`,
    [cursor.messageId, cursor.conversationId, cursor.projectId],
  )
  if (!row) throw noMessage()
  if (
    !isMine(actor, {
      authorKind: row.author_kind,
      authorId: row.author_id,
      writtenBy: row.written_by,
      claimedBy: row.claimed_by,
    })
  )
    throw new Problem('forbidden', 'Only who wrote a message changes it.')
  await refuseRestricted(ask, actor, row)
  if (row.erasing_since !== null)
    throw new Problem(
      'fenced',
      'The message is being erased: nothing is added to it any more. Nothing of this was kept.',
    )
  return row
}
