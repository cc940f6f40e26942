import {
  projectReaderOf,
  queryDirectly,
  queryInTransaction,
  readableProject,
  type SeenProject,
  writableProject,
} from '#lib/domains/projects/access.ts'
import { storedIdOwner } from '#lib/domains/projects/chosen-ids.ts'
import { authorFor, type RowAuthor } from '#lib/domains/projects/participants/authors.ts'
import { isPerson, servedSql } from '#lib/domains/projects/participants/restricting.ts'
import type { ProjectPorts } from '#lib/domains/projects/ports.ts'
import { claimPlaces } from '#lib/domains/projects/provenance/claims.ts'
import {
  type ConfiningPorts,
  confine,
  defaultsOf,
  type ReportedPointer,
  store,
} from '#lib/domains/projects/provenance/pointers.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { requireStorable } from '#lib/kernel/data-regions.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { encodeCursor, parseCursor } from '#lib/kernel/pages.ts'
import { invalid } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { createMessage, editMessage, listMessages, readMessage } from './contract.ts'
import {
  newStoredId,
  noConversation,
  projectIdInUse,
  requireConversation,
  requireStorableConversation,
} from './conversations.ts'
import {
  type MessageRow,
  messageColumns,
  messageDetail,
  messagePageBytes,
  messageView,
  ownMessage,
  readMessageRow,
} from './message-rows.ts'

/** SQL: selects by size first, so that a page never loads more content than a response may have. */
const pageOf = (sign: '>' | '<', order: 'ASC' | 'DESC'): string => `WITH candidate AS MATERIALIZED (
    SELECT m.id, m.created_at, octet_length(m.content) AS weight FROM messages m
    WHERE m.conversation_id = $1 AND m.erasing_since IS NULL AND (m.created_at, m.id) ${sign} ($2::timestamptz, $3)
      AND ${servedSql('m', '$5')}
    ORDER BY m.created_at ${order}, m.id ${order} LIMIT $4 + 1),
  weighed AS (SELECT *, row_number() OVER ordered AS n, sum(weight) OVER ordered AS so_far FROM candidate
    WINDOW ordered AS (ORDER BY created_at ${order}, id ${order} ROWS UNBOUNDED PRECEDING))
  SELECT ${messageColumns}, (SELECT count(*)::int FROM candidate) AS candidates FROM weighed w JOIN messages m ON m.id = w.id
  WHERE w.n <= $4 AND (w.n = 1 OR w.so_far <= ${messagePageBytes}) ORDER BY w.n`
const orders = {
  oldest: { name: 'messages-page', text: pageOf('>', 'ASC'), start: { at: '-infinity', id: '' } },
  newest: { name: 'messages-page-newest', text: pageOf('<', 'DESC'), start: { at: 'infinity', id: '' } },
}

type MessagePorts = Pick<ProjectPorts, 'erasedAmong' | 'isSuppressed' | 'withCheckpoints' | 'regions'> & ConfiningPorts
type NewMessage = Input<typeof createMessage>['body']

/** The pointers of a message in its request. */
export const reportedPointersOf = (
  id: string,
  { provenance = [] }: Pick<NewMessage, 'provenance'>,
): ReportedPointer[] =>
  provenance.map((entry, index) => ({ ...entry, source: id, kind: 'message', path: ['provenance', index] }))

/**
 * Stores a message with its author and pointers, in a project to which the actor may write.
 * @throws {Problem} `not_found`, `invalid`, `erased`, `id_in_use`, `conflict` while a region is not available here, and those of its author
 * and pointers
 */
export async function makeMessage(
  ports: MessagePorts,
  ctx: { tx: Transaction; actor: Actor; now: Date },
  project: SeenProject,
  conversationId: string,
  body: NewMessage,
): Promise<{ id: string; author: RowAuthor }> {
  const { tx, actor, now } = ctx
  const projectId = project.id
  const [conversation] = await queryInTransaction(tx)<{ region: string | null }>(
    'conversation-written',
    'SELECT region FROM conversations WHERE id = $1 AND project_id = $2',
    [conversationId, projectId],
  )
  if (!conversation) throw noConversation()
  for (const { region } of [project, conversation]) requireStorable(ports.regions, region, 'conflict')
  if (body.created_at !== undefined && body.created_at > now) throw invalid(['created_at'], 'lies ahead of now')
  const id = await newStoredId(ports, tx, 'message', { projectId, chosen: body.id })
  const author = await authorFor(ports, ctx, projectId, body.author)
  const at = body.created_at ?? now
  const made = await tx.$queryRaw<{ id: string }[]>`
    INSERT INTO messages (id, project_id, conversation_id, role, author_kind, author_id, written_by, content, created_at, updated_at)
    VALUES (${id}, ${projectId}, ${conversationId}, ${body.role}, ${author.kind}, ${author.id}, ${author.writtenBy}, ${body.content}, ${at}, ${now})
    ON CONFLICT (id) DO NOTHING RETURNING id`
  if (made.length === 0) throw projectIdInUse()
  const reported = reportedPointersOf(id, body)
  await confine(tx, actor, project, reported, ports)
  await claimPlaces(ports, tx, actor, projectId, reported)
  await store(tx, [...reported, ...defaultsOf(id)], { projectId, toldBy: actor.id, now })
  return { id, author }
}

