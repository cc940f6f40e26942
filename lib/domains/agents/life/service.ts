import { z } from 'zod'
import type { ChainReference } from '#generated/prisma/client.ts'
import { hasEntries } from '#lib/domains/grimoire/queries.ts'
import { refuseKeys } from '#lib/domains/pii/secrets/stored-keys.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { plainTextPhrases, sanitize } from '#lib/domains/sanitizer/sanitizer.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { notOurCursor, pageOf, parseCursor, Timestamp } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read, stream } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import {
  addAgentDocument,
  addChainReference,
  beatHeart,
  chainPermanence,
  deleteAgentDocument,
  deleteChainReference,
  editAgentDocument,
  exportHeartbeats,
  listAgentDocuments,
  listChainReferences,
  listHeartbeats,
  readAgentDocument,
} from './contract.ts'
import { bodyOf, type DocumentKeys, sealedTexts, titleOf } from './document-seals.ts'
import { agentStatus, erasableAgent, type LifePorts, ownAgent, writableAgent } from './own-agents.ts'
import {
  type AgentDocumentRow,
  chainReferencesPage,
  countHeartbeats,
  documentsPage,
  documentWithBody,
  heartbeatsPage,
} from './repository.ts'
import {
  areHeartbeatsOver,
  type ChainReferenceKind,
  chainFact,
  chainReferenceKinds,
  clockTolerance,
  documentBytes,
  maxChainReferences,
  maxDocuments,
  reportedWithin,
} from './rules.ts'

const documentView = (row: AgentDocumentRow, keys: DocumentKeys) => ({
  id: row.id,
  kind: row.kind,
  title: titleOf(keys, row),
  bytes: row.bytes,
  revision: row.revision,
  created_at: row.created_at,
  updated_at: row.updated_at,
})
const documentsExpiredBefore = ({ documentDays }: { documentDays: number | null }, now: Date): Date | null =>
  documentDays === null ? null : new Date(now.getTime() - documentDays * 86_400_000)
const noDocument = (): Problem =>
  new Problem('not_found', 'This agent has no document with this id, or the document has expired.')

/**
 * Returns the text as it is stored.
 * @throws {Problem} `content_rejected` with stage and position; `invalid` if nothing remains or the text is too long
 */
