import type { Actor, Context, Transaction } from '#lib/kernel/context.ts'
import { requireStorable } from '#lib/kernel/data-regions.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { encodeCursor, pageOf } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { batched, mutation, read, stream } from '#lib/kernel/use-case.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { isMine, projectReaderOf, readableProject, storableProject, wasErased, writableProject } from '../access.ts'
import { retainedWithRow, storeUpload, type Uploaded } from '../documents/uploads.ts'
import { pageValues } from '../list-page.ts'
import { authorFor, type RowAuthor } from '../participants/authors.ts'
import { refuseRestricted, restrictedReader } from '../participants/restricting.ts'
import type { ProjectPorts } from '../ports.ts'
import { claimPlaces } from '../provenance/claims.ts'
import {
  type ConfiningPorts,
  confine,
  defaultsOf,
  objectPointer,
  type ReportedPointer,
  store,
} from '../provenance/pointers.ts'
import type { SeenProject } from '../repository.ts'
import { asDownload, max } from '../rules.ts'
import { knownStoredId, newStoredId, projectIdInUse, storedPath } from '../stored-ids.ts'
import {
  type AttachmentView,
  attachFile,
  type ConversationView,
  createConversation,
  createMessage,
  downloadAttachment,
  editConversation,
  editMessage,
  listConversations,
  listMessages,
  type MessageDetail,
  type MessageView,
  readConversation,
  readMessage,
} from './contract.ts'
import {
  type ConversationPorts,
  claimAddedThreads,
  makeConversation,
  requireOwnAddedThreads,
  takeThreads,
} from './conversation-storage.ts'
import {
  attachmentOfMessage,
  type ConversationRow,
  conversationInProject,
  conversationsPage,
  countAttachments,
  countServedMessages,
  fileOfAttachment,
  findConversation,
  formerTexts,
  insertMessage,
  lastErasureOfMessage,
  lockConversation,
  lockMessage,
  type MessageRow,
  messageInConversation,
  messagesPage,
  regionOfConversation,
} from './repository.ts'

const viewOf = ({ stored_id: _, ...view }: ConversationRow): ConversationView => view
const noConversation = (): Problem =>
  new Problem('not_found', 'The project has no such conversation, or it was erased.')

/** A conversation as the actor may read it. @throws {Problem} `not_found` */
async function conversationIn(
  on: Queryable,
  actor: Pick<Actor, 'kind' | 'id'>,
  project: string,
  id: string,
): Promise<ConversationView> {
  const [row] = await conversationInProject(on, { project, id, reader: restrictedReader(actor) })
  if (!row) throw noConversation()
  return viewOf(row)
}

/** @throws {Problem} `not_found` unless the conversation exists and is not being erased */
async function requireConversation(on: Queryable, project: string, id: string): Promise<void> {
  const [row] = await findConversation(on, { project, id })
  if (!row || row.isErasing) throw noConversation()
}

/**
 * Checks that new content can be stored in a conversation: its own region is available here. The caller checks the project's.
 * @throws {Problem} `conflict`
 */
export async function requireStorableConversation(
  { regions }: Pick<ProjectPorts, 'regions'>,
  on: Queryable,
  id: string,
): Promise<void> {
  const [row] = await regionOfConversation(on, { id })
  requireStorable(regions, row?.region, 'conflict')
}

/** Changes the title of a conversation and adds threads. Threads are never removed, because erasures search them. */
const edit = (ports: ConversationPorts) =>
  mutation(editConversation, async (ctx, { params, body }) => {
    const { tx, now } = ctx
    const { region } = await writableProject(tx, projectReaderOf(ctx), params.projectId)
    const { projectId, conversationId } = await storedPath(tx, params)
    const [before] = await lockConversation(tx, { project: projectId, id: conversationId })
    if (!before) throw noConversation()
    if (before.erasing_since !== null)
      throw new Problem('fenced', 'The conversation is being erased, so it accepts no changes. Nothing was changed.')
    // Threads are only named, so that erasures find them: they are accepted in every region.
    if (body.title !== undefined && body.title !== before.title)
      for (const required of [region, before.region]) requireStorable(ports.regions, required, 'conflict')
    const threads = [...new Set([...before.threads, ...(body.threads ?? [])])]
    if (threads.length > max.threads)
      throw invalid(['threads'], `exceed the limit of ${max.threads} threads for each conversation`)
    const added = threads.filter((thread) => !before.threads.includes(thread))
    await requireOwnAddedThreads(ctx, { id: conversationId, projectId }, added, body.threads ?? [])
    await takeThreads(tx, { id: conversationId, projectId }, threads)
    await claimAddedThreads(ports, ctx, { id: conversationId, projectId }, added, body.threads)
    await tx.conversation.update({
      where: { id: conversationId },
      data: { threads, updatedAt: now, ...(body.title !== undefined && { title: body.title }) },
    })
    return {
      body: { data: await conversationIn(tx, ctx.actor, projectId, conversationId) },
      resourceId: conversationId,
      details: { project: projectId, fields: Object.keys(body) },
    }
  })

