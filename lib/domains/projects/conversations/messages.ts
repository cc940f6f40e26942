import { projectReaderOf, readableProject, writableProject } from '#lib/domains/projects/access.ts'
import { pageValues } from '#lib/domains/projects/list-page.ts'
import { isPerson } from '#lib/domains/projects/participants/restricting.ts'
import type { ProjectPorts } from '#lib/domains/projects/ports.ts'
import { storedPath } from '#lib/domains/projects/stored-ids.ts'
import { requireStorable } from '#lib/kernel/data-regions.ts'
import { newId } from '#lib/kernel/ids.ts'
import { encodeCursor } from '#lib/kernel/pages.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { createMessage, editMessage, listMessages, readMessage } from './contract.ts'
import { requireConversation, requireStorableConversation } from './conversations.ts'
import { messageDetail, messageView, ownMessage, readMessageRow } from './message-rows.ts'
import { type MessagePorts, makeMessage } from './message-storage.ts'
import { countServedMessages, messagesPage } from './repository.ts'

const list = ({ db }: Pick<ProjectPorts, 'db'>) =>
  read(listMessages, async (ctx, { params, query: { order, ...query } }) => {
    await readableProject(db, projectReaderOf(ctx), params.projectId)
    const { projectId, conversationId: conversation } = await storedPath(db, params)
    await requireConversation(db, projectId, conversation)
    const served = { conversation, isPerson: isPerson(ctx.actor) }
    const { limit } = query
    const start = query.cursor === undefined && order === 'oldest' ? { afterAt: '-infinity' as const } : {}
    const rows = await messagesPage(db, { ...served, ...pageValues(query), ...start, limit }, order)
    const [counted] = await countServedMessages(db, served)
    const last = rows.at(-1)
    return {
      resourceId: conversation,
      details: { project: projectId, count: rows.length },
      body: {
        data: rows.map(({ candidates: _, ...row }) => messageView(ctx.actor, row)),
        ...{ total: counted?.n ?? 0, offset: 0, limit },
        next_cursor: last && last.candidates > rows.length ? encodeCursor(last.created_at, last.stored_id) : null,
      },
    }
  })

const create = (ports: MessagePorts) =>
  mutation(
    createMessage,
    async (ctx, { params, body }) => {
      const { tx, actor, now } = ctx
      const project = await writableProject(tx, projectReaderOf(ctx), params.projectId)
      const { projectId, conversationId } = await storedPath(tx, params)
      const { id, author } = await makeMessage(ports, ctx, project, conversationId, body)
      await tx.conversation.update({ where: { id: conversationId }, data: { updatedAt: now } })
      const row = await readMessageRow(tx, actor, { projectId, conversationId, messageId: id })
      return {
        body: { data: messageView(actor, row) },
        resourceId: id,
        details: {
          project: projectId,
          conversation: conversationId,
          ...(author.kind === 'participant' && { participant: author.id }),
        },
      }
    },
    async ({ tx, ...ctx }, { params }, { id }) => {
      await readableProject(tx, projectReaderOf(ctx), params.projectId)
      const path = await storedPath(tx, { ...params, messageId: String(id) })
      const { content, author, attachments } = messageView(ctx.actor, await readMessageRow(tx, ctx.actor, path))
      return { content, author, attachments }
    },
  )

/** Replaces the text of a message. The earlier text remains as an edit. */
const edit = (ports: Pick<ProjectPorts, 'regions'>) =>
  mutation(editMessage, async (ctx, { params, body: { content } }) => {
    const { tx, actor, now } = ctx
    const { region } = await writableProject(tx, projectReaderOf(ctx), params.projectId)
    const path = await storedPath(tx, params)
    const before = await ownMessage(tx, actor, path)
    if (before.content !== content) {
      requireStorable(ports.regions, region, 'conflict')
      await requireStorableConversation(ports, tx, path.conversationId)
      await tx.messageEdit.create({
        data: { id: newId('edit'), messageId: before.id, content: before.content, editedBy: actor.id, editedAt: now },
      })
      await tx.message.update({ where: { id: before.id }, data: { content, updatedAt: now } })
    }
    return {
      body: { data: await messageDetail(tx, actor, path) },
      resourceId: before.id,
      details: { project: path.projectId, conversation: path.conversationId, fields: ['content'] },
    }
  })

/** Use cases to list, create, read and edit messages. */
export const projectMessages = ({ db, ...ports }: MessagePorts & Pick<ProjectPorts, 'db'>) => ({
  messages: list({ db }),
  createMessage: create(ports),
  readMessage: read(readMessage, async (ctx, { params }) => {
    await readableProject(db, projectReaderOf(ctx), params.projectId)
    const path = await storedPath(db, params)
    return {
      body: { data: await messageDetail(db, ctx.actor, path) },
      resourceId: path.messageId,
      details: { project: path.projectId, conversation: path.conversationId },
    }
  }),
  editMessage: edit(ports),
})
