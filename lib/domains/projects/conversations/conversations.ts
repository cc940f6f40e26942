import {
  doerSql,
  type ProjectQuery,
  projectReaderOf,
  queryDirectly,
  queryInTransaction,
  readableProject,
  writableProject,
} from '#lib/domains/projects/access.ts'
import { shownSql, storedIdOwner, storedIds, wasErasedFormerly } from '#lib/domains/projects/chosen-ids.ts'
import type { Writer } from '#lib/domains/projects/contract.ts'
import type { ProjectPorts } from '#lib/domains/projects/ports.ts'
import { claimThreads, foreignThreads, requireOwnThreads } from '#lib/domains/projects/provenance/claims.ts'
import { conversationTies } from '#lib/domains/projects/provenance/pointers.ts'
import { most } from '#lib/domains/projects/rules.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { isWithin, requireRegion, requireStorable } from '#lib/kernel/data-regions.ts'
import { newId } from '#lib/kernel/ids.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { scopedId, shownId } from '#lib/kernel/scoped-ids.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import {
  type ConversationView,
  createConversation,
  editConversation,
  listConversations,
  readConversation,
} from './contract.ts'

interface ConversationRow {
  id: string
  stored_id: string
  project_id: string
  title: string
  region: string | null
  threads: string[]
  created_by: Writer
  messages: number
  created_at: Date
  updated_at: Date
}
type LockedConversation = Pick<ConversationRow, 'title' | 'region' | 'threads'> & { erasing_since: Date | null }
const columns = `c.id AS stored_id, ${shownSql('c.id')} AS id, c.project_id, c.title, c.region, c.threads, ${doerSql('c.created_by')} AS created_by, c.created_at, c.updated_at,
  (SELECT count(*)::int FROM messages m WHERE m.conversation_id = c.id AND m.erasing_since IS NULL) AS messages`