/** Use cases for messages. */
export const projectMessages = (ports: MessagePorts & Pick<ProjectPorts, 'db'>) => {
  const { db } = ports
  return {
    messages: read(listMessages, async (ctx, { params, query: { cursor, limit, order } }) => {
      const ask = queryDirectly(db)
      await readableProject(ask, projectReaderOf(ctx), params.projectId)
      const { projectId, conversationId } = await storedIdOwner(ask, params)
      await requireConversation(ask, projectId, conversationId)
      const { name, text, start } = orders[order]
      const place = parseCursor(cursor) ?? start
      const rows = await ask<MessageRow & { candidates: number }>(name, text, [
        conversationId,
        place.at,
        place.id,
        limit,
        isPerson(ctx.actor),
      ])
      const [counted] = await ask<{ n: number }>(
        'messages-served',
        `SELECT count(*)::int AS n FROM messages m WHERE m.conversation_id = $1 AND m.erasing_since IS NULL AND ${servedSql('m', '$2')}`,
        [conversationId, isPerson(ctx.actor)],
      )
      const total = counted?.n ?? 0
      const last = rows.at(-1)
      return {
        resourceId: conversationId,
        details: { project: projectId, count: rows.length },
        body: {
          data: rows.map((row) => messageView(ctx.actor, row)),
          total,
          offset: 0,
          limit,
          next_cursor: last && last.candidates > rows.length ? encodeCursor(last.created_at, last.stored_id) : null,
        },
      }
    }),

    createMessage: mutation(
      createMessage,
      async (ctx, { params, body }) => {
        const { tx, actor, now } = ctx
        const ask = queryInTransaction(tx)
        const project = await writableProject(ask, projectReaderOf(ctx), params.projectId)
        const { projectId, conversationId } = await storedIdOwner(ask, params)
        const { id, author } = await makeMessage(ports, ctx, project, conversationId, body)
        await tx.conversation.update({ where: { id: conversationId }, data: { updatedAt: now } })
        const row = await readMessageRow(ask, actor, { projectId, conversationId, messageId: id })
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
      async (ctx, { params }, { id }) => {
        const ask = queryInTransaction(ctx.tx)
        await readableProject(ask, projectReaderOf(ctx), params.projectId)
        const place = await storedIdOwner(ask, { ...params, messageId: String(id) })
        const { content, author, attachments } = messageView(ctx.actor, await readMessageRow(ask, ctx.actor, place))
        return { content, author, attachments }
      },
    ),

    readMessage: read(readMessage, async (ctx, { params: given }) => {
      const ask = queryDirectly(db)
      await readableProject(ask, projectReaderOf(ctx), given.projectId)
      const params = await storedIdOwner(ask, given)
      return {
        body: { data: await messageDetail(ask, ctx.actor, params) },
        resourceId: params.messageId,
        details: { project: params.projectId, conversation: params.conversationId },
      }
    }),

    editMessage: mutation(editMessage, async (ctx, { params: given, body }) => {
      const { tx, actor, now } = ctx
      const ask = queryInTransaction(tx)
      const { region } = await writableProject(ask, projectReaderOf(ctx), given.projectId)
      const params = await storedIdOwner(ask, given)
      const before = await ownMessage(ask, actor, params)
      if (before.content !== body.content) {
        requireStorable(ports.regions, region, 'conflict')
        await requireStorableConversation(ports, ask, params.conversationId)
        await tx.messageEdit.create({
          data: { id: newId('edit'), messageId: before.id, content: before.content, editedBy: actor.id, editedAt: now },
        })
        await tx.message.update({ where: { id: before.id }, data: { content: body.content, updatedAt: now } })
      }
      return {
        body: { data: await messageDetail(ask, actor, params) },
        resourceId: before.id,
        details: { project: params.projectId, conversation: params.conversationId, fields: ['content'] },
      }
    }),
  }
}
