import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { makeConversation, projectIdInUse } from '#lib/domains/projects/conversations/conversations.ts'
import { makeMessage, reportedPointersOf } from '#lib/domains/projects/conversations/messages.ts'
import {
  type DocumentPorts,
  reportedPointersOfDocument,
  storeDocument,
} from '#lib/domains/projects/documents/storage.ts'
import { claimPlaces } from '#lib/domains/projects/provenance/claims.ts'
import { confine, type ReportedPointer, store } from '#lib/domains/projects/provenance/pointers.ts'
import type { AuditRecord, Context, Transaction } from '#lib/kernel/context.ts'
import { isWithin } from '#lib/kernel/data-regions.ts'
import { newId } from '#lib/kernel/ids.ts'
import { parseJson } from '#lib/kernel/json.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { batched } from '#lib/kernel/use-case.ts'
import { asProblem } from '#lib/stores/postgres/database.ts'
import { projectReaderOf, queryInTransaction, type SeenProject, storableProject, writableProject } from '../access.ts'
import { storedId, storedIds } from '../chosen-ids.ts'
import { participantFor } from '../participants/authors.ts'
import { type ImportFault, importHistory, type ProjectImport } from './contract.ts'
import { type NdjsonLine, ndjsonLinesOf } from './lines.ts'
import {
  type ConversationLine,
  type DocumentLine,
  ImportLine,
  importBounds,
  knownField,
  type MessageLine,
  type ProjectLine,
} from './rules.ts'

type ImportPorts = DocumentPorts

/** Maximum number of lines and bytes in one transaction. */
const batchLimits = { lines: 50, bytes: 4 * 1024 * 1024 }

type Stored = 'conversations' | 'participants' | 'messages' | 'documents'
interface Outcome {
  line: number
  /** What was stored; null if the line was skipped. */
  stored: Stored | null
  /** Id of the stored record. */
  id?: string
}
type Result = Outcome | { line: number; fault: Problem }

const isFuture = (at: Date | undefined, now: Date): boolean => at !== undefined && at > now

/** A line that is stored in a batch. */
type StoredLine = Exclude<ImportLine, DocumentLine | ProjectLine>
interface ParsedLine {
  line: number
  data: StoredLine | Problem
}

const isProjectLine = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'project'

/**
 * Parses a line. Returns the problem of an invalid line: `malformed_json`, `too_large`, `invalid`.
 * @throws {Problem} `invalid` for an invalid `project` line
 */
function parsed({ bytes }: NdjsonLine): ImportLine | Problem {
  if (!bytes) return new Problem('too_large', 'The line is too long.')
  let value: unknown
  try {
    value = parseJson(bytes)
  } catch (error) {
    if (Problem.is(error)) return error
    throw error
  }
  const found = ImportLine.safeParse(value)
  if (found.success) return found.data
  const [issue] = found.error.issues
  const path = (issue?.path ?? []).filter((step) => typeof step !== 'symbol')
  // Omit the message of other issues: it may quote the line.
  const message = issue && path[0] === 'region' ? issue.message : 'is not valid'
  const problem = new Problem('invalid', { issues: [{ path, message }] })
  // Without this line, the data would be stored without its region.
  if (isProjectLine(value)) throw problem
  return problem
}

interface Work {
  tx: Transaction
  actor: Context['actor']
  now: Date
  project: SeenProject
}

/** Whether the project already has this conversation with the same content. @throws {Problem} `id_in_use` for other content, `fenced` */
async function isStoredConversation({ tx, project }: Work, line: ConversationLine) {
  const { title, threads = [], region } = line
  const id = (await storedIds(queryInTransaction(tx), 'conversation', project.id, [line.id])).get(line.id)
  const found = id === undefined ? null : await tx.conversation.findUnique({ where: { id } })
  if (!found) return false
  if (found.erasingSince) throw new Problem('fenced')
  const isSame =
    found.title === title &&
    threads.every((thread) => found.threads.includes(thread)) &&
    (region === undefined || found.region === region)
  if (!isSame) throw projectIdInUse()
  return true
}

/** The `external_id` of an author who is a participant; undefined for other authors. */
const externalIdOf = async (tx: Transaction, { authorKind, authorId }: { authorKind: string; authorId: string }) =>
  authorKind === 'participant'
    ? (await tx.projectParticipant.findUnique({ where: { id: authorId } }))?.externalId
    : undefined

