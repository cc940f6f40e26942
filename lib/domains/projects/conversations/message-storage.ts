import { authorFor, type RowAuthor } from '#lib/domains/projects/participants/authors.ts'
import type { ProjectPorts } from '#lib/domains/projects/ports.ts'
import { claimPlaces } from '#lib/domains/projects/provenance/claims.ts'
import {
  type ConfiningPorts,
  confine,
  defaultsOf,
  type ReportedPointer,
  store,
} from '#lib/domains/projects/provenance/pointers.ts'
import type { SeenProject } from '#lib/domains/projects/repository.ts'
import { newStoredId, projectIdInUse } from '#lib/domains/projects/stored-ids.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { requireStorable } from '#lib/kernel/data-regions.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { invalid } from '#lib/kernel/problem.ts'
import type { createMessage } from './contract.ts'
import { noConversation } from './conversations.ts'
import { findConversation, insertMessage } from './repository.ts'

export type MessagePorts = Pick<
  ProjectPorts,
  'erasedAmong' | 'isSuppressed' | 'contactOf' | 'withCheckpoints' | 'regions'
> &
  ConfiningPorts
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
  conversation: string,
  body: NewMessage,
): Promise<{ id: string; author: RowAuthor }> {
  const { tx, actor, now } = ctx
  const { role, content, created_at: at = now } = body
  const [found] = await findConversation(tx, { project: project.id, id: conversation })
  if (!found) throw noConversation()
  for (const { region } of [project, found]) requireStorable(ports.regions, region, 'conflict')
  if (at > now) throw invalid(['created_at'], 'is in the future')
  const id = await newStoredId(ports, tx, 'message', { projectId: project.id, chosen: body.id })
  const author = await authorFor(ports, ctx, project.id, body.author)
  const row = { id, project: project.id, conversation, role, content, writtenBy: author.writtenBy, at, now }
  if ((await insertMessage(tx, { ...row, authorKind: author.kind, authorId: author.id })) === 0) throw projectIdInUse()
  const reported = reportedPointersOf(id, body)
  await confine(tx, actor, project, reported, ports)
  await claimPlaces(ports, tx, actor, project.id, reported)
  await store(tx, [...reported, ...defaultsOf(id)], { projectId: project.id, toldBy: actor.id, now })
  return { id, author }
}
