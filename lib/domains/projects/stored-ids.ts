import { erasedAmong } from '#lib/domains/erasure/queries.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { scopedId } from '#lib/kernel/scoped-ids.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { type ChosenIdKind, erasedStoredId, findFormerlyErased, storedIdsOf } from './repository.ts'

/** The stored id of a record that a client names; undefined if the project has no such record. */
export async function knownStoredId(
  on: Queryable,
  kind: ChosenIdKind,
  project: string,
  given: string,
): Promise<string | undefined> {
  const [row] = await storedIdsOf(on, { project, given: [given] }, kind)
  return row?.id
}

/** The stored id for an id given by a client; the given id if the project has no such record. */
export async function storedId(on: Queryable, kind: ChosenIdKind, project: string, given: string): Promise<string> {
  const found = await knownStoredId(on, kind, project, given)
  if (found !== undefined) return found
  const [deleted] = await erasedStoredId(on, { project, kind, given })
  return deleted?.id ?? given
}

interface IdPath {
  projectId: string
  conversationId?: string | undefined
  messageId?: string | undefined
  documentId?: string | undefined
}
/** The parameters of a path, with stored ids. */
export async function storedPath<P extends IdPath>(on: Queryable, path: P): Promise<P> {
  const { projectId, conversationId, messageId, documentId } = path
  const stored = { ...path }
  if (conversationId !== undefined)
    stored.conversationId = await storedId(on, 'conversation', projectId, conversationId)
  if (messageId !== undefined) stored.messageId = await storedId(on, 'message', projectId, messageId)
  if (documentId !== undefined) stored.documentId = await storedId(on, 'document', projectId, documentId)
  return stored
}

const prefixes: Record<ChosenIdKind, string> = { conversation: 'conv', message: 'msg', document: 'doc' }
export const projectIdInUse = (): Problem =>
  new Problem('id_in_use', 'This id is already in use. Choose another id, or omit it to have one generated.')

/**
 * The id under which a new record is stored: a generated one, or the client's id with the project's id.
 * @throws {Problem} `erased` for an id that was erased in the project, `id_in_use` for an id that the project has
 */
export async function newStoredId(
  tx: Transaction,
  kind: ChosenIdKind,
  { projectId, chosen }: { projectId: string; chosen: string | undefined },
): Promise<string> {
  if (chosen === undefined) return newId(prefixes[kind])
  const id = scopedId(projectId, chosen)
  if ((await knownStoredId(tx, kind, projectId, chosen)) !== undefined) throw projectIdInUse()
  const isErased =
    (await erasedAmong(tx, [id])).length > 0 ||
    (await findFormerlyErased(tx, { project: projectId, id: chosen })).length > 0
  if (isErased) throw new Problem('erased', 'A record with this id was erased. Choose another id.')
  return id
}