/** The id of the message if it is already stored identically. @throws {Problem} `id_in_use`, `fenced` */
async function storedMessage({ tx, actor, project }: Work, line: MessageLine): Promise<string | undefined> {
  const id = (await storedIds(queryInTransaction(tx), 'message', project.id, [line.id])).get(line.id)
  const record = id === undefined ? null : await tx.message.findUnique({ where: { id } })
  if (!record) return undefined
  if (record.erasingSince) throw new Problem('fenced')
  const author = await externalIdOf(tx, record)
  const isSame =
    record.conversationId === line.conversation_id &&
    record.role === line.role &&
    record.content === line.content &&
    (line.author
      ? author === line.author.external_id
      : record.authorKind === 'agent' && record.authorId === actor.id) &&
    (line.created_at === undefined || record.createdAt.getTime() === line.created_at.getTime())
  if (!isSame) throw projectIdInUse()
  return record.id
}

/** The id of the document if it is already stored identically. @throws {Problem} `id_in_use`, `fenced` */
async function storedDocument(
  { tx, actor, project }: Work,
  line: DocumentLine,
  bytes: Uint8Array,
): Promise<string | undefined> {
  const ask = queryInTransaction(tx)
  const id = (await storedIds(ask, 'document', project.id, [line.id])).get(line.id)
  const record = id === undefined ? null : await tx.document.findUnique({ where: { id } })
  if (!record) return undefined
  if (record.erasingSince) throw new Problem('fenced')
  const madeFrom = line.made_from === undefined ? null : await storedId(ask, 'message', project.id, line.made_from)
  const author = await externalIdOf(tx, record)
  const isSame =
    record.name === line.name &&
    record.kind === line.kind &&
    record.mediaType === line.media_type &&
    record.madeFrom === madeFrom &&
    createHash('sha256').update(bytes).digest().equals(record.sha256) &&
    (line.author
      ? author === line.author.external_id
      : record.authorKind === 'agent' && record.authorId === actor.id) &&
    (line.created_at === undefined || record.createdAt.getTime() === line.created_at.getTime())
  if (!isSame) throw projectIdInUse()
  return record.id
}

async function addPointers(
  ports: ImportPorts,
  { tx, actor, now, project }: Work,
  reported: readonly ReportedPointer[],
) {
  if (reported.length === 0) return
  await confine(tx, actor, project, reported, ports)
  await claimPlaces(ports, tx, actor, project.id, reported)
  await store(tx, reported, { projectId: project.id, toldBy: actor.id, now })
}

async function storeLine(ports: ImportPorts, work: Work, line: StoredLine): Promise<Omit<Outcome, 'line'>> {
  const { tx, now, project } = work
  if (line.type === 'participant') {
    const { type: _, ...author } = line
    const before = await tx.projectParticipant.count({
      where: { projectId: project.id, externalId: author.external_id },
    })
    const id = await participantFor(ports, work, project.id, author)
    return before > 0 ? { stored: null } : { stored: 'participants', id }
  }
  if (isFuture(line.created_at, now)) throw invalid(['created_at'], 'lies ahead of now')
  if (line.type === 'conversation') {
    if (await isStoredConversation(work, line)) return { stored: null }
    const { created_at: at, ...given } = line
    return { stored: 'conversations', id: await makeConversation(ports, work, project.id, { ...given, at }) }
  }
  const conversation = await storedId(queryInTransaction(tx), 'conversation', project.id, line.conversation_id)
  const message = { ...line, conversation_id: conversation }
  const known = await storedMessage(work, message)
  if (known !== undefined) {
    await addPointers(ports, work, reportedPointersOf(known, line))
    return { stored: null }
  }
  const { id } = await makeMessage(ports, work, project, conversation, line)
  return { stored: 'messages', id }
}

const types: Record<Stored, string> = {
  conversations: 'conversation',
  participants: 'participant',
  messages: 'message',
  documents: 'document',
}

/** Whether a problem concerns only this line. Any other error ends the import. */
const isOfLine = (error: unknown): error is Problem => Problem.is(error) && error.status < 500

