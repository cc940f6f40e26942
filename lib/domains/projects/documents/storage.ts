import { projectReaderOf, queryInTransaction, storableProject } from '#lib/domains/projects/access.ts'
import { storedIds } from '#lib/domains/projects/chosen-ids.ts'
import {
  newStoredId,
  projectIdInUse,
  requireStorableConversation,
} from '#lib/domains/projects/conversations/conversations.ts'
import { authorFor } from '#lib/domains/projects/participants/authors.ts'
import type { Author } from '#lib/domains/projects/participants/rules.ts'
import type { ProjectPorts } from '#lib/domains/projects/ports.ts'
import { claimPlaces } from '#lib/domains/projects/provenance/claims.ts'
import type { ProvenancePointer } from '#lib/domains/projects/provenance/contract.ts'
import { confine, objectPointer, type ReportedPointer, store } from '#lib/domains/projects/provenance/pointers.ts'
import { chunksOf, isTextMediaType, most, type ProjectDocumentKind } from '#lib/domains/projects/rules.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { limitConcurrency } from '#lib/kernel/limit-concurrency.ts'
import type { Upload } from '#lib/kernel/operation.ts'
import { type Issue, invalid, Problem } from '#lib/kernel/problem.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { keptWithRow, storeUpload } from './uploads.ts'

/** Chunks per statement. */
const chunksAtOnce = 200
/** Limits the texts in memory at one time, each up to 50 MiB. */
const reading = limitConcurrency({ atOnce: 2, waiting: 20 })
/** Reads the stored text in chunks. Runs before the transaction, so that a slow store does not occupy a database connection. */
const chunksAt = async ({ objects }: Pick<ProjectPorts, 'objects'>, key: string): Promise<string[]> => {
  const bytes = await objects.get(key)
  if (!bytes) throw new Problem('unavailable', 'The object store lost the file. Nothing was kept; send it again.')
  return Array.fromAsync(chunksOf(bytes))
}
async function withTextAt<T>(
  ports: Pick<ProjectPorts, 'objects'>,
  key: string,
  run: (chunks: readonly string[]) => Promise<T>,
): Promise<T> {
  const taken = await reading(async () => run(await chunksAt(ports, key)))
  if (typeof taken === 'object') return taken.value
  throw new Problem('unavailable', {
    detail: 'Many documents are being taken in now. Nothing of this one was kept; send it again in a little while.',
    headers: { 'Retry-After': '10' },
  })
}
async function storeChunks(tx: Transaction, id: string, chunks: readonly string[]) {
  for (let at = 0; at < chunks.length; at += chunksAtOnce)
    await queryWithin(
      tx,
      'store-chunks',
      `INSERT INTO document_chunks (document_id, position, content)
       SELECT $1, $2::int + t.n::int - 1, t.content FROM unnest($3::text[]) WITH ORDINALITY AS t(content, n)`,
      [id, at, chunks.slice(at, at + chunksAtOnce)],
    )
}

export interface NewDocument {
  id?: string | undefined
  name: string
  kind: ProjectDocumentKind
  /** A message of the project, by the client's id. */
  made_from?: string | undefined
  author?: Author | undefined
  /** Default: now. */
  created_at?: Date | undefined
  provenance?: readonly ProvenancePointer[] | undefined
}
export type DocumentPorts = Pick<
  ProjectPorts,
  | 'db'
  | 'objects'
  | 'erasedAmong'
  | 'isSuppressed'
  | 'withCheckpoints'
  | 'pointerPrefixes'
  | 'foreignEpisodes'
  | 'regions'
>

/** The pointers of a document in its request. */
export const reportedPointersOfDocument = (
  id: string,
  { provenance = [] }: Pick<NewDocument, 'provenance'>,
): ReportedPointer[] =>
  provenance.map((entry, index) => ({ ...entry, source: id, kind: 'document', path: ['provenance', index] }))

