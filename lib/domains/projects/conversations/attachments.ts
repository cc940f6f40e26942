import {
  type ProjectQuery,
  projectReaderOf,
  queryDirectly,
  queryInTransaction,
  readableProject,
  storableProject,
} from '#lib/domains/projects/access.ts'
import { storedIdOwner } from '#lib/domains/projects/chosen-ids.ts'
import { keptWithRow, storeUpload } from '#lib/domains/projects/documents/uploads.ts'
import { refuseRestricted } from '#lib/domains/projects/participants/restricting.ts'
import type { ProjectPorts } from '#lib/domains/projects/ports.ts'
import { objectPointer, store } from '#lib/domains/projects/provenance/pointers.ts'
import { asDownload, most } from '#lib/domains/projects/rules.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { batched, stream } from '#lib/kernel/use-case.ts'
import { type AttachmentView, attachFile, downloadAttachment } from './contract.ts'
import { requireStorableConversation } from './conversations.ts'
import { attachmentSql, type MessageCursor, noMessage, ownMessage } from './message-rows.ts'

/** Maximum number of files of one message. */
const mostAttachments = 100

const selectFile = `SELECT a.object_key, a.name, a.media_type, a.bytes, m.author_kind, m.author_id FROM attachments a JOIN messages m ON m.id = a.message_id
  JOIN conversations c ON c.id = m.conversation_id
  WHERE a.id = $1 AND m.id = $2 AND m.conversation_id = $3 AND m.project_id = $4 AND m.erasing_since IS NULL AND c.erasing_since IS NULL`

interface FileRow {
  object_key: string
  name: string
  media_type: string
  bytes: number
}
/** A stored file as a download that a browser does not execute. @throws {Problem} `not_found` if its bytes no longer exist */
export async function fileReply({ objects }: Pick<ProjectPorts, 'objects'>, row: FileRow) {
  const body = await objects.get(row.object_key)
  if (!body) throw new Problem('not_found', 'Its bytes are no longer there.')
  return {
    body,
    headers: {
      'Content-Type': row.media_type,
      'Content-Length': String(row.bytes),
      'Content-Disposition': asDownload(row.name),
      'Content-Security-Policy': "sandbox; default-src 'none'",
    },
  }
}

/** Use cases for attachments. Bytes are stored on arrival, outside a transaction. If the row cannot be stored, the bytes are deleted. */
export const projectAttachments = (ports: Pick<ProjectPorts, 'db' | 'objects' | 'regions'>) => {
  const { db } = ports
  const requireRoom = async (ask: ProjectQuery, { messageId }: MessageCursor) => {
    const [counted] = await ask<{ n: number }>(
      'attachments-of-message',
      'SELECT count(*)::int AS n FROM attachments WHERE message_id = $1',
      [messageId],
    )
    if ((counted?.n ?? 0) >= mostAttachments)
      throw new Problem('wrong_state', `A message has ${mostAttachments} files at most. Nothing was kept.`)
  }
  return {
    attachFile: batched(
      attachFile,
      async (ctx, { params: given, query: { name }, upload }) => {
        // Check before the bytes are read, and again when the row is stored.
        const check = async (ask: ProjectQuery) => {
          await storableProject(ports, ask, projectReaderOf(ctx), given.projectId)
          const place = await storedIdOwner(ask, given)
          await requireStorableConversation(ports, ask, place.conversationId)
          await ownMessage(ask, ctx.actor, place)
          await requireRoom(ask, place)
          return place
        }
        const params = await ctx.pipeline.transaction((tx) => check(queryInTransaction(tx)))
        const id = newId('att')
        const key = `projects/${params.projectId}/messages/${shownId(params.messageId)}/${id}`
        const stored = await storeUpload(ports, key, upload, most.attachment)
        const view = await keptWithRow(ports, key, () =>
          ctx.pipeline.transaction(async (tx) => {
            const { now } = ctx
            const ask = queryInTransaction(tx)
            await check(ask)
            await tx.attachment.create({
              data: {
                id,
                messageId: params.messageId,
                name,
                mediaType: stored.mediaType,
                bytes: stored.bytes,
                sha256: stored.sha256,
                objectKey: key,
                createdAt: now,
              },
            })
            const toldBy = ctx.actor.id
            await store(tx, [objectPointer(params.messageId, 'message', key)], {
              projectId: params.projectId,
              toldBy,
              now,
            })
            await ctx.pipeline.auditWithin(tx, {
              action: 'create',
              actorId: toldBy,
              resourceType: 'attachment',
              resourceId: id,
              at: now,
              ip: ctx.ip,
              details: { operation: attachFile.id, message: params.messageId, bytes: stored.bytes },
            })
            const [row] = await ask<{ view: AttachmentView }>(
              'attachment-view',
              `SELECT ${attachmentSql} AS view FROM attachments a WHERE a.id = $1`,
              [id],
            )
            if (!row) throw noMessage()
            return row.view
          }),
        )
        return { body: { data: view }, resourceId: id, details: { bytes: stored.bytes } }
      },
      // The stored response omits the name, because it may be erased before a retry. A retry reads the current name.
      ({ data: { name: _, sha256: __, ...data } }) => ({ data }),
      async ({ tx, ...ctx }, { params: given }, { id }) => {
        const ask = queryInTransaction(tx)
        await readableProject(ask, projectReaderOf(ctx), given.projectId)
        const { messageId } = await storedIdOwner(ask, given)
        const [row] = await ask<{ view: AttachmentView }>(
          'attachment-of-message',
          `SELECT ${attachmentSql} AS view FROM attachments a WHERE a.id = $1 AND a.message_id = $2`,
          [id, messageId],
        )
        if (!row) throw noMessage()
        return { name: row.view.name, sha256: row.view.sha256 }
      },
    ),

    downloadAttachment: stream(downloadAttachment, async (ctx, { params: given }) => {
      const ask = queryDirectly(db)
      await readableProject(ask, projectReaderOf(ctx), given.projectId)
      const params = await storedIdOwner(ask, given)
      const [row] = await ask<FileRow & { author_kind: string; author_id: string }>('attachment-file', selectFile, [
        params.attachmentId,
        params.messageId,
        params.conversationId,
        params.projectId,
      ])
      if (!row) throw new Problem('not_found', 'This message has no such file. It may be erased.')
      await refuseRestricted(ask, ctx.actor, row)
      return {
        ...(await fileReply(ports, row)),
        resourceId: params.attachmentId,
        details: { message: params.messageId },
      }
    }),
  }
}
