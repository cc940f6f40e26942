import type { ProjectPorts } from '#lib/domains/projects/ports.ts'
import { claimThreads, foreignThreads, requireOwnThreads } from '#lib/domains/projects/provenance/claims.ts'
import { conversationTies } from '#lib/domains/projects/provenance/pointers.ts'
import { newStoredId, projectIdInUse } from '#lib/domains/projects/stored-ids.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { requireRegion, requireStorable } from '#lib/kernel/data-regions.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { isWithin } from '#lib/kernel/region-rules.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { insertConversation, lockRegionOfProject, lockThreads, takenThreads } from './repository.ts'

export type ConversationPorts = Pick<ProjectPorts, 'withCheckpoints' | 'regions'>
interface Writing {
  tx: Transaction
  actor: Actor
}
/** `id` is undefined if a conversation proves no ownership of its threads by its id. */
interface ThreadOwner {
  id: string | undefined
  projectId: string
}

/**
 * Reserves threads for one conversation. The erasure of a conversation deletes its threads, so no two conversations may share one.
 * Concurrent requests for the same thread wait for each other. Returns the threads that no other conversation has.
 * @throws {Problem} `conflict` for a taken thread that the request names, or that another conversation of the project has
 */
export async function takeThreads(
  tx: Transaction,
  { id, projectId }: { id: string; projectId: string },
  threads: readonly string[],
  named: readonly string[] = threads,
): Promise<string[]> {
  await lockThreads(tx, { threads })
  const rows = await takenThreads(tx, { threads, conversation: id })
  const taken = new Set(rows.map(({ thread }) => thread))
  if (rows.some(({ thread, project }) => named.includes(thread) || project === projectId))
    throw new Problem(
      'conflict',
      'Another conversation already has one of these threads. Choose other threads. Nothing was stored.',
    )
  return threads.filter((thread) => !taken.has(thread))
}

/** Claims new threads of a conversation; `named`: the threads in the request, for the paths of issues. */
export function claimAddedThreads(
  ports: ConversationPorts,
  { tx, actor }: Writing,
  { id, projectId }: ThreadOwner,
  added: readonly string[],
  named: readonly string[] = [],
): Promise<void> {
  const pathOf = (thread: string) => (named.includes(thread) ? ['threads', named.indexOf(thread)] : ['id'])
  const threads = added.map((thread) => ({ thread, path: pathOf(thread) }))
  return claimThreads(ports, tx, actor, projectId, threads, conversationTies(projectId, id))
}

/** Checks ownership before looking for conflicts, so that a conflict reveals nothing about threads of other organizations. */
export function requireOwnAddedThreads(
  { tx }: Pick<Writing, 'tx'>,
  { id, projectId }: ThreadOwner,
  threads: readonly string[],
  named: readonly string[],
): Promise<void> {
  const paths = threads.map((thread) => ({ thread, path: ['threads', named.indexOf(thread)] }))
  return requireOwnThreads(tx, projectId, paths, conversationTies(projectId, id))
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
  const [project] = await lockRegionOfProject(tx, { id: projectId })
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
  ctx: Writing & { now: Date },
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
  const { title, region = null, threads: named = [], at = now } = given
  await requirePlaced(ports, tx, projectId, region)
  const id = await newStoredId(tx, 'conversation', { projectId, chosen: given.id })
  const own = shownId(id)
  await requireOwnAddedThreads(ctx, { id: undefined, projectId }, named, named)
  // The conversation's own id is no thread if the client chose an id outside its organization's namespace, or another project has the
  // thread.
  const outside = given.id === undefined ? new Set<string>() : await foreignThreads(tx, projectId, [own], [])
  const wanted = [...new Set([own, ...named])].filter((thread) => !outside.has(thread))
  const threads = await takeThreads(tx, { id, projectId }, wanted, named)
  const row = { id, project: projectId, title, region, threads, createdBy: actor.id, at, now }
  if ((await insertConversation(tx, row)) === 0) throw projectIdInUse()
  // An id that the client chose does not prove ownership of a thread.
  await claimAddedThreads(ports, ctx, { id: given.id === undefined ? id : undefined, projectId }, threads, named)
  return id
}
