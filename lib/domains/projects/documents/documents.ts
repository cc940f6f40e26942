import {
  claimantSql,
  isMine,
  type ProjectQuery,
  projectReaderOf,
  queryDirectly,
  queryInTransaction,
  readableProject,
  writerSql,
} from '#lib/domains/projects/access.ts'
import { shownSql, storedIdOwner } from '#lib/domains/projects/chosen-ids.ts'
import type { Writer } from '#lib/domains/projects/contract.ts'
import { fileReply } from '#lib/domains/projects/conversations/attachments.ts'
import { isPerson, refuseRestricted, servedSql } from '#lib/domains/projects/participants/restricting.ts'
import type { ProjectDocumentKind } from '#lib/domains/projects/rules.ts'
import type { Context } from '#lib/kernel/context.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { batched, read, stream } from '#lib/kernel/use-case.ts'
import { addDocument, type DocumentView, downloadDocument, listDocuments, readDocument } from './contract.ts'
import { type DocumentPorts, storeDocument } from './storage.ts'

interface DocumentRow {
  id: string
  stored_id: string
  project_id: string
  kind: ProjectDocumentKind
  name: string
  media_type: string
  bytes: number
  sha256: string
  author: Writer
  written_by: string | null
  claimed_by: string | null
  made_from: string | null
  chunks: number
  created_at: Date
  updated_at: Date
}
const columns = `d.id AS stored_id, ${shownSql('d.id')} AS id, d.project_id, d.kind, d.name, d.media_type, d.bytes, encode(d.sha256, 'hex') AS sha256,
  ${writerSql('d.author_kind', 'd.author_id')} AS author, d.written_by, ${claimantSql('d')} AS claimed_by, ${shownSql('d.made_from')} AS made_from, d.created_at, d.updated_at,
  (SELECT count(*)::int FROM document_chunks k WHERE k.document_id = d.id) AS chunks`
const viewOf = ({ actor }: Context, { claimed_by, stored_id: _, ...row }: DocumentRow): DocumentView => ({
  ...row,
  is_mine: isMine(actor, {
    authorKind: row.author.kind,
    authorId: row.author.id,
    writtenBy: row.written_by,
    claimedBy: claimed_by,
  }),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
const noDocument = (): Problem =>
  new Problem('not_found', 'There is no such document in this project. It may be erased.')

async function documentIn(
  ask: ProjectQuery,
  { actor }: Pick<Context, 'actor'>,
  projectId: string,
  id: string,
): Promise<DocumentRow> {
  const [row] = await ask<DocumentRow>(
    'document',
    `SELECT ${columns} FROM documents d WHERE d.id = $1 AND d.project_id = $2 AND d.erasing_since IS NULL`,
    [id, projectId],
  )
  if (!row) throw noDocument()
  await refuseRestricted(ask, actor, { author_kind: row.author.kind, author_id: row.author.id })
  return row
}

/** Use cases for documents and artifacts. Their bytes are objects; their text is also stored in chunks. */
export const projectDocuments = (ports: DocumentPorts) => {
  const { db } = ports
  return {
    documents: read(listDocuments, async (ctx, { params: { projectId }, query: { kind, cursor, limit } }) => {
      const ask = queryDirectly(db)
      await readableProject(ask, projectReaderOf(ctx), projectId)
      const after = parseCursor(cursor)
      const rows = await ask<DocumentRow>(
        'documents-page',
        `SELECT ${columns} FROM documents d WHERE d.project_id = $1 AND ($2::text IS NULL OR d.kind = $2) AND d.erasing_since IS NULL
           AND (d.created_at, d.id) < ($3::timestamptz, $4) AND ${servedSql('d', '$6')} ORDER BY d.created_at DESC, d.id DESC LIMIT $5`,
        [projectId, kind ?? null, after?.at ?? 'infinity', after?.id ?? '', limit + 1, isPerson(ctx.actor)],
      )
      const [counted] = await ask<{ n: number }>(
        'documents-served',
        `SELECT count(*)::int AS n FROM documents d WHERE d.project_id = $1 AND ($2::text IS NULL OR d.kind = $2) AND d.erasing_since IS NULL AND ${servedSql('d', '$3')}`,
        [projectId, kind ?? null, isPerson(ctx.actor)],
      )
      const { shown, page } = pageOf(rows, limit, counted?.n ?? 0, ({ created_at, stored_id }) => ({
        at: created_at,
        id: stored_id,
      }))
      return {
        resourceId: projectId,
        details: { count: shown.length },
        body: {
          data: shown.map((row) => viewOf(ctx, row)),
          ...page,
        },
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
        const row = await documentIn(queryDirectly(db), ctx, projectId, id)
        return { body: { data: viewOf(ctx, row) }, resourceId: id, details: { bytes } }
      },
      // The stored response omits the name, because it may be erased before a retry. A retry reads the current name.
      ({ data: { name: _, sha256: __, author: ___, ...data } }) => ({ data }),
      async (ctx, { params: { projectId } }, { id }) => {
        const ask = queryInTransaction(ctx.tx)
        await readableProject(ask, projectReaderOf(ctx), projectId)
        const { documentId } = await storedIdOwner(ask, { projectId, documentId: String(id) })
        const { name, sha256, author } = await documentIn(ask, ctx, projectId, documentId)
        return { name, sha256, author }
      },
    ),

    readDocument: read(readDocument, async (ctx, { params }) => {
      const ask = queryDirectly(db)
      await readableProject(ask, projectReaderOf(ctx), params.projectId)
      const { projectId, documentId } = await storedIdOwner(ask, params)
      const row = await documentIn(ask, ctx, projectId, documentId)
      return { body: { data: viewOf(ctx, row) }, resourceId: documentId, details: { project: projectId } }
    }),

    downloadDocument: stream(downloadDocument, async (ctx, { params }) => {
      const ask = queryDirectly(db)
      await readableProject(ask, projectReaderOf(ctx), params.projectId)
      const { projectId, documentId } = await storedIdOwner(ask, params)
      const [row] = await ask<{
        object_key: string
        name: string
        media_type: string
        bytes: number
        author_kind: string
        author_id: string
      }>(
        'document-file',
        'SELECT object_key, name, media_type, bytes, author_kind, author_id FROM documents WHERE id = $1 AND project_id = $2 AND erasing_since IS NULL',
        [documentId, projectId],
      )
      if (!row) throw noDocument()
      await refuseRestricted(ask, ctx.actor, row)
      return { ...(await fileReply(ports, row)), resourceId: documentId, details: { project: projectId } }
    }),
  }
}