const viewOf = ({ stored_id: _, ...row }: ConversationRow): ConversationView => ({
  ...row,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
export const noConversation = (): Problem =>
  new Problem('not_found', 'There is no such conversation in this project. It may be erased.')

const one = `SELECT ${columns} FROM conversations c WHERE c.id = $1 AND c.project_id = $2 AND c.erasing_since IS NULL`
async function conversationIn(ask: ProjectQuery, projectId: string, id: string): Promise<ConversationView> {
  const [row] = await ask<ConversationRow>('conversation', one, [id, projectId])
  if (!row) throw noConversation()
  return viewOf(row)
}

/** @throws {Problem} `not_found` unless the conversation exists and is not being erased */
export async function requireConversation(ask: ProjectQuery, projectId: string, id: string): Promise<void> {
  const found = await ask(
    'is-conversation',
    'SELECT 1 AS found FROM conversations WHERE id = $1 AND project_id = $2 AND erasing_since IS NULL',
    [id, projectId],
  )
  if (found.length === 0) throw noConversation()
}

/**
 * Checks that new content can be stored in a conversation: its own region is available here. The caller checks the project's.
 * @throws {Problem} `conflict`
 */
export async function requireStorableConversation(
  { regions }: Pick<ProjectPorts, 'regions'>,
  ask: ProjectQuery,
  conversationId: string,
): Promise<void> {
  const [record] = await ask<{ region: string | null }>(
    'region-of-conversation',
    'SELECT region FROM conversations WHERE id = $1',
    [conversationId],
  )
  requireStorable(regions, record?.region, 'conflict')
}

/**
 * Reserves threads for one conversation. The erasure of a conversation deletes its threads, so no two conversations may share one.
 * Concurrent requests for the same thread wait for each other. Returns the threads that no other conversation has.
 * @throws {Problem} `conflict` for a taken thread that the request names, or that another conversation of the project has
 */
async function takeThreads(
  tx: Transaction,
  { id, projectId }: { id: string; projectId: string },
  threads: readonly string[],
  named: readonly string[] = threads,
): Promise<string[]> {
  const ask = queryInTransaction(tx)
  await ask(
    'lock-threads',
    `SELECT pg_advisory_xact_lock(h) FROM (SELECT DISTINCT hashtextextended('thread:' || t, 0) AS h FROM unnest($1::text[]) AS t ORDER BY h) AS l`,
    [threads],
  )
  const rows = await ask<{ thread: string; project: string }>(
    'threads-taken',
    `SELECT DISTINCT t.thread, c.project_id AS project FROM conversations c CROSS JOIN LATERAL unnest(c.threads) AS t(thread)
     WHERE c.threads && $1::text[] AND t.thread = ANY($1::text[]) AND c.id <> $2`,
    [threads, id],
  )
  const taken = new Set(rows.map(({ thread }) => thread))
  if (rows.some(({ thread, project }) => named.includes(thread) || project === projectId))
    throw new Problem('conflict', 'Another conversation has one of these threads. Nothing of this was kept.')
  return threads.filter((thread) => !taken.has(thread))
}

/**
 * The id under which a new record is stored: a generated one, or the client's id with the project's id.
 * @throws {Problem} `erased` for an id that was erased in the project, `id_in_use` for an id that the project has
 */
export async function newStoredId(
  { erasedAmong }: Pick<ProjectPorts, 'erasedAmong'>,
  tx: Transaction,
  kind: 'conversation' | 'message' | 'document',
  { projectId, chosen }: { projectId: string; chosen: string | undefined },
): Promise<string> {
  if (chosen === undefined) return newId(prefixes[kind])
  const ask = queryInTransaction(tx)
  const id = scopedId(projectId, chosen)
  if ((await storedIds(ask, kind, projectId, [chosen])).size > 0) throw projectIdInUse()
  if ((await erasedAmong(tx, [id])).length > 0 || (await wasErasedFormerly(ask, projectId, chosen)))
    throw new Problem('erased', 'Something with this id was erased, and the id is never used again. Choose another.')
  return id
}
const prefixes = { conversation: 'conv', message: 'msg', document: 'doc' } as const
export const projectIdInUse = (): Problem =>
  new Problem('id_in_use', 'Something has this id already. Choose another, or none.')

type ConversationPorts = Pick<ProjectPorts, 'erasedAmong' | 'withCheckpoints' | 'regions'>

/** Claims new threads of a conversation; `named`: the threads in the request, for the paths of issues. */
function claim(
  ports: ConversationPorts,
  { tx, actor }: { tx: Transaction; actor: Actor },
  { id, projectId }: { id: string | undefined; projectId: string },
  added: readonly string[],
  named: readonly string[] = [],
): Promise<void> {
  const pathOf = (thread: string) => (named.includes(thread) ? ['threads', named.indexOf(thread)] : ['id'])
  const threads = added.map((thread) => ({ thread, path: pathOf(thread) }))
  return claimThreads(ports, tx, actor, projectId, threads, conversationTies(projectId, id))
}

/** Checks ownership before looking for conflicts, so that a conflict reveals nothing about threads of other organizations. */
function requireOwn(
  tx: Transaction,
  actor: Actor,
  { id, projectId }: { id: string | undefined; projectId: string },
  threads: readonly string[],
  named: readonly string[],
): Promise<void> {
  const paths = threads.map((thread) => ({ thread, path: ['threads', named.indexOf(thread)] }))
  return requireOwnThreads(tx, actor, projectId, paths, conversationTies(projectId, id))
}

/**
 * Checks that a conversation may be stored: its region is within that of the project, and both are available here.
 * @throws {Problem} `invalid` for a region that cannot be chosen or is outside of the project's; `conflict` if a place is outside
 */
async function requirePlaced(
  { regions }: Pick<ProjectPorts, 'regions'>,
  tx: Transaction,
  projectId: string,
  region: string | null,
): Promise<void> {
  const [project] = await queryInTransaction(tx)<{ region: string | null }>(
    'region-of-project',
    'SELECT region FROM projects WHERE id = $1 FOR SHARE',
    [projectId],
  )
  const outer = project?.region ?? null
  if (region !== null && !isWithin(region, outer))
    throw invalid(['region'], `is outside of the project’s region, ${outer}`)
  requireRegion(regions, region, 'conflict')
  requireStorable(regions, outer, 'conflict')
}

/**
 * Stores a conversation of a project to which the actor may write, and returns its id.
 * @throws {Problem} `erased`, `id_in_use`, `conflict`, those of {@link requirePlaced}, and those of {@link claimThreads}
 */
export async function makeConversation(
  ports: ConversationPorts,
  ctx: { tx: Transaction; actor: Actor; now: Date },
  projectId: string,
  given: {
    id?: string | undefined
    title: string
    threads?: readonly string[] | undefined
    region?: string | null | undefined
    at?: Date | undefined
  },
): Promise<string> {
  const { tx, actor, now } = ctx
  await requirePlaced(ports, tx, projectId, given.region ?? null)
  const id = await newStoredId(ports, tx, 'conversation', { projectId, chosen: given.id })
  const own = shownId(id)
  const named = given.threads ?? []
  await requireOwn(tx, actor, { id: undefined, projectId }, named, named)
  // The conversation's own id is no thread if the client chose an id outside its organization's namespace, or another project has the
  // thread.
  const outside = given.id === undefined ? new Set<string>() : await foreignThreads(tx, actor, projectId, [own], [])
  const wanted = [...new Set([own, ...named])].filter((thread) => !outside.has(thread))
  const threads = await takeThreads(tx, { id, projectId }, wanted, named)
  const made = await tx.$queryRaw<{ id: string }[]>`
    INSERT INTO conversations (id, project_id, title, region, threads, created_by, created_at, updated_at)
    VALUES (${id}, ${projectId}, ${given.title}, ${given.region ?? null}, ${threads}, ${actor.id}, ${given.at ?? now}, ${now})
    ON CONFLICT (id) DO NOTHING RETURNING id`
  if (made.length === 0) throw projectIdInUse()
  // An id that the client chose does not prove ownership of a thread.
  await claim(ports, ctx, { id: given.id === undefined ? id : undefined, projectId }, threads, given.threads)
  return id
}

export const projectConversations = (ports: ConversationPorts & Pick<ProjectPorts, 'db'>) => {
  const { db } = ports
  return {
    conversations: read(listConversations, async (ctx, { params: { projectId }, query: { cursor, limit } }) => {
      const ask = queryDirectly(db)
      await readableProject(ask, projectReaderOf(ctx), projectId)
      const after = parseCursor(cursor)
      const rows = await ask<ConversationRow>(
        'conversations-page',
        `SELECT ${columns} FROM conversations c WHERE c.project_id = $1 AND c.erasing_since IS NULL
           AND (c.created_at, c.id) < ($2::timestamptz, $3) ORDER BY c.created_at DESC, c.id DESC LIMIT $4`,
        [projectId, after?.at ?? 'infinity', after?.id ?? '', limit + 1],
      )
      const total = await db.prisma.conversation.count({ where: { projectId, erasingSince: null } })
      const { shown, page } = pageOf(rows, limit, total, ({ created_at, stored_id }) => ({
        at: created_at,
        id: stored_id,
      }))
      return {
        resourceId: projectId,
        details: { count: shown.length },
        body: {
          data: shown.map(viewOf),
          ...page,
        },
      }
    }),

    createConversation: mutation(
      createConversation,
      async (ctx, { params: { projectId }, body }) => {
        const ask = queryInTransaction(ctx.tx)
        await writableProject(ask, projectReaderOf(ctx), projectId)
        const id = await makeConversation(ports, ctx, projectId, body)
        return {
          body: { data: await conversationIn(ask, projectId, id) },
          resourceId: id,
          details: { project: projectId },
        }
      },
      async (ctx, { params: { projectId } }, { id }) => {
        const ask = queryInTransaction(ctx.tx)
        await readableProject(ask, projectReaderOf(ctx), projectId)
        const { conversationId } = await storedIdOwner(ask, { projectId, conversationId: String(id) })
        const { title, created_by } = await conversationIn(ask, projectId, conversationId)
        return { title, created_by }
      },
    ),

    readConversation: read(readConversation, async (ctx, { params }) => {
      const ask = queryDirectly(db)
      await readableProject(ask, projectReaderOf(ctx), params.projectId)
      const { projectId, conversationId } = await storedIdOwner(ask, params)
      return {
        body: { data: await conversationIn(ask, projectId, conversationId) },
        resourceId: conversationId,
        details: { project: projectId },
      }
    }),

    editConversation: mutation(editConversation, async (ctx, { params, body }) => {
      const { tx, now } = ctx
      const ask = queryInTransaction(tx)
      const { region } = await writableProject(ask, projectReaderOf(ctx), params.projectId)
      const { projectId, conversationId } = await storedIdOwner(ask, params)
      const [before] = await ask<LockedConversation>(
        'lock-conversation',
        'SELECT title, region, threads, erasing_since FROM conversations WHERE id = $1 AND project_id = $2 FOR NO KEY UPDATE',
        [conversationId, projectId],
      )
      if (!before) throw noConversation()
      if (before.erasing_since !== null)
        throw new Problem('fenced', 'The conversation is being erased: nothing about it is changed any more.')
      // Threads are only named, so that erasures find them: they are accepted in every region.
      if (body.title !== undefined && body.title !== before.title)
        for (const required of [region, before.region]) requireStorable(ports.regions, required, 'conflict')
      const threads = [...new Set([...before.threads, ...(body.threads ?? [])])]
      if (threads.length > most.threads) throw invalid(['threads'], `are more than ${most.threads} in all`)
      const added = threads.filter((thread) => !before.threads.includes(thread))
      await requireOwn(tx, ctx.actor, { id: conversationId, projectId }, added, body.threads ?? [])
      await takeThreads(tx, { id: conversationId, projectId }, threads)
      await claim(ports, ctx, { id: conversationId, projectId }, added, body.threads)
      await tx.conversation.update({
        where: { id: conversationId },
        data: { threads, updatedAt: now, ...(body.title !== undefined && { title: body.title }) },
      })
      return {
        body: { data: await conversationIn(ask, projectId, conversationId) },
        resourceId: conversationId,
        details: { project: projectId, fields: Object.keys(body) },
      }
    }),
  }
}