/**
 * Stores a line inside a savepoint: completely or not at all, without affecting earlier lines. Retries once after `id_in_use`, because a
 * concurrent request may have stored the same line.
 */
async function storedWhole<T>(tx: Transaction, run: () => Promise<T>): Promise<T | Problem> {
  for (let tries = 1; ; tries++) {
    await tx.$executeRawUnsafe('SAVEPOINT import_line')
    try {
      const outcome = await run()
      await tx.$executeRawUnsafe('RELEASE SAVEPOINT import_line')
      return outcome
    } catch (error) {
      const problem = asProblem(error)
      if (!isOfLine(problem)) throw error
      await tx.$executeRawUnsafe('ROLLBACK TO SAVEPOINT import_line')
      if (problem.code !== 'id_in_use' || tries === 2) return problem
    }
  }
}

/** Why a region is refused. Other details may quote the line and are left out. */
const regionDetail = ({ detail, issues, extensions }: Problem): string | undefined => {
  if ('region' in extensions) return detail
  const [issue] = issues ?? []
  return issue?.path[0] === 'region' ? issue.message : undefined
}

/** @throws {Problem} `conflict` if the region of the project does not ensure that of the imported project */
function requireWithin(region: string | null, { region: required }: ProjectLine): void {
  if (!isWithin(region, required))
    throw new Problem(
      'conflict',
      `The imported data must stay in the region ${required}, and this project has ${region === null ? 'no region' : `the region ${region}`}. Import it into a project with the region ${required}.`,
    )
}

