import { projectReaderOf, readableProject, storableProject } from '#lib/domains/projects/access.ts'
import { keptWithRow, storeUpload, type Uploaded } from '#lib/domains/projects/documents/uploads.ts'
import { refuseRestricted } from '#lib/domains/projects/participants/restricting.ts'
import type { ProjectPorts } from '#lib/domains/projects/ports.ts'
import { objectPointer, store } from '#lib/domains/projects/provenance/pointers.ts'
import { asDownload, most } from '#lib/domains/projects/rules.ts'
import { storedPath } from '#lib/domains/projects/stored-ids.ts'
import { batched } from '#lib/kernel/batched.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { stream } from '#lib/kernel/use-case.ts'
import { type AttachmentView, attachFile, downloadAttachment } from './contract.ts'
import { requireStorableConversation } from './conversations.ts'
import { type MessagePath, noMessage, ownMessage } from './message-rows.ts'
import { attachmentOfMessage, countAttachments, fileOfAttachment } from './repository.ts'

/** Maximum number of files of one message. */
const mostAttachments = 100

interface FileRow {
  object_key: string
  name: string
  media_type: string
  bytes: number
}
/** A stored file as a download that a browser does not execute. @throws {Problem} `not_found` if its bytes no longer exist */
export async function fileReply({ objects }: Pick<ProjectPorts, 'objects'>, row: FileRow) {
  const body = await objects.get(row.object_key)
  if (!body) throw new Problem('not_found', 'The object store no longer has this file.')
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

type Ports = Pick<ProjectPorts, 'db' | 'objects' | 'regions'>

/** Checks that the actor may attach a file to a message, and returns the stored ids. Throws as {@link ownMessage}. */
async function requireAttachable(ports: Ports, { actor }: Context, tx: Transaction, given: MessagePath) {
  await storableProject(ports, tx, projectReaderOf({ actor }), given.projectId)
  const path = await storedPath(tx, given)
  await requireStorableConversation(ports, tx, path.conversationId)
  await ownMessage(tx, actor, path)
  const [counted] = await countAttachments(tx, { message: path.messageId })
  if ((counted?.n ?? 0) >= mostAttachments)
    throw new Problem(
      'wrong_state',
      `This message already has ${mostAttachments} files, which is the limit. The file was not stored.`,
    )
  return path
}

async function attachmentIn(tx: Transaction, message: string, id: string): Promise<AttachmentView> {
  const [row] = await attachmentOfMessage(tx, { message, id })
  if (!row) throw noMessage()
  return row.view
}

/** Stores the row of an uploaded file, with its pointer and audit entry. */
async function storeRow(
  { actor, now, ip, pipeline }: Context,
  tx: Transaction,
  { projectId, messageId }: MessagePath,
  id: string,
  name: string,
  { mediaType, bytes, sha256, key: objectKey }: Uploaded,
): Promise<AttachmentView> {
  await tx.attachment.create({ data: { id, messageId, name, mediaType, bytes, sha256, objectKey, createdAt: now } })
  await store(tx, [objectPointer(messageId, 'message', objectKey)], { projectId, toldBy: actor.id, now })
  await pipeline.auditWithin(tx, {
    ...{ action: 'create', actorId: actor.id, resourceType: 'attachment', resourceId: id, at: now, ip },
    details: { operation: attachFile.id, message: messageId, bytes },
  })
  return attachmentIn(tx, messageId, id)
}

/** Use cases for attachments. Bytes are stored on arrival, outside a transaction. If the row cannot be stored, the bytes are deleted. */
export const projectAttachments = (ports: Ports) => ({
  attachFile: batched(
    attachFile,
    async (ctx, { params: given, query: { name }, upload }) => {
      // Check before the bytes are read, and again when the row is stored.
      const check = (tx: Transaction) => requireAttachable(ports, ctx, tx, given)
      const path = await ctx.pipeline.transaction(check)
      const id = newId('att')
      const key = `projects/${path.projectId}/messages/${shownId(path.messageId)}/${id}`
      const uploaded = await storeUpload(ports, key, upload, most.attachment)
      const view = await keptWithRow(ports, key, () =>
        ctx.pipeline.transaction(async (tx) => storeRow(ctx, tx, await check(tx), id, name, uploaded)),
      )
      return { body: { data: view }, resourceId: id, details: { bytes: uploaded.bytes } }
    },
    // The stored response omits the name, because it may be erased before a retry. A retry reads the current name.
    ({ data: { name: _, sha256: __, ...data } }) => ({ data }),
    async ({ tx, ...ctx }, { params }, { id }) => {
      await readableProject(tx, projectReaderOf(ctx), params.projectId)
      const { messageId } = await storedPath(tx, params)
      const { name, sha256 } = await attachmentIn(tx, messageId, String(id))
      return { name, sha256 }
    },
  ),

  downloadAttachment: stream(downloadAttachment, async (ctx, { params }) => {
    const { db } = ports
    await readableProject(db, projectReaderOf(ctx), params.projectId)
    const path = await storedPath(db, params)
    const [row] = await fileOfAttachment(db, path)
    if (!row) throw new Problem('not_found', 'The message has no such file, or it was erased.')
    await refuseRestricted(db, ctx.actor, row)
    return { ...(await fileReply(ports, row)), resourceId: path.attachmentId, details: { message: path.messageId } }
  }),
})
