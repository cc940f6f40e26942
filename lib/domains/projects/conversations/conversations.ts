import { projectReaderOf, readableProject, writableProject } from '#lib/domains/projects/access.ts'
import { pageValues } from '#lib/domains/projects/list-page.ts'
import type { ProjectPorts } from '#lib/domains/projects/ports.ts'
import { most } from '#lib/domains/projects/rules.ts'
import { storedPath } from '#lib/domains/projects/stored-ids.ts'
import { requireStorable } from '#lib/kernel/data-regions.ts'
import { pageOf } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import {
  type ConversationView,
  createConversation,
  editConversation,
  listConversations,
  readConversation,
} from './contract.ts'
import {
  type ConversationPorts,
  claimAddedThreads,
  makeConversation,
  requireOwnAddedThreads,
  takeThreads,
} from './conversation-storage.ts'
import {
  type ConversationRow,
  conversationInProject,
  conversationsPage,
  findConversation,
  lockConversation,
  regionOfConversation,
} from './repository.ts'

const viewOf = ({ stored_id: _, ...row }: ConversationRow): ConversationView => ({
  ...row,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
export const noConversation = (): Problem =>
  new Problem('not_found', 'The project has no such conversation, or it was erased.')

async function conversationIn(on: Queryable, project: string, id: string): Promise<ConversationView> {
  const [row] = await conversationInProject(on, { project, id })
  if (!row) throw noConversation()
  return viewOf(row)
}

/** @throws {Problem} `not_found` unless the conversation exists and is not being erased */
export async function requireConversation(on: Queryable, project: string, id: string): Promise<void> {
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
    if (threads.length > most.threads)
      throw invalid(['threads'], `exceed the limit of ${most.threads} threads for each conversation`)
    const added = threads.filter((thread) => !before.threads.includes(thread))
    await requireOwnAddedThreads(ctx, { id: conversationId, projectId }, added, body.threads ?? [])
    await takeThreads(tx, { id: conversationId, projectId }, threads)
    await claimAddedThreads(ports, ctx, { id: conversationId, projectId }, added, body.threads)
    await tx.conversation.update({
      where: { id: conversationId },
      data: { threads, updatedAt: now, ...(body.title !== undefined && { title: body.title }) },
    })
    return {
      body: { data: await conversationIn(tx, projectId, conversationId) },
      resourceId: conversationId,
      details: { project: projectId, fields: Object.keys(body) },
    }
  })

/** Use cases to list, create, read and edit conversations. */
export const projectConversations = ({ db, ...ports }: ConversationPorts & Pick<ProjectPorts, 'db'>) => ({
  conversations: read(listConversations, async (ctx, { params: { projectId }, query }) => {
    await readableProject(db, projectReaderOf(ctx), projectId)
    const rows = await conversationsPage(db, { project: projectId, ...pageValues(query) })
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
        body: { data: await conversationIn(ctx.tx, projectId, id) },
        resourceId: id,
        details: { project: projectId },
      }
    },
    async ({ tx, ...ctx }, { params: { projectId } }, { id }) => {
      await readableProject(tx, projectReaderOf(ctx), projectId)
      const { conversationId } = await storedPath(tx, { projectId, conversationId: String(id) })
      const { title, created_by } = await conversationIn(tx, projectId, conversationId)
      return { title, created_by }
    },
  ),

  readConversation: read(readConversation, async (ctx, { params }) => {
    await readableProject(db, projectReaderOf(ctx), params.projectId)
    const { projectId, conversationId } = await storedPath(db, params)
    return {
      body: { data: await conversationIn(db, projectId, conversationId) },
      resourceId: conversationId,
      details: { project: projectId },
    }
  }),

  editConversation: edit(ports),
})
