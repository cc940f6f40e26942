import { isUtf8 } from 'node:buffer'
import { limitConcurrency } from '#lib/kernel/concurrency.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Upload } from '#lib/kernel/operation.ts'
import { pageOf } from '#lib/kernel/pages.ts'
import { type Issue, invalid, Problem } from '#lib/kernel/problem.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { batched, read, stream } from '#lib/kernel/use-case.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { charsetOf, decodedText } from '#lib/text/charsets.ts'
import { isMine, projectReaderOf, readableProject, storableProject } from '../access.ts'
import { fileReply, requireStorableConversation } from '../conversations/service.ts'
import { pageValues } from '../list-page.ts'
import { authorFor } from '../participants/authors.ts'
import { refuseRestricted, restrictedReader } from '../participants/restricting.ts'
import type { Author } from '../participants/rules.ts'
import type { ProjectPorts } from '../ports.ts'
import { claimPlaces } from '../provenance/claims.ts'
import type { ProvenancePointer } from '../provenance/contract.ts'
import { confine, objectPointer, type ReportedPointer, store } from '../provenance/pointers.ts'
import { chunksOf, isDamaged, isTextMediaType, max, type ProjectDocumentKind } from '../rules.ts'
import { knownStoredId, newStoredId, projectIdInUse, storedPath } from '../stored-ids.ts'
import { addDocument, type DocumentView, downloadDocument, listDocuments, readDocument } from './contract.ts'
import {
  changeCheckSavepoint,
  conversationOfMessage,
  countServedDocuments,
  type DocumentRow,
  documentInProject,
  documentsPage,
  fileOfDocument,
  insertChunks,
  insertDocument,
} from './repository.ts'
import { retainedWithRow, storeUpload } from './uploads.ts'

