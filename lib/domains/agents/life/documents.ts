import { refuseKeys } from '#lib/domains/pii/secrets/stored-keys.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/plain-words.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { sanitize } from '#lib/domains/sanitizer/sanitizer.ts'
import { newId } from '#lib/kernel/ids.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { erasableAgent, ownAgent, writableAgent } from './agent-access.ts'
import {
  addAgentDocument,
  deleteAgentDocument,
  editAgentDocument,
  listAgentDocuments,
  readAgentDocument,
} from './documents-contract.ts'
import { type AgentDocumentRow, documentsPage, documentWithBody } from './repository.ts'
import { documentBytes, mostDocuments } from './rules.ts'
import type { LifePorts } from './status.ts'

const viewOf = (row: AgentDocumentRow) => ({
  id: row.id,
  kind: row.kind,
  title: row.title,
  bytes: row.bytes,
  revision: row.revision,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
const noDocument = (): Problem => new Problem('not_found', 'This agent has no document with this id.')

/**
 * Returns the text as it is stored.
 * @throws {Problem} `content_rejected` with stage and position; `invalid` if nothing remains or the text is too long
 */
export function markdown(text: string, strict: boolean): string {
  try {
    const { text: kept } = sanitize(text, 'markdown', { strict })
    if (kept.trim() === '') throw invalid(['body'], 'is empty after markup is removed')
    // Unicode composition can lengthen a text.
    if (Buffer.byteLength(kept) > documentBytes) throw invalid(['body'], 'must have at most 256 KiB')
    return kept
  } catch (error) {
    if (!SanitizationError.is(error)) throw error
    const { stage, rule, place } = error
    throw new Problem('content_rejected', {
      detail: `The text was rejected at the stage "${stage}" (${rule}). Nothing was stored.`,
      issues: [{ path: ['body'], message: `${rule} at character ${place}` }],
      extensions: { stage, field: 'body', place },
    })
  }
}

const list = ({ db }: Pick<LifePorts, 'db'>) =>
  read(listAgentDocuments, async ({ actor }, { params: { id }, query: { kind, cursor, limit } }) => {
    const after = parseCursor(cursor)
    await ownAgent(db, actor, id)
    const [rows, total] = await Promise.all([
      documentsPage(db, {
        ...{ agent: id, kind: kind ?? null, at: after?.at ?? null, id: after?.id ?? '', limit: limit + 1 },
      }),
      db.prisma.agentDocument.count({ where: { agentId: id, ...(kind !== undefined && { kind }) } }),
    ])
    const { shown, page } = pageOf(rows, limit, total, ({ created_at, id }) => ({ at: created_at, id }))
    return {
      resourceId: id,
      resourceType: 'agent',
      details: { count: shown.length },
      body: {
        data: shown.map(viewOf),
        ...page,
      },
    }
  })

const add = ({ regions, strict }: Pick<LifePorts, 'regions' | 'strict'>) =>
  mutation(addAgentDocument, async ({ tx, actor, now }, { params: { id: agentId }, body }) => {
    const title = plainTextPhrases(body.title, 'title', strict, 'Nothing was stored.')
    const text = markdown(body.body, strict)
    refuseKeys({ title, body: text }, 'The document')
    await writableAgent(regions)(tx, actor, agentId)
    if ((await tx.agentDocument.count({ where: { agentId } })) >= mostDocuments)
      throw new Problem(
        'conflict',
        `This agent has ${mostDocuments.toLocaleString('en')} documents, which is the limit. Nothing was stored. Delete one first.`,
      )
    const id = newId('adoc')
    await tx.agentDocument.create({
      data: { id, agentId, kind: body.kind, title, body: text, createdAt: now, updatedAt: now },
    })
    return {
      body: {
        data: {
          id,
          revision: 1,
          is_as_sent: text === body.body && title === body.title,
          updated_at: now.toISOString(),
        },
      },
      resourceId: id,
      details: { agent_id: agentId, kind: body.kind, bytes: Buffer.byteLength(text) },
    }
  })

const readOne = ({ db }: Pick<LifePorts, 'db'>) =>
  read(readAgentDocument, async ({ actor }, { params: { id, documentId }, query: { format } }) => {
    await ownAgent(db, actor, id)
    const [row] = await documentWithBody(db, { agent: id, id: documentId })
    if (!row) throw noDocument()
    const common = { resourceId: documentId, details: { agent_id: id, format } }
    if (format === 'json') return { ...common, body: { data: { ...viewOf(row), body: row.body } } }
    return {
      ...common,
      body: `# ${row.title}\n\n${row.body}${row.body.endsWith('\n') ? '' : '\n'}`,
      headers: {
        'Content-Type': 'text/markdown; charset=utf-8',
        'Content-Disposition': `attachment; filename="${row.kind}-${documentId}.md"`,
      },
    }
  })

const edit = ({ regions, strict }: Pick<LifePorts, 'regions' | 'strict'>) =>
  mutation(editAgentDocument, async ({ tx, actor, now }, { params: { id: agentId, documentId }, body }) => {
    const title = plainTextPhrases(body.title, 'title', strict)
    const text = markdown(body.body, strict)
    refuseKeys({ title, body: text }, 'The document')
    await writableAgent(regions)(tx, actor, agentId)
    const { count } = await tx.agentDocument.updateMany({
      where: { id: documentId, agentId, revision: body.revision },
      data: { title, body: text, revision: body.revision + 1, updatedAt: now },
    })
    const there =
      count === 0 ? await tx.agentDocument.findFirst({ where: { id: documentId, agentId } }) : { updatedAt: now }
    if (!there) throw noDocument()
    // A retry after a lost response succeeds if the stored document already matches the request.
    const isDone =
      !('revision' in there) || (there.revision === body.revision + 1 && there.title === title && there.body === text)
    if (!isDone)
      throw new Problem(
        'conflict',
        `The document now has revision ${there.revision}, not ${body.revision}, so nothing was changed. Read it again, then send your change.`,
      )
    return {
      body: {
        data: {
          id: documentId,
          revision: body.revision + 1,
          is_as_sent: text === body.body && title === body.title,
          updated_at: there.updatedAt.toISOString(),
        },
      },
      resourceId: documentId,
      details: { agent_id: agentId, fields: ['title', 'body'], bytes: Buffer.byteLength(text) },
    }
  })

const remove = () =>
  mutation(deleteAgentDocument, async ({ tx, actor, now }, { params: { id: agentId, documentId } }) => {
    await erasableAgent(tx, actor, agentId, now)
    const { count } = await tx.agentDocument.deleteMany({ where: { id: documentId, agentId } })
    if (count === 0) throw noDocument()
    return { body: undefined, resourceId: documentId, details: { agent_id: agentId } }
  })

/** Strategy theses and playbooks that an agent writes for itself and its owner. */
export const agentDocuments = (ports: LifePorts) => ({
  listDocuments: list(ports),
  addDocument: add(ports),
  readDocument: readOne(ports),
  editDocument: edit(ports),
  deleteDocument: remove(),
})