export const historyImport = (ports: ImportPorts) => {
  /** Stores a batch in one transaction, which is retried if the database aborts it. */
  async function storeBatch(ctx: Context, projectId: string, lines: readonly ParsedLine[]): Promise<Result[]> {
    return ctx.pipeline.transaction(async (tx) => {
      const { actor, ip } = ctx
      const now = ctx.pipeline.clock.now()
      const ask = queryInTransaction(tx)
      const project = await writableProject(ask, projectReaderOf(ctx), projectId)
      const work = { tx, actor, now, project }
      const results: Result[] = []
      const records: AuditRecord[] = []
      for (const { line, data } of lines) {
        if (Problem.is(data)) {
          results.push({ line, fault: data })
          continue
        }
        const outcome = await storedWhole(tx, () => storeLine(ports, work, data))
        if (Problem.is(outcome)) {
          results.push({ line, fault: outcome })
          continue
        }
        results.push({ line, ...outcome })
        if (outcome.stored !== null && outcome.id !== undefined)
          records.push({
            ...{ action: 'create', actorId: actor.id, resourceType: types[outcome.stored], resourceId: outcome.id },
            ...{ at: now, ip, details: { operation: importHistory.id, project: projectId } },
          })
      }
      await ctx.pipeline.auditWithin(tx, ...records)
      return results
    })
  }

  /** Stores a document outside the batch transactions, so that a slow object store does not occupy a database connection. */
  async function storeDocumentLine(ctx: Context, projectId: string, line: DocumentLine): Promise<Stored | null> {
    const bytes = line.content_base64 ?? Buffer.from(line.content ?? '')
    const isStored = () =>
      ctx.pipeline.transaction(async (tx) => {
        const project = await writableProject(queryInTransaction(tx), projectReaderOf(ctx), projectId)
        const work = { tx, actor: ctx.actor, now: ctx.pipeline.clock.now(), project }
        const known = await storedDocument(work, line, bytes)
        if (known !== undefined) await addPointers(ports, work, reportedPointersOfDocument(known, line))
        return known !== undefined
      })
    if (await isStored()) return null
    try {
      await storeDocument(ports, ctx, {
        projectId,
        given: line,
        upload: { mediaType: line.media_type, bytes: Readable.from([bytes]) },
        operation: importHistory.id,
      })
      return 'documents'
    } catch (error) {
      // A concurrent request may have stored the same document.
      if (Problem.is(error, 'id_in_use') && (await isStored())) return null
      throw error
    }
  }
  async function documentResult(ctx: Context, projectId: string, line: number, data: DocumentLine): Promise<Result> {
    try {
      return { line, stored: await storeDocumentLine(ctx, projectId, data) }
    } catch (error) {
      const problem = asProblem(error)
      if (!isOfLine(problem)) throw error
      // If the token may no longer write to the project, end the import instead of failing only this line.
      await ctx.pipeline.transaction((tx) => writableProject(queryInTransaction(tx), projectReaderOf(ctx), projectId))
      return { line, fault: problem }
    }
  }

  return {
    importHistory: batched(
      importHistory,
      async (ctx, { params: { projectId }, upload }) => {
        if (ctx.actor.kind !== 'agent')
          throw new Problem('forbidden', 'Only the token of an agent imports history. Nothing was stored.')
        const { region } = await ctx.pipeline.transaction((tx) =>
          storableProject(ports, queryInTransaction(tx), projectReaderOf(ctx), projectId),
        )
        const report: ProjectImport = {
          received: 0,
          stored: { conversations: 0, participants: 0, messages: 0, documents: 0 },
          skipped: 0,
          failed: 0,
          faults: [],
        }
        const count = (result: Result): void => {
          if ('fault' in result) {
            const { code, issues } = result.fault
            const detail = regionDetail(result.fault)
            const field = knownField(issues?.[0]?.path ?? [])
            const fault: ImportFault = { line: result.line, code, field, ...(detail !== undefined && { detail }) }
            report.failed++
            if (report.faults.length < importBounds.faults) report.faults.push(fault)
          } else if (result.stored === null) report.skipped++
          else report.stored[result.stored]++
        }
        let waiting: ParsedLine[] = []
        let waitingBytes = 0
        const flush = async (): Promise<void> => {
          const lines = waiting
          waiting = []
          waitingBytes = 0
          if (lines.length === 0) return
          for (const result of await storeBatch(ctx, projectId, lines)) count(result)
        }
        try {
          for await (const line of ndjsonLinesOf(bounded(upload.bytes), importBounds.lineBytes)) {
            if (report.received === importBounds.lines)
              throw new Problem(
                'too_large',
                `At most ${importBounds.lines.toLocaleString('en')} lines are accepted in one import.`,
              )
            report.received++
            const data = parsed(line)
            if (!Problem.is(data) && data.type === 'project') {
              if (report.received > 1) throw invalid(['type'], 'has its `project` line after others; send it first')
              requireWithin(region, data)
              report.skipped++
              continue
            }
            if (!Problem.is(data) && data.type === 'document') {
              // Store the preceding lines first: the document may have been made from one of these messages.
              await flush()
              count(await documentResult(ctx, projectId, line.number, data))
              continue
            }
            const size = line.bytes?.byteLength ?? 0
            waiting.push({ line: line.number, data })
            waitingBytes += size
            if (waiting.length >= batchLimits.lines || waitingBytes >= batchLimits.bytes) await flush()
          }
          await flush()
        } catch (error) {
          // Store the lines that arrived before the error. Ignore failures: storing may be the cause of the error.
          await flush().catch(() => undefined)
          throw withCounts(error, report)
        }
        const { received, skipped, failed, stored } = report
        return {
          body: { data: report },
          resourceId: newId('imp'),
          details: { project: projectId, received, skipped, failed, ...stored },
        }
      },
      (body) => body,
    ),
  }
}

/** The bytes of the upload. @throws {Problem} `too_large` above the limit, `bad_request` if the upload is interrupted */
async function* bounded(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0
  try {
    for await (const chunk of bytes) {
      size += chunk.byteLength
      if (size > importBounds.bytes)
        throw new Problem('too_large', `At most ${importBounds.bytes / 2 ** 20} MiB are accepted in one import.`)
      yield chunk
    }
  } catch (error) {
    if (Problem.is(error)) throw error
    throw new Problem('bad_request', { detail: 'The file ended before it was complete.', cause: error })
  }
}

/** Adds the counts of stored lines to a problem. Lines stored before it remain. */
function withCounts(error: unknown, { received, stored, skipped, failed }: ProjectImport): unknown {
  if (!Problem.is(error)) return error
  const { code, detail, issues, headers, extensions, cause } = error
  return new Problem(code, {
    detail: `${detail ?? error.title} The lines that were stored before stay; send the whole file again to import the rest.`,
    extensions: { ...extensions, import: { received, stored, skipped, failed } },
    ...{ headers, cause },
    ...(issues && { issues }),
  })
}