const viewOf = (
  { actor }: Pick<Context, 'actor'>,
  { claimed_by: claimedBy, stored_id: _, ...row }: DocumentRow,
): DocumentView => ({
  ...row,
  is_mine: isMine(actor, {
    authorKind: row.author.kind,
    authorId: row.author.id,
    writtenBy: row.written_by,
    claimedBy,
  }),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
const noDocument = (): Problem => new Problem('not_found', 'The project has no such document, or it was erased.')

async function documentIn(
  on: Queryable,
  ctx: Pick<Context, 'actor'>,
  project: string,
  id: string,
): Promise<DocumentView> {
  const [row] = await documentInProject(on, { project, id })
  if (!row) throw noDocument()
  await refuseRestricted(on, ctx.actor, { author_kind: row.author.kind, author_id: row.author.id })
  return viewOf(ctx, row)
}

/** Chunks per statement. */
const chunksAtOnce = 200
/** Limits the texts in memory at one time, each up to 50 MiB. */
const reading = limitConcurrency({ atOnce: 2, waiting: 20 })
async function storedBytes({ objects }: Pick<ProjectPorts, 'objects'>, key: string) {
  const bytes = await objects.get(key)
  if (!bytes)
    throw new Problem('unavailable', 'The object store lost the file, so nothing was stored. Send the file again.')
  return bytes
}
/**
 * Reads the stored text in chunks. Runs before the transaction, so that a slow store does not occupy a database connection. A text that
 * may be in another encoding than UTF-8 is decoded again, as a whole.
 */
async function chunksAt(ports: Pick<ProjectPorts, 'objects'>, key: string, charset?: string): Promise<string[]> {
  const pieces: Uint8Array[] = []
  const retained = async function* (stored: AsyncIterable<Uint8Array>) {
    for await (const piece of stored) {
      pieces.push(piece)
      yield piece
    }
  }
  const chunks = await Array.fromAsync(chunksOf(retained(await storedBytes(ports, key))))
  if ((charset === undefined || /^utf-?8$/i.test(charset)) && !chunks.some(isDamaged)) return chunks
  const bytes = Buffer.concat(pieces)
  return charsetOf(bytes, charset) === 'utf-8' && isUtf8(bytes)
    ? chunks
    : Array.fromAsync(chunksOf([Buffer.from(decodedText(bytes, charset))]))
}
async function withTextAt<T>(
  ports: Pick<ProjectPorts, 'objects'>,
  { key, charset }: { key: string; charset?: string | undefined },
  run: (chunks: readonly string[]) => Promise<T>,
): Promise<T> {
  const taken = await reading(async () => run(await chunksAt(ports, key, charset)))
  if (typeof taken === 'object') return taken.value
  throw new Problem('unavailable', {
    detail: 'The server is processing many documents, so this one was not stored. Send it again in 10 seconds.',
    headers: { 'Retry-After': '10' },
  })
}
async function storeChunks(tx: Transaction, document: string, chunks: readonly string[]) {
  for (let first = 0; first < chunks.length; first += chunksAtOnce)
    await insertChunks(tx, { document, first, contents: chunks.slice(first, first + chunksAtOnce) })
}

interface NewDocument {
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
  'db' | 'objects' | 'isSuppressed' | 'withCheckpoints' | 'pointerPrefixes' | 'foreignEpisodes' | 'regions'
>

/** The pointers of a document in its request. */
export const reportedPointersOfDocument = (
  id: string,
  { provenance = [] }: Pick<NewDocument, 'provenance'>,
): ReportedPointer[] =>
  provenance.map((entry, index) => ({ ...entry, source: id, kind: 'document', path: ['provenance', index] }))

interface DocumentUpload {
  projectId: string
  given: NewDocument
  upload: Upload
  operation: string
  pathTo?: (field: string) => Issue['path']
}

/** Checks that the actor may store the document. Throws as {@link storeDocument}. */
async function requireStorableDocument(
  ports: DocumentPorts,
  ctx: Context,
  tx: Transaction,
  { projectId, given, pathTo = (field) => [field] }: DocumentUpload,
) {
  const project = await storableProject(ports, tx, projectReaderOf(ctx), projectId)
  const writer = await authorFor(ports, { tx, actor: ctx.actor, now: ctx.now }, projectId, given.author)
  const id = await newStoredId(tx, 'document', { projectId, chosen: given.id })
  if (given.made_from === undefined) return { project, writer, id, madeFrom: null }
  const madeFrom = await knownStoredId(tx, 'message', projectId, given.made_from)
  if (madeFrom === undefined) throw invalid(pathTo('made_from'), 'is not the id of a message in this project')
  const [message] = await conversationOfMessage(tx, { id: madeFrom })
  if (message) await requireStorableConversation(ports, tx, message.conversation)
  return { project, writer, id, madeFrom }
}

/**
 * Stores a document with its author and pointers, in a project to which the actor may write: first its bytes, then its row. If the request
 * is rejected, neither remains.
 * @throws {Problem} `not_found`, `invalid`, `erased`, `id_in_use`, `conflict` while the region of the project, or of the conversation that it was made
 * from, is not available here, and those of its author and pointers
 */
export async function storeDocument(
  ports: DocumentPorts,
  ctx: Context,
  request: DocumentUpload,
): Promise<{ id: string; bytes: number }> {
  const { actor, now, ip } = ctx
  const { projectId, given, upload, operation, pathTo = (field: string) => [field] } = request
  const { kind, name, created_at: at = now } = given
  if (at > now) throw invalid(pathTo('created_at'), 'is in the future')
  // Check before the bytes are read, and again when the row is stored.
  const check = (tx: Transaction) => requireStorableDocument(ports, ctx, tx, request)
  const { id } = await ctx.pipeline.transaction(async (tx) => {
    // Roll back a participant created by this check: it is only stored together with the document.
    await changeCheckSavepoint(tx, {}, 'SAVEPOINT')
    const checked = await check(tx)
    await changeCheckSavepoint(tx, {}, 'ROLLBACK TO SAVEPOINT')
    return checked
  })
  // Each upload has its own key, so that concurrent uploads with the same id do not overwrite each other.
  const key = `projects/${projectId}/documents/${shownId(id)}/${newId('file')}`
  const { mediaType, bytes, sha256 } = await storeUpload(ports, key, upload, max.document)
  const storeRow = (chunks: readonly string[]) =>
    ctx.pipeline.transaction(async (tx) => {
      const { project, writer, madeFrom } = await check(tx)
      const row = { id, project: projectId, kind, name, mediaType, bytes, sha256, key, madeFrom, at, now }
      const author = { authorKind: writer.kind, authorId: writer.id, writtenBy: writer.writtenBy }
      if ((await insertDocument(tx, { ...row, ...author })) === 0) throw projectIdInUse()
      await storeChunks(tx, id, chunks)
      const reported = reportedPointersOfDocument(id, given)
      await confine(tx, project, reported, ports)
      await claimPlaces(ports, tx, actor, projectId, reported)
      await store(tx, [...reported, objectPointer(id, 'document', key)], { projectId, reportedBy: actor.id, now })
      await ctx.pipeline.auditWithin(tx, {
        action: 'create',
        actorId: actor.id,
        resourceType: 'document',
        resourceId: id,
        at: now,
        ip,
        details: { operation, project: projectId, bytes },
      })
    })
  await retainedWithRow(ports, key, () =>
    isTextMediaType(mediaType) ? withTextAt(ports, { key, charset: upload.charset }, storeRow) : storeRow([]),
  )
  return { id, bytes }
}

/** Use cases for documents and artifacts. Their bytes are objects; their text is also stored in chunks. */
export const projectDocuments = (ports: DocumentPorts) => ({
  documents: read(listDocuments, async (ctx, { params: { projectId }, query: { kind = null, ...query } }) => {
    const { db } = ports
    await readableProject(db, projectReaderOf(ctx), projectId)
    const served = { project: projectId, kind, reader: restrictedReader(ctx.actor) }
    const rows = await documentsPage(db, { ...served, ...pageValues(query) })
    const [counted] = await countServedDocuments(db, served)
    const total = counted?.n ?? 0
    const { shown, page } = pageOf(rows, query.limit, total, ({ created_at: at, stored_id: id }) => ({ at, id }))
    return {
      resourceId: projectId,
      details: { count: shown.length },
      body: { data: shown.map((row) => viewOf(ctx, row)), ...page },
    }
  }),

  addDocument: batched(
    addDocument,
    async (ctx, { params: { projectId }, query: { author, ...given }, upload }) => {
      const { id, bytes } = await storeDocument(ports, ctx, {
        projectId,
        given: { ...given, author: author === undefined ? undefined : { external_id: author } },
        upload,
        operation: addDocument.id,
        pathTo: (field) => ['query', field],
      })
      return { body: { data: await documentIn(ports.db, ctx, projectId, id) }, resourceId: id, details: { bytes } }
    },
    // The stored response omits the name, because it may be erased before a retry. A retry reads the current name.
    ({ data: { name: _, sha256: __, author: ___, ...data } }) => ({ data }),
    async ({ tx, ...ctx }, { params: { projectId } }, { id }) => {
      await readableProject(tx, projectReaderOf(ctx), projectId)
      const { documentId } = await storedPath(tx, { projectId, documentId: String(id) })
      const { name, sha256, author } = await documentIn(tx, ctx, projectId, documentId)
      return { name, sha256, author }
    },
  ),

  readDocument: read(readDocument, async (ctx, { params }) => {
    await readableProject(ports.db, projectReaderOf(ctx), params.projectId)
    const { projectId, documentId } = await storedPath(ports.db, params)
    const data = await documentIn(ports.db, ctx, projectId, documentId)
    return { body: { data }, resourceId: documentId, details: { project: projectId } }
  }),

  downloadDocument: stream(downloadDocument, async (ctx, { params }) => {
    const { db } = ports
    await readableProject(db, projectReaderOf(ctx), params.projectId)
    const { projectId: project, documentId: id } = await storedPath(db, params)
    const [row] = await fileOfDocument(db, { project, id })
    if (!row) throw noDocument()
    await refuseRestricted(db, ctx.actor, row)
    return { ...(await fileReply(ports, row)), resourceId: id, details: { project } }
  }),
})