/** Use cases to list, create, read and edit conversations. */
export const projectConversations = ({ db, ...ports }: ConversationPorts & Pick<ProjectPorts, 'db'>) => ({
  conversations: read(listConversations, async (ctx, { params: { projectId }, query }) => {
    await readableProject(db, projectReaderOf(ctx), projectId)
    const rows = await conversationsPage(db, {
      project: projectId,
      reader: restrictedReader(ctx.actor),
      ...pageValues(query),
    })
    const total = await db.prisma.conversation.count({ where: { projectId, erasingSince: null } })
    const { shown, page } = pageOf(rows, query.limit, total, ({ created_at: at, stored_id: id }) => ({ at, id }))
    return { resourceId: projectId, details: { count: shown.length }, body: { data: shown.map(viewOf), ...page } }
  }),

  createConversation: mutation(
    createConversation,
    async (ctx, { params: { projectId }, body }) => {
      await writableProject(ctx.tx, projectReaderOf(ctx), projectId)
      const id = await makeConversation(ports, ctx, projectId, body)
      return {
        body: { data: await conversationIn(ctx.tx, ctx.actor, projectId, id) },
        resourceId: id,
        details: { project: projectId },
      }
    },
    async ({ tx, ...ctx }, { params: { projectId } }, { id }) => {
      await readableProject(tx, projectReaderOf(ctx), projectId)
      const { conversationId } = await storedPath(tx, { projectId, conversationId: String(id) })
      const { title, created_by } = await conversationIn(tx, ctx.actor, projectId, conversationId)
      return { title, created_by }
    },
  ),

  readConversation: read(readConversation, async (ctx, { params }) => {
    await readableProject(db, projectReaderOf(ctx), params.projectId)
    const { projectId, conversationId } = await storedPath(db, params)
    return {
      body: { data: await conversationIn(db, ctx.actor, projectId, conversationId) },
      resourceId: conversationId,
      details: { project: projectId },
    }
  }),

  editConversation: edit(ports),
})

type MessagePorts = Pick<ProjectPorts, 'isSuppressed' | 'withCheckpoints' | 'regions'> & ConfiningPorts
type NewMessage = Input<typeof createMessage>['body']

/** The pointers of a message in its request. */
export const reportedPointersOf = (
  id: string,
  { provenance = [] }: Pick<NewMessage, 'provenance'>,
): ReportedPointer[] =>
  provenance.map((entry, index) => ({ ...entry, source: id, kind: 'message', path: ['provenance', index] }))

/**
 * Adds to `id_in_use` whether the message of this id in the conversation has, or had, the same text. An application that sends a message
 * again learns so that it is stored, also while it may not read it. It learns nothing about a text that it does not have.
 */
async function comparedWithStored(
  tx: Transaction,
  { project, conversation }: { project: string; conversation: string },
  { id, role, content }: NewMessage,
  problem: unknown,
): Promise<unknown> {
  if (!Problem.is(problem) || problem.code !== 'id_in_use' || id === undefined) return problem
  const stored = await knownStoredId(tx, 'message', project, id)
  const record = stored === undefined ? null : await tx.message.findUnique({ where: { id: stored } })
  if (record?.conversationId !== conversation || record.erasingSince) return problem
  const former = record.content === content ? [] : await formerTexts(tx, { message: record.id })
  const same = record.role === role && [record, ...former].some((one) => one.content === content)
  return new Problem('id_in_use', {
    ...(problem.detail !== undefined && { detail: problem.detail }),
    extensions: { same },
  })
}

/**
 * Stores a message with its author and pointers, in a project to which the actor may write. With `onlyStores`, also of a participant whose
 * processing is restricted: the application has their words anyway, and an erasure finds only what was stored (GDPR art. 18(2)).
 * @throws {Problem} `not_found`, `invalid`, `erased`, `id_in_use`, `conflict` while a region is not available here, and those of its author
 * and pointers
 */