function markdown(text: string, strict: boolean): string {
  try {
    const { text: retained } = sanitize(text, 'markdown', { strict })
    if (retained.trim() === '') throw invalid(['body'], 'is empty after markup is removed')
    // Unicode composition can lengthen a text.
    if (Buffer.byteLength(retained) > documentBytes) throw invalid(['body'], 'must have at most 256 KiB')
    return retained
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

const list = ({ db, documentKeys }: Pick<LifePorts, 'db' | 'documentKeys'>) =>
  read(listAgentDocuments, async ({ actor, now }, { params: { id }, query: { kind, cursor, limit } }) => {
    const after = parseCursor(cursor)
    const expiredBefore = documentsExpiredBefore(await ownAgent(db, actor, id), now)
    const [rows, total] = await Promise.all([
      documentsPage(db, {
        agent: id,
        expiredBefore,
        kind: kind ?? null,
        at: after?.at ?? null,
        id: after?.id ?? '',
        limit: limit + 1,
      }),
      db.prisma.agentDocument.count({
        where: {
          agentId: id,
          ...(kind !== undefined && { kind }),
          ...(expiredBefore && { updatedAt: { gt: expiredBefore } }),
        },
      }),
    ])
    const { shown, page } = pageOf(rows, limit, total, ({ created_at, id }) => ({ at: created_at, id }))
    return {
      resourceId: id,
      resourceType: 'agent',
      details: { count: shown.length },
      body: {
        data: shown.map((row) => documentView(row, documentKeys)),
        ...page,
      },
    }
  })

type WritingPorts = Pick<LifePorts, 'documentKeys' | 'regions' | 'strict'>

const add = ({ documentKeys, regions, strict }: WritingPorts) =>
  mutation(addAgentDocument, async ({ tx, actor, now }, { params: { id: agentId }, body }) => {
    const title = plainTextPhrases(body.title, 'title', strict, 'Nothing was stored.')
    const text = markdown(body.body, strict)
    refuseKeys({ title, body: text }, 'The document')
    await writableAgent(regions)(tx, actor, agentId)
    if ((await tx.agentDocument.count({ where: { agentId } })) >= maxDocuments)
      throw new Problem(
        'conflict',
        `This agent has ${maxDocuments.toLocaleString('en')} documents, which is the limit. Nothing was stored. Delete one first.`,
      )
    const id = newId('adoc')
    await tx.agentDocument.create({
      data: {
        id,
        agentId,
        kind: body.kind,
        ...sealedTexts(documentKeys, id, { title, body: text }),
        createdAt: now,
        updatedAt: now,
      },
    })
    return {
      body: {
        data: {
          id,
          revision: 1,
          is_as_sent: text === body.body && title === body.title,
          updated_at: now,
        },
      },
      resourceId: id,
      details: { agent_id: agentId, kind: body.kind, bytes: Buffer.byteLength(text) },
    }
  })

const readOne = ({ db, documentKeys }: Pick<LifePorts, 'db' | 'documentKeys'>) =>
  read(readAgentDocument, async ({ actor, now }, { params: { id, documentId }, query: { format } }) => {
    const expiredBefore = documentsExpiredBefore(await ownAgent(db, actor, id), now)
    const [row] = await documentWithBody(db, { agent: id, expiredBefore, id: documentId })
    if (!row) throw noDocument()
    const common = { resourceId: documentId, details: { agent_id: id, format } }
    const view = { ...documentView(row, documentKeys), body: bodyOf(documentKeys, row) }
    if (format === 'json') return { ...common, body: { data: view } }
    return {
      ...common,
      body: `# ${view.title}\n\n${view.body}${view.body.endsWith('\n') ? '' : '\n'}`,
      headers: {
        'Content-Type': 'text/markdown; charset=utf-8',
        'Content-Disposition': `attachment; filename="${row.kind}-${documentId}.md"`,
      },
    }
  })

const edit = ({ documentKeys, regions, strict }: WritingPorts) =>
  mutation(editAgentDocument, async ({ tx, actor, now }, { params: { id: agentId, documentId }, body }) => {
    const title = plainTextPhrases(body.title, 'title', strict)
    const text = markdown(body.body, strict)
    refuseKeys({ title, body: text }, 'The document')
    const expiredBefore = documentsExpiredBefore(await writableAgent(regions)(tx, actor, agentId), now)
    const { count } = await tx.agentDocument.updateMany({
      where: {
        id: documentId,
        agentId,
        revision: body.revision,
        ...(expiredBefore && { updatedAt: { gt: expiredBefore } }),
      },
      data: {
        ...sealedTexts(documentKeys, documentId, { title, body: text }),
        revision: body.revision + 1,
        updatedAt: now,
      },
    })
    const [there] = count === 0 ? await documentWithBody(tx, { agent: agentId, expiredBefore, id: documentId }) : []
    if (count === 0 && !there) throw noDocument()
    // A retry after a lost response succeeds if the stored document already matches the request.
    const isDone = (row: NonNullable<typeof there>): boolean =>
      row.revision === body.revision + 1 && titleOf(documentKeys, row) === title && bodyOf(documentKeys, row) === text
    if (there && !isDone(there))
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
          updated_at: there?.updated_at ?? now,
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
const agentDocuments = (ports: LifePorts) => ({
  listDocuments: list(ports),
  addDocument: add(ports),
  readDocument: readOne(ports),
  editDocument: edit(ports),
  deleteDocument: remove(),
})

/** Export records of the agent's heartbeats up to `until`, oldest first. */
export const heartbeatRecords = (db: Database, agentId: string, until: Date | null) =>
  recordPages(db, {
    from: 'heartbeats h',
    where: 'h.agent_id = $1 AND ($2::timestamptz IS NULL OR h.at <= $2)',
    values: [agentId, until],
    at: 'h.at',
    id: "lpad(h.seq::text, 20, '0')",
    columns: 'h.at, h.state, h.counts',
    record: jsonObject({ at: utc('c.at'), state: 'c.state', counts: 'c.counts' }),
  })

async function* lines(db: Database, agentId: string): AsyncGenerator<string> {
  for await (const page of heartbeatRecords(db, agentId, null)) yield `${page.lines}\n`
}

/** Heartbeats of agents: recording, listing and exporting. */
const agentHeartbeats = ({ db, regions }: LifePorts) => ({
  beat: mutation(beatHeart, async ({ tx, actor, now }, { params: { id }, body }) => {
    const at = body.at ?? now
    if (at.getTime() > now.getTime() + clockTolerance)
      throw invalid(['at'], 'is more than five minutes ahead of our clock')
    if (at.getTime() < now.getTime() - reportedWithin) throw invalid(['at'], 'is more than 24 hours ago')
    // The lock serializes two heartbeats in the same second.
    await writableAgent(regions)(tx, actor, id)
    const second = Math.floor(at.getTime() / 1000) * 1000
    const known = await tx.heartbeat.findFirst({
      where: { agentId: id, at: { gte: new Date(second), lt: new Date(second + 1000) } },
      select: { seq: true },
    })
    if (!known) await tx.heartbeat.create({ data: { agentId: id, at, state: body.state, counts: body.counts } })
    return {
      body: { data: { at, is_kept: known === null } },
      resourceId: id,
      ...(known && { status: 200 }),
    }
  }),

  listHeartbeats: read(listHeartbeats, async ({ actor }, { params: { id }, query: { from, to, cursor, limit } }) => {
    const after = parseCursor(cursor)
    if (after && !/^\d{1,19}$/.test(after.id)) throw notOurCursor()
    await ownAgent(db, actor, id)
    const range = { agent: id, from: from ?? null, to: to ?? null }
    const [rows, [counted]] = await Promise.all([
      heartbeatsPage(db, { ...range, at: after?.at ?? null, seq: after?.id ?? '0', limit: limit + 1 }),
      countHeartbeats(db, range),
    ])
    const { shown, page } = pageOf(rows, limit, counted?.n ?? 0, ({ at, seq }) => ({ at, id: seq }))
    return {
      resourceId: id,
      resourceType: 'agent',
      details: { count: shown.length },
      body: {
        data: shown.map(({ at, state, counts }) => ({ at, state, counts })),
        ...page,
      },
    }
  }),

  exportHeartbeats: stream(exportHeartbeats, async ({ actor, now }, { params: { id } }) => {
    const { diedAt } = await ownAgent(db, actor, id)
    if (areHeartbeatsOver(diedAt, now))
      throw new Problem('expired', 'The agent was retired more than 24 hours ago, so its heartbeats were deleted.')
    return {
      body: lines(db, id),
      resourceId: id,
      resourceType: 'agent',
      headers: {
        'Content-Type': 'application/jsonl',
        'Content-Disposition': 'attachment; filename="heartbeats.jsonl"',
      },
    }
  }),
})

const kindOf = (text: string): ChainReferenceKind => chainReferenceKinds.find((kind) => kind === text) ?? 'attestation'
const chainReferenceView = (row: Pick<ChainReference, 'id' | 'chain' | 'kind' | 'reference' | 'reportedAt'>) => ({
  id: row.id,
  chain: row.chain,
  kind: kindOf(row.kind),
  reference: row.reference,
  reported_at: row.reportedAt,
  is_public: true as const,
  is_permanent: true as const,
})

/** References to data on public blockchains about an agent. */
const agentChainReferences = ({ db, regions }: LifePorts) => ({
  listChainReferences: read(listChainReferences, async ({ actor }, { params: { id }, query: { cursor, limit } }) => {
    const after = parseCursor(cursor)
    await ownAgent(db, actor, id)
    const [rows, total] = await Promise.all([
      chainReferencesPage(db, { agent: id, at: after?.at ?? null, id: after?.id ?? '', limit: limit + 1 }),
      db.prisma.chainReference.count({ where: { agentId: id } }),
    ])
    const { shown, page } = pageOf(rows, limit, total, ({ reportedAt, id }) => ({ at: reportedAt, id }))
    return {
      resourceId: id,
      resourceType: 'agent',
      details: { count: shown.length },
      body: {
        data: shown.map(chainReferenceView),
        ...page,
        why: chainPermanence,
      },
    }
  }),

  addChainReference: mutation(
    addChainReference,
    async ({ tx, actor, now }, { params: { id: agentId }, body }) => {
      const fact = chainFact(body)
      if ('wrong' in fact) throw invalid([fact.wrong], fact.message)
      await writableAgent(regions)(tx, actor, agentId)
      const known = await tx.chainReference.findFirst({ where: { agentId, ...fact } })
      if (!known && (await tx.chainReference.count({ where: { agentId } })) >= maxChainReferences)
        throw new Problem(
          'conflict',
          `This agent has ${maxChainReferences.toLocaleString('en')} chain references, which is the limit. Nothing was stored. Delete one first.`,
        )
      const row =
        known ?? (await tx.chainReference.create({ data: { id: newId('chain'), agentId, ...fact, reportedAt: now } }))
      return {
        body: { data: chainReferenceView(row), why: chainPermanence },
        resourceId: row.id,
        details: { agent_id: agentId, kind: row.kind, changed: known === null },
        ...(known && { status: 200 }),
      }
    },
    async ({ tx, actor }, { params: { id: agentId } }, { id }) => {
      await writableAgent(regions)(tx, actor, agentId)
      const row = await tx.chainReference.findFirst({ where: { id: String(id), agentId } })
      if (!row) throw new Problem('conflict', 'The chain reference was created and has since been deleted.')
      const { chain, reference } = chainReferenceView(row)
      return { chain, reference }
    },
  ),

  deleteChainReference: mutation(
    deleteChainReference,
    async ({ tx, actor, now }, { params: { id: agentId, referenceId } }) => {
      await erasableAgent(tx, actor, agentId, now)
      const { count } = await tx.chainReference.deleteMany({ where: { id: referenceId, agentId } })
      if (count === 0) throw new Problem('not_found', 'This agent has no chain reference with this id.')
      return {
        body: {
          message: 'Our reference is deleted. The data on the blockchain is public and permanent: nobody can erase it.',
        },
        resourceId: referenceId,
        details: { agent_id: agentId },
      }
    },
  ),
})

/** An agent's life: status, settings, documents, heartbeats and blockchain references. */
export const agentLife = (ports: LifePorts) => ({
  ...agentStatus(ports),
  ...agentDocuments(ports),
  ...agentHeartbeats(ports),
  ...agentChainReferences(ports),
})

/** The agent that receives the restored records, and the mapping of their ids. */
interface Goal {
  agentId: string
  now: Date
  /** Maps the id of an exported record to its id in this agent. */
  named(id: string): string
}

const { kind, title, body } = addAgentDocument.body.shape
const Document = z.object({
  id: z.string().regex(/^adoc_[0-9A-Za-z]{22}$/, 'is not the id of a document'),
  kind,
  title,
  body,
  revision: z.int().min(1).max(2_147_483_646),
  created_at: Timestamp,
  updated_at: Timestamp,
})

/**
 * Restores documents from an export into an agent that is locked and writable. They are sanitized like new ones; existing documents are not
 * changed. All or nothing.
 * @throws {Problem} `invalid`, `content_rejected`, `content_blocked`, `id_in_use` or `conflict`
 */
export const documentRestorer = ({ strict, keys }: { strict: boolean; keys: DocumentKeys }) => ({
  part: 'agent_documents',
  resourceType: 'agent_document',
  async restore(tx: Transaction, { agentId, now, named }: Goal, records: readonly unknown[]) {
    const within = (at: Date): Date => (at > now ? now : at)
    const data = records.map((record) => {
      const { data: document, error } = Document.safeParse(record)
      if (!document)
        throw invalid(
          ['agent_documents', ...(error.issues[0]?.path ?? [])].map(String),
          error.issues[0]?.message ?? 'is not a document',
        )
      const title = plainTextPhrases(document.title, 'title', strict, 'It was not stored.')
      const body = markdown(document.body, strict)
      refuseKeys({ title, body }, 'One of the documents')
      const id = named(document.id)
      return {
        id,
        agentId,
        kind: document.kind,
        ...sealedTexts(keys, id, { title, body }),
        revision: document.revision,
        createdAt: within(document.created_at),
        updatedAt: within(document.updated_at),
      }
    })
    const stored = await tx.agentDocument.createManyAndReturn({ data, skipDuplicates: true, select: { id: true } })
    const ids = [...new Set(data.map(({ id }) => id))]
    if ((await tx.agentDocument.count({ where: { agentId, id: { in: ids } } })) < ids.length)
      throw new Problem('id_in_use', 'One of these document ids belongs to another agent. No document was stored.')
    if ((await tx.agentDocument.count({ where: { agentId } })) > maxDocuments)
      throw new Problem(
        'conflict',
        `With these documents, the agent would have more than ${maxDocuments.toLocaleString('en')}, which is the limit. Delete some first.`,
      )
    return { stored: stored.map(({ id }) => id), ended: 0 }
  },
})

/**
 * Restores an agent's settings only if its grimoire is empty: a shorter retention would delete existing entries. Returns whether it did.
 */
export async function restoreSettings(tx: Transaction, agentId: string, settings: unknown): Promise<boolean> {
  const { data } = z.object({ grimoire_days: z.int().min(1).max(3_650).nullable() }).safeParse(settings)
  if (!data) throw invalid(['agent', 'grimoire_days'], 'must be a number of days from 1 to 3,650, or null')
  if (await hasEntries(tx, agentId)) return false
  await tx.agent.update({ where: { id: agentId }, data: { grimoireDays: data.grimoire_days } })
  return true
}
