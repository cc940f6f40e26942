import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { AuditRecord, Context, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { isWithin } from '#lib/kernel/region-rules.ts'
import { batched } from '#lib/kernel/use-case.ts'
import { asProblem } from '#lib/stores/postgres/problems.ts'
import { projectReaderOf, storableProject, writableProject } from '../access.ts'
import { makeConversation } from '../conversations/conversation-storage.ts'
import { makeMessage, reportedPointersOf } from '../conversations/service.ts'
import { type DocumentPorts, reportedPointersOfDocument, storeDocument } from '../documents/service.ts'
import { participantFor, participantNamed } from '../participants/authors.ts'
import { normalExternalId } from '../participants/rules.ts'
import { claimPlaces } from '../provenance/claims.ts'
import { confine, type ReportedPointer, store } from '../provenance/pointers.ts'
import type { SeenProject } from '../repository.ts'
import { changeLineSavepoint } from '../repository.ts'
import { knownStoredId, projectIdInUse, storedId } from '../stored-ids.ts'
import { type ImportFault, importHistory, type ProjectImport } from './contract.ts'
import {
  type ConversationLine,
  type DocumentLine,
  type ImportLine,
  importBounds,
  knownField,
  type MessageLine,
  ndjsonLinesOf,
  type ProjectLine,
  parsedLine,
} from './rules.ts'

/** Maximum number of lines and bytes in one transaction. */
const batchLimits = { lines: 50, bytes: 4 * 1024 * 1024 }

type LineStoragePorts = DocumentPorts

type Stored = 'conversations' | 'participants' | 'messages' | 'documents'
interface LineOutcome {
  /** What was stored; null if the line was skipped. */
  stored: Stored | null
  /** Id of the stored record. */
  id?: string
}
/** A line that is stored in a batch. */
type StoredLine = Exclude<ImportLine, DocumentLine | ProjectLine>

interface Work {
  tx: Transaction
  actor: Context['actor']
  now: Date
  project: SeenProject
}

/** Whether the project already has this conversation with the same content. @throws {Problem} `id_in_use` for other content, `fenced` */
async function isStoredConversation({ tx, project }: Work, line: ConversationLine) {
  const { title, threads = [], region } = line
  const id = await knownStoredId(tx, 'conversation', project.id, line.id)
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
    ? normalExternalId((await tx.projectParticipant.findUnique({ where: { id: authorId } }))?.externalId ?? '')
    : undefined

/** The id of the message if it is already stored identically. @throws {Problem} `id_in_use`, `fenced` */
async function storedMessage({ tx, actor, project }: Work, line: MessageLine): Promise<string | undefined> {
  const id = await knownStoredId(tx, 'message', project.id, line.id)
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
  const id = await knownStoredId(tx, 'document', project.id, line.id)
  const record = id === undefined ? null : await tx.document.findUnique({ where: { id } })
  if (!record) return undefined
  if (record.erasingSince) throw new Problem('fenced')
  const madeFrom = line.made_from === undefined ? null : await storedId(tx, 'message', project.id, line.made_from)
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

/** Adds the pointers of a line to a record that is already stored. */
async function addPointers(
  ports: LineStoragePorts,
  { tx, actor, now, project }: Work,
  reported: readonly ReportedPointer[],
) {
  if (reported.length === 0) return
  await confine(tx, project, reported, ports)
  await claimPlaces(ports, tx, actor, project.id, reported)
  await store(tx, reported, { projectId: project.id, reportedBy: actor.id, now })
}

/** Stores a line, or skips it if it is already stored identically. @throws {Problem} those of the record that it describes */
async function storeLine(ports: LineStoragePorts, work: Work, line: StoredLine): Promise<LineOutcome> {
  const { tx, now, project } = work
  if (line.type === 'participant') {
    const { type: _, ...author } = line
    const before = await participantNamed(tx, { project: project.id, externalId: author.external_id })
    const id = await participantFor(ports, work, project.id, author)
    return before ? { stored: null } : { stored: 'participants', id }
  }
  if (line.created_at !== undefined && line.created_at > now) throw invalid(['created_at'], 'is in the future')
  if (line.type === 'conversation') {
    if (await isStoredConversation(work, line)) return { stored: null }
    const { created_at: at, ...given } = line
    return { stored: 'conversations', id: await makeConversation(ports, work, project.id, { ...given, at }) }
  }
  const conversation = await storedId(tx, 'conversation', project.id, line.conversation_id)
  const message = { ...line, conversation_id: conversation }
  const known = await storedMessage(work, message)
  if (known !== undefined) {
    await addPointers(ports, work, reportedPointersOf(known, line))
    return { stored: null }
  }
  const { id } = await makeMessage(ports, work, project, conversation, line)
  return { stored: 'messages', id }
}

/** Whether the document is already stored identically. Then stores pointers that the line adds. @throws {Problem} `id_in_use`, `fenced` */
async function isStoredDocument(
  ports: LineStoragePorts,
  work: Work,
  line: DocumentLine,
  bytes: Uint8Array,
): Promise<boolean> {
  const id = await storedDocument(work, line, bytes)
  if (id !== undefined) await addPointers(ports, work, reportedPointersOfDocument(id, line))
  return id !== undefined
}

/** Whether a problem concerns only this line. Any other error ends the import. */
const isOfLine = (error: unknown): error is Problem => Problem.is(error) && error.status < 500

/**
 * Stores a line inside a savepoint: completely or not at all, without affecting earlier lines. Retries once after `id_in_use`, because a
 * concurrent request may have stored the same line.
 */
async function storedWhole<T>(tx: Transaction, run: () => Promise<T>): Promise<T | Problem> {
  for (let tries = 1; ; tries++) {
    await changeLineSavepoint(tx, {}, 'SAVEPOINT')
    try {
      const outcome = await run()
      await changeLineSavepoint(tx, {}, 'RELEASE SAVEPOINT')
      return outcome
    } catch (error) {
      const problem = asProblem(error)
      if (!isOfLine(problem)) throw error
      await changeLineSavepoint(tx, {}, 'ROLLBACK TO SAVEPOINT')
      if (problem.code !== 'id_in_use' || tries === 2) return problem
    }
  }
}

type Result = { stored: LineOutcome['stored'] } | { line: number; fault: Problem }

interface ParsedLine {
  line: number
  data: StoredLine | Problem
}

/** Reasons by code. The details of these problems may quote the line. */
const reasons = new Map<string, string>([
  ['id_in_use', 'This id is stored with other content or another author. Choose another id, or leave the line out.'],
  ['erased', 'This id, or its author, was erased. Leave the line out.'],
  ['not_found', 'The project has no such conversation or message. Add its line before this one.'],
  [
    'conflict',
    'The line contradicts what the project has stored under the same id. Send what is stored, or leave it out.',
  ],
  ['fenced', 'This data is being erased. Leave the line out.'],
  ['malformed_json', 'The line is not a JSON object in UTF-8. Write one object per line.'],
  ['too_large', `A line has at most ${importBounds.lineBytes / 2 ** 20} MiB. Shorten it, or send the file by itself.`],
  ['content_rejected', 'The text contains invisible characters, an injection pattern or a secret. Remove it.'],
  ['restricted', 'The processing of this person’s data is restricted. Send the line again after the restriction ends.'],
])
/** Why a line was not stored and what to do: the rule of the field, or the reason of the code. Never quotes the line. */
const reasonOf = (problem: Problem): string | undefined => {
  const { code, detail, issues, extensions } = problem
  if ('region' in extensions) return detail
  return code === 'invalid' ? issues?.[0]?.message : reasons.get(code)
}

/** @throws {Problem} `conflict` if the region of the project does not ensure that of the imported project */
function requireWithin(region: string | null, { region: required }: ProjectLine): void {
  if (!isWithin(region, required))
    throw new Problem(
      'conflict',
      `The imported data must stay in the region ${required}, and this project has ${region === null ? 'no region' : `the region ${region}`}. Import it into a project with the region ${required}.`,
    )
}

/** Stores a batch in one transaction, which is retried if the database aborts it. */
const storeBatch = (
  ports: LineStoragePorts,
  ctx: Context,
  projectId: string,
  lines: readonly ParsedLine[],
): Promise<Result[]> =>
  ctx.pipeline.transaction(async (tx) => {
    const { actor, ip } = ctx
    const now = ctx.pipeline.clock.now()
    const project = await writableProject(tx, projectReaderOf(ctx), projectId)
    const results: Result[] = []
    const records: AuditRecord[] = []
    for (const { line, data } of lines) {
      const outcome = Problem.is(data)
        ? data
        : await storedWhole(tx, () => storeLine(ports, { tx, actor, now, project }, data))
      results.push(Problem.is(outcome) ? { line, fault: outcome } : outcome)
      if (!Problem.is(data) && !Problem.is(outcome) && outcome.id !== undefined)
        records.push({
          action: 'create',
          actorId: actor.id,
          resourceType: data.type,
          resourceId: outcome.id,
          at: now,
          ip,
          details: { operation: importHistory.id, project: projectId },
        })
    }
    await ctx.pipeline.auditWithin(tx, ...records)
    return results
  })

/**
 * Stores a document outside the batch transactions, so that a slow object store does not occupy a database connection. Returns false if it
 * is already stored.
 */
async function storeDocumentLine(
  ports: LineStoragePorts,
  ctx: Context,
  projectId: string,
  line: DocumentLine,
): Promise<boolean> {
  const bytes = line.content_base64 ?? Buffer.from(line.content ?? '')
  const isStored = () =>
    ctx.pipeline.transaction(async (tx) => {
      const project = await writableProject(tx, projectReaderOf(ctx), projectId)
      const work = { tx, actor: ctx.actor, now: ctx.pipeline.clock.now(), project }
      return isStoredDocument(ports, work, line, bytes)
    })
  if (await isStored()) return false
  try {
    await storeDocument(ports, ctx, {
      projectId,
      given: line,
      upload: { mediaType: line.media_type, bytes: Readable.from([bytes]) },
      operation: importHistory.id,
    })
    return true
  } catch (error) {
    // A concurrent request may have stored the same document.
    if (Problem.is(error, 'id_in_use') && (await isStored())) return false
    throw error
  }
}

async function documentResult(
  ports: LineStoragePorts,
  ctx: Context,
  projectId: string,
  line: number,
  data: DocumentLine,
): Promise<Result> {
  try {
    return { stored: (await storeDocumentLine(ports, ctx, projectId, data)) ? 'documents' : null }
  } catch (error) {
    const problem = asProblem(error)
    if (!isOfLine(problem)) throw error
    // If the token may no longer write to the project, end the import instead of failing only this line.
    await ctx.pipeline.transaction((tx) => writableProject(tx, projectReaderOf(ctx), projectId))
    return { line, fault: problem }
  }
}

const emptyReport = (): ProjectImport => ({
  received: 0,
  stored: { conversations: 0, participants: 0, messages: 0, documents: 0 },
  skipped: 0,
  failed: 0,
  faults: [],
})

/** Adds the result of a line to a report. */
function count(report: ProjectImport, result: Result): void {
  if ('fault' in result) {
    const { code, issues } = result.fault
    const detail = reasonOf(result.fault)
    const field = knownField(issues?.[0]?.path ?? [])
    const fault: ImportFault = { line: result.line, code, field, ...(detail !== undefined && { detail }) }
    report.failed++
    if (report.faults.length < importBounds.faults) report.faults.push(fault)
  } else if (result.stored === null) report.skipped++
  else report.stored[result.stored]++
}

/** Imports the lines of an upload in batches, and adds their results to the report. @throws {Problem} if the import cannot continue */
async function importLines(
  ports: LineStoragePorts,
  ctx: Context,
  { id, region }: { id: string; region: string | null },
  bytes: AsyncIterable<Uint8Array>,
  report: ProjectImport,
): Promise<void> {
  let waiting: ParsedLine[] = []
  let waitingBytes = 0
  const flush = async (): Promise<void> => {
    const lines = waiting
    waiting = []
    waitingBytes = 0
    if (lines.length === 0) return
    for (const result of await storeBatch(ports, ctx, id, lines)) count(report, result)
  }
  try {
    for await (const line of ndjsonLinesOf(bounded(bytes), importBounds.lineBytes)) {
      if (report.received === importBounds.lines)
        throw new Problem(
          'too_large',
          `At most ${importBounds.lines.toLocaleString('en')} lines are accepted in one import.`,
        )
      report.received++
      const data = parsedLine(line)
      if (!Problem.is(data) && data.type === 'project') {
        if (report.received > 1) throw invalid(['type'], 'is `project`, which must be the first line of the file')
        requireWithin(region, data)
        report.skipped++
      } else if (!Problem.is(data) && data.type === 'document') {
        // Store the preceding lines first: the document may have been made from one of these messages.
        await flush()
        count(report, await documentResult(ports, ctx, id, line.number, data))
      } else {
        waiting.push({ line: line.number, data })
        waitingBytes += line.bytes?.byteLength ?? 0
        if (waiting.length >= batchLimits.lines || waitingBytes >= batchLimits.bytes) await flush()
      }
    }
    await flush()
  } catch (error) {
    // Store the lines that arrived before the error. Ignore failures: storing may be the cause of the error.
    await flush().catch(() => undefined)
    throw withCounts(error, report)
  }
}

/** The use case that imports the history of an application into a project. */
export const historyImport = (ports: LineStoragePorts) => ({
  importHistory: batched(
    importHistory,
    async (ctx, { params: { projectId }, upload }) => {
      if (ctx.actor.kind !== 'agent')
        throw new Problem(
          'forbidden',
          'Only an agent can import history. Use the token of an agent. Nothing was stored.',
        )
      const project = await ctx.pipeline.transaction((tx) =>
        storableProject(ports, tx, projectReaderOf(ctx), projectId),
      )
      const report = emptyReport()
      await importLines(ports, ctx, project, upload.bytes, report)
      const { received, skipped, failed, stored } = report
      return {
        body: { data: report },
        resourceId: newId('imp'),
        details: { project: projectId, received, skipped, failed, ...stored },
      }
    },
    (body) => body,
  ),
})

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
    throw new Problem('bad_request', { detail: 'The upload was interrupted before the end of the file.', cause: error })
  }
}

/** Adds the counts of stored lines to a problem. Lines stored before it remain. */
function withCounts(error: unknown, { received, stored, skipped, failed }: ProjectImport): unknown {
  if (!Problem.is(error)) return error
  const { code, detail, issues, headers, extensions, cause } = error
  return new Problem(code, {
    detail: `${detail ?? error.title} Lines that were already stored remain. Send the whole file again to import the rest.`,
    extensions: { ...extensions, import: { received, stored, skipped, failed } },
    headers,
    cause,
    ...(issues && { issues }),
  })
}