export async function makeMessage(
  ports: MessagePorts,
  ctx: { tx: Transaction; actor: Actor; now: Date },
  project: SeenProject,
  conversation: string,
  body: NewMessage,
  options: { onlyStores?: boolean } = {},
): Promise<{ id: string; author: RowAuthor }> {
  const { tx, actor, now } = ctx
  const { role, content, created_at: at = now } = body
  const [found] = await findConversation(tx, { project: project.id, id: conversation })
  if (!found) throw noConversation()
  for (const { region } of [project, found]) requireStorable(ports.regions, region, 'conflict')
  if (at > now) throw invalid(['created_at'], 'is in the future')
  const isNew = newStoredId(tx, 'message', { projectId: project.id, chosen: body.id })
  const id = await isNew.catch(async (problem: unknown) => {
    throw await comparedWithStored(tx, { project: project.id, conversation }, body, problem)
  })
  const author = await authorFor(ports, ctx, project.id, body.author, options)
  const row = { id, project: project.id, conversation, role, content, writtenBy: author.writtenBy, at, now }
  if ((await insertMessage(tx, { ...row, authorKind: author.kind, authorId: author.id })) === 0) throw projectIdInUse()
  const reported = reportedPointersOf(id, body)
  await confine(tx, project, reported, ports)
  await claimPlaces(ports, tx, actor, project.id, reported)
  await store(tx, [...reported, ...defaultsOf(id)], { projectId: project.id, reportedBy: actor.id, now })
  return { id, author }
}

const messageView = (actor: Actor, { stored_id: _, claimed_by: claimedBy, ...row }: MessageRow): MessageView => ({
  ...row,
  is_mine: isMine(actor, {
    authorKind: row.author.kind,
    authorId: row.author.id,
    writtenBy: row.written_by,
    claimedBy,
  }),
})
const noMessage = (): Problem => new Problem('not_found', 'The conversation has no such message, or it was erased.')

/** The stored ids of a message and its containers. */
interface MessagePath {
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
async function readMessageRow(on: Queryable, actor: Actor, path: MessagePath): Promise<MessageRow> {
  const [row] = await messageInConversation(on, path)
  if (!row) throw await whyMissing(on, path)
  await refuseRestricted(on, actor, { author_kind: row.author.kind, author_id: row.author.id })
  return row
}

/** A message with its earlier texts, newest first. A token without the scope `read`, which may edit it, gets no earlier text. */
async function messageDetail(on: Queryable, actor: Actor, path: MessagePath): Promise<MessageDetail> {
  const view = messageView(actor, await readMessageRow(on, actor, path))
  const edits = actor.can('projects:read') ? await formerTexts(on, { message: path.messageId }) : []
  return { ...view, former: edits }
}

/**
 * Locks a message for a change by its author until the transaction ends.
 * @throws {Problem} `not_found`, `fenced` while it is being erased, `restricted`, `forbidden` for anybody but the author
 */
async function ownMessage(on: Queryable, actor: Actor, path: MessagePath): Promise<{ id: string; content: string }> {
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

const list = ({ db }: Pick<ProjectPorts, 'db'>) =>
  read(listMessages, async (ctx, { params, query: { order, ...query } }) => {
    await readableProject(db, projectReaderOf(ctx), params.projectId)
    const { projectId, conversationId: conversation } = await storedPath(db, params)
    await requireConversation(db, projectId, conversation)
    const served = { conversation, reader: restrictedReader(ctx.actor) }
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
        total: counted?.n ?? 0,
        offset: 0,
        limit,
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
      const { id, author } = await makeMessage(ports, ctx, project, conversationId, body, { onlyStores: true })
      await tx.conversation.update({ where: { id: conversationId }, data: { updatedAt: now } })
      const [row] = await messageInConversation(tx, { projectId, conversationId, messageId: id })
      if (!row) throw noMessage()
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
const editText = (ports: Pick<ProjectPorts, 'regions'>) =>
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
  editMessage: editText(ports),
})

/** Maximum number of files of one message. */
const maxAttachments = 100

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
  if ((counted?.n ?? 0) >= maxAttachments)
    throw new Problem(
      'wrong_state',
      `This message already has ${maxAttachments} files, which is the limit. The file was not stored.`,
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
  await store(tx, [objectPointer(messageId, 'message', objectKey)], { projectId, reportedBy: actor.id, now })
  await pipeline.auditWithin(tx, {
    action: 'create',
    actorId: actor.id,
    resourceType: 'attachment',
    resourceId: id,
    at: now,
    ip,
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
      const uploaded = await storeUpload(ports, key, upload, max.attachment)
      const view = await retainedWithRow(ports, key, () =>
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
