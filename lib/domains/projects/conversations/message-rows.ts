import { isMine, wasErased } from '#lib/domains/projects/access.ts'
import { refuseRestricted } from '#lib/domains/projects/participants/restricting.ts'
import type { Actor } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import type { MessageDetail, MessageView } from './contract.ts'
import { formerTexts, lastErasureOfMessage, lockMessage, type MessageRow, messageInConversation } from './repository.ts'

export const messageView = (
  actor: Actor,
  { stored_id: _, claimed_by: claimedBy, ...row }: MessageRow,
): MessageView => ({
  ...row,
  is_mine: isMine(actor, {
    authorKind: row.author.kind,
    authorId: row.author.id,
    writtenBy: row.written_by,
    claimedBy,
  }),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
export const noMessage = (): Problem =>
  new Problem('not_found', 'The conversation has no such message, or it was erased.')

/** The stored ids of a message and its containers. */
export interface MessagePath {
  projectId: string
  conversationId: string
  messageId: string
}

/** The problem for a missing message: `erased` after a verified erasure; before, `not_found` with the erasure's `audit_id`. */
async function whyMissing(on: Queryable, path: MessagePath): Promise<Problem> {
  const [run] = await lastErasureOfMessage(on, path)
  if (!run) return noMessage()
  if (run.isDone) return wasErased(run.receipt)
  return new Problem('not_found', {
    detail: 'The message is being erased, so it can no longer be read.',
    extensions: { audit_id: run.audit },
  })
}

/** A message that the actor may read. @throws {Problem} `not_found`, also while it is being erased; `erased`; `restricted` */
export async function readMessageRow(on: Queryable, actor: Actor, path: MessagePath): Promise<MessageRow> {
  const [row] = await messageInConversation(on, path)
  if (!row) throw await whyMissing(on, path)
  await refuseRestricted(on, actor, { author_kind: row.author.kind, author_id: row.author.id })
  return row
}

/** A message with its earlier texts, newest first. A token without the scope `read`, which may edit it, gets no earlier text. */
export async function messageDetail(on: Queryable, actor: Actor, path: MessagePath): Promise<MessageDetail> {
  const view = messageView(actor, await readMessageRow(on, actor, path))
  const edits = actor.can('projects:read') ? await formerTexts(on, { message: path.messageId }) : []
  return { ...view, former: edits.map((edit) => ({ ...edit, edited_at: edit.edited_at.toISOString() })) }
}

/**
 * Locks a message for a change by its author until the transaction ends.
 * @throws {Problem} `not_found`, `fenced` while it is being erased, `restricted`, `forbidden` for anybody but the author
 */
export async function ownMessage(
  on: Queryable,
  actor: Actor,
  path: MessagePath,
): Promise<{ id: string; content: string }> {
  const [row] = await lockMessage(on, path)
  if (!row) throw noMessage()
  const { author_kind: authorKind, author_id: authorId, written_by: writtenBy, claimed_by: claimedBy } = row
  if (!isMine(actor, { authorKind, authorId, writtenBy, claimedBy }))
    throw new Problem('forbidden', 'Only the author of a message can change it.')
  await refuseRestricted(on, actor, row)
  if (row.erasing_since !== null)
    throw new Problem('fenced', 'The message is being erased, so it accepts no changes. Nothing was stored.')
  return row
}