/**
 * Stores a document with its author and pointers, in a project to which the actor may write: first its bytes, then its row. If the request
 * is rejected, neither remains.
 * @throws {Problem} `not_found`, `invalid`, `erased`, `id_in_use`, `conflict` while the region of the project, or of the conversation that it was made
 * from, is not available here, and those of its author and pointers
 */
export async function storeDocument(
  ports: DocumentPorts,
  ctx: Context,
  {
    projectId,
    given,
    upload,
    operation,
    pathTo = (field) => [field],
  }: {
    projectId: string
    given: NewDocument
    upload: Upload
    operation: string
    pathTo?: (field: string) => Issue['path']
  },
): Promise<{ id: string; bytes: number }> {
  const { actor, now } = ctx
  if (given.created_at !== undefined && given.created_at > now) throw invalid(pathTo('created_at'), 'lies ahead of now')
  // Check before the bytes are read, and again when the row is stored.
  const check = async (tx: Transaction) => {
    const project = await storableProject(ports, queryInTransaction(tx), projectReaderOf(ctx), projectId)
    const writer = await authorFor(ports, { tx, actor, now }, projectId, given.author)
    const made = await newStoredId(ports, tx, 'document', { projectId, chosen: given.id })
    if (given.made_from === undefined) return { project, writer, made, madeFrom: null }
    const found = await storedIds(queryInTransaction(tx), 'message', projectId, [given.made_from])
    const madeFrom = found.get(given.made_from)
    if (madeFrom === undefined) throw invalid(pathTo('made_from'), 'names no message of this project')
    const [message] = await queryInTransaction(tx)<{ conversation: string }>(
      'conversation-of-message',
      'SELECT conversation_id AS conversation FROM messages WHERE id = $1',
      [madeFrom],
    )
    if (message) await requireStorableConversation(ports, queryInTransaction(tx), message.conversation)
    return { project, writer, made, madeFrom }
  }
  const { made: id } = await ctx.pipeline.transaction(async (tx) => {
    // Roll back a participant created by this check: it is only stored together with the document.
    await tx.$executeRawUnsafe('SAVEPOINT document_check')
    const found = await check(tx)
    await tx.$executeRawUnsafe('ROLLBACK TO SAVEPOINT document_check')
    return found
  })
  // Each upload has its own key, so that concurrent uploads with the same id do not overwrite each other.
  const key = `projects/${projectId}/documents/${shownId(id)}/${newId('file')}`
  const stored = await storeUpload(ports, key, upload, most.document)
  const at = given.created_at ?? now
  const kept = (chunks: readonly string[]) =>
    ctx.pipeline.transaction(async (tx) => {
      const { project, writer, madeFrom } = await check(tx)
      const made = await tx.$queryRaw<{ id: string }[]>`
        INSERT INTO documents (id, project_id, kind, name, media_type, bytes, sha256, object_key, made_from, author_kind, author_id, written_by, created_at, updated_at)
        VALUES (${id}, ${projectId}, ${given.kind}, ${given.name}, ${stored.mediaType}, ${stored.bytes}, ${stored.sha256}, ${key}, ${madeFrom},
          ${writer.kind}, ${writer.id}, ${writer.writtenBy}, ${at}, ${now})
        ON CONFLICT DO NOTHING RETURNING id`
      if (made.length === 0) throw projectIdInUse()
      await storeChunks(tx, id, chunks)
      const reported = reportedPointersOfDocument(id, given)
      await confine(tx, actor, project, reported, ports)
      await claimPlaces(ports, tx, actor, projectId, reported)
      await store(tx, [...reported, objectPointer(id, 'document', key)], { projectId, toldBy: actor.id, now })
      await ctx.pipeline.auditWithin(tx, {
        ...{ action: 'create', actorId: actor.id, resourceType: 'document', resourceId: id, at: now, ip: ctx.ip },
        details: { operation, project: projectId, bytes: stored.bytes },
      })
    })
  await keptWithRow(ports, key, () => (isTextMediaType(stored.mediaType) ? withTextAt(ports, key, kept) : kept([])))
  return { id, bytes: stored.bytes }
}
