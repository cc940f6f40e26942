import type { Context, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { pageOf, placeOf } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { turns } from '#lib/kernel/turns.ts'
import { batched, read, stream } from '#lib/kernel/use-case.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import {
  type Ask,
  asking,
  askingWithin,
  claimantSql,
  isMine,
  readableProject,
  readerOf,
  writableProject,
  writerSql,
} from './access.ts'
import { fileReply } from './attachments.ts'
import { shownSql, storedIds, storedPlace } from './chosen-ids.ts'
import type { Writer } from './contract.ts'
import { idInUse, newStoredId } from './conversations.ts'
import { addDocument, type DocumentView, downloadDocument, listDocuments, readDocument } from './documents-contract.ts'
import { authorFor } from './participants/authors.ts'
import { objectPointer, store } from './pointers.ts'
import type { ProjectPorts } from './ports.ts'
import { chunksOf, type DocumentKind, isText, most } from './rules.ts'
import { keptWithRow, storeUpload } from './uploads.ts'

interface DocumentRow {
  id: string
  stored_id: string
  project_id: string
  kind: DocumentKind
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

async function documentIn(ask: Ask, projectId: string, id: string): Promise<DocumentRow> {
  const [row] = await ask<DocumentRow>(
    'document',
    `SELECT ${columns} FROM documents d WHERE d.id = $1 AND d.project_id = $2 AND d.erasing_since IS NULL`,
    [id, projectId],
  )
  if (!row) throw noDocument()
  return row
}

/** Pieces of one statement. */
const chunksAtOnce = 200
/** Texts that are held at once, each of 50 MiB at most. */
const reading = turns({ atOnce: 2, waiting: 20 })
/** The text as it was stored, in pieces. Read before the transaction: a store that is slow keeps no connection of the database. */
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
  if (taken !== 'full') return taken.value
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

/** Documents and artifacts: their bytes are objects, their text also lies in pieces beside them. */
export const projectDocuments = (ports: Pick<ProjectPorts, 'db' | 'objects' | 'erasedAmong' | 'isSuppressed'>) => {
  const { db } = ports
  return {
    documents: read(listDocuments, async (ctx, { params: { projectId }, query: { kind, cursor, limit } }) => {
      const ask = asking(db)
      await readableProject(ask, readerOf(ctx), projectId)
      const place = placeOf(cursor)
      const rows = await ask<DocumentRow>(
        'documents-page',
        `SELECT ${columns} FROM documents d WHERE d.project_id = $1 AND ($2::text IS NULL OR d.kind = $2) AND d.erasing_since IS NULL
           AND (d.created_at, d.id) < ($3::timestamptz, $4) ORDER BY d.created_at DESC, d.id DESC LIMIT $5`,
        [projectId, kind ?? null, place?.at ?? 'infinity', place?.id ?? '', limit + 1],
      )
      const total = await db.prisma.document.count({
        where: { projectId, erasingSince: null, ...(kind !== undefined && { kind }) },
      })
      const { shown, page } = pageOf(rows, limit, total, ({ created_at, stored_id }) => ({
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
      async (ctx, { params: { projectId }, query, upload }) => {
        const { actor, now } = ctx
        // Refused before the bytes come, and looked up again with the row.
        const author = query.author === undefined ? undefined : { external_id: query.author }
        const check = async (tx: Transaction) => {
          await writableProject(askingWithin(tx), readerOf(ctx), projectId)
          await authorFor(ports, { tx, actor, now }, projectId, author)
          const made = await newStoredId(ports, tx, 'document', { projectId, chosen: query.id })
          if (query.made_from === undefined) return { made, madeFrom: null }
          const found = await storedIds(askingWithin(tx), 'message', projectId, [query.made_from])
          const madeFrom = found.get(query.made_from)
          if (madeFrom === undefined) throw invalid(['query', 'made_from'], 'names no message of this project')
          return { made, madeFrom }
        }
        const { made: id } = await ctx.gate.transaction(check)
        // One upload, one key: of two at once under one id, neither writes over the other's bytes.
        const key = `projects/${projectId}/documents/${shownId(id)}/${newId('file')}`
        const stored = await storeUpload(ports, key, upload, most.document)
        const kept = (chunks: readonly string[]) =>
          ctx.gate.transaction(async (tx) => {
            const { madeFrom } = await check(tx)
            const writer = await authorFor(ports, { tx, actor, now }, projectId, author)
            const made = await tx.$queryRaw<{ id: string }[]>`
            INSERT INTO documents (id, project_id, kind, name, media_type, bytes, sha256, object_key, made_from, author_kind, author_id, written_by, created_at, updated_at)
            VALUES (${id}, ${projectId}, ${query.kind}, ${query.name}, ${stored.mediaType}, ${stored.bytes}, ${stored.sha256}, ${key}, ${madeFrom},
              ${writer.kind}, ${writer.id}, ${writer.writtenBy}, ${now}, ${now})
            ON CONFLICT DO NOTHING RETURNING id`
            if (made.length === 0) throw idInUse()
            await storeChunks(tx, id, chunks)
            await store(tx, [objectPointer(id, 'document', key)], { projectId, toldBy: actor.id, now })
            await ctx.gate.auditWithin(tx, {
              action: 'create',
              actorId: actor.id,
              resourceType: 'document',
              resourceId: id,
              at: now,
              ip: ctx.ip,
              details: { operation: addDocument.id, project: projectId, bytes: stored.bytes },
            })
            return documentIn(askingWithin(tx), projectId, id)
          })
        const row = await keptWithRow(ports, key, () =>
          isText(stored.mediaType) ? withTextAt(ports, key, kept) : kept([]),
        )
        return { body: { data: viewOf(ctx, row) }, resourceId: id, details: { bytes: stored.bytes } }
      },
      // Its name may be erased before the answer: a repetition reads it anew.
      ({ data: { name: _, sha256: __, author: ___, ...data } }) => ({ data }),
      async (ctx, { params: { projectId } }, { id }) => {
        const ask = askingWithin(ctx.tx)
        await readableProject(ask, readerOf(ctx), projectId)
        const { documentId } = await storedPlace(ask, { projectId, documentId: String(id) })
        const { name, sha256, author } = await documentIn(ask, projectId, documentId)
        return { name, sha256, author }
      },
    ),

    readDocument: read(readDocument, async (ctx, { params }) => {
      const ask = asking(db)
      await readableProject(ask, readerOf(ctx), params.projectId)
      const { projectId, documentId } = await storedPlace(ask, params)
      const row = await documentIn(ask, projectId, documentId)
      return { body: { data: viewOf(ctx, row) }, resourceId: documentId, details: { project: projectId } }
    }),

    downloadDocument: stream(downloadDocument, async (ctx, { params }) => {
      const ask = asking(db)
      await readableProject(ask, readerOf(ctx), params.projectId)
      const { projectId, documentId } = await storedPlace(ask, params)
      const [row] = await ask<{ object_key: string; name: string; media_type: string; bytes: number }>(
        'document-file',
        'SELECT object_key, name, media_type, bytes FROM documents WHERE id = $1 AND project_id = $2 AND erasing_since IS NULL',
        [documentId, projectId],
      )
      if (!row) throw noDocument()
      return { ...(await fileReply(ports, row)), resourceId: documentId, details: { project: projectId } }
    }),
  }
}
