import { isMine, projectReaderOf, readableProject } from '#lib/domains/projects/access.ts'
import { fileReply } from '#lib/domains/projects/conversations/attachments.ts'
import { pageValues } from '#lib/domains/projects/list-page.ts'
import { isPerson, refuseRestricted } from '#lib/domains/projects/participants/restricting.ts'
import { storedPath } from '#lib/domains/projects/stored-ids.ts'
import { batched } from '#lib/kernel/batched.ts'
import type { Context } from '#lib/kernel/context.ts'
import { pageOf } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read, stream } from '#lib/kernel/use-case.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { addDocument, type DocumentView, downloadDocument, listDocuments, readDocument } from './contract.ts'
import {
  countServedDocuments,
  type DocumentRow,
  documentInProject,
  documentsPage,
  fileOfDocument,
} from './repository.ts'
import { type DocumentPorts, storeDocument } from './storage.ts'

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

/** Use cases for documents and artifacts. Their bytes are objects; their text is also stored in chunks. */
export const projectDocuments = (ports: DocumentPorts) => ({
  documents: read(listDocuments, async (ctx, { params: { projectId }, query: { kind = null, ...query } }) => {
    const { db } = ports
    await readableProject(db, projectReaderOf(ctx), projectId)
    const served = { project: projectId, kind, isPerson: isPerson(ctx.actor) }
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
