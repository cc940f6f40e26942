import { Readable } from 'node:stream'
import { storeDocument } from '#lib/domains/projects/documents/storage.ts'
import { batched } from '#lib/kernel/batched.ts'
import type { AuditRecord, Context } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { isWithin } from '#lib/kernel/region-rules.ts'
import { asProblem } from '#lib/stores/postgres/problems.ts'
import { projectReaderOf, storableProject, writableProject } from '../access.ts'
import { type ImportFault, importHistory, type ProjectImport } from './contract.ts'
import {
  isOfLine,
  isStoredDocument,
  type LineOutcome,
  type LineStoragePorts,
  type StoredLine,
  storedWhole,
  storeLine,
} from './line-storage.ts'
import { ndjsonLinesOf } from './lines.ts'
import { parsedLine } from './parsed-line.ts'
import { type DocumentLine, importBounds, knownField, type ProjectLine } from './rules.ts'

/** Maximum number of lines and bytes in one transaction. */
const batchLimits = { lines: 50, bytes: 4 * 1024 * 1024 }

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
          ...{ action: 'create', actorId: actor.id, resourceType: data.type, resourceId: outcome.id },
          ...{ at: now, ip, details: { operation: importHistory.id, project: projectId } },
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
    ...{ headers, cause },
    ...(issues && { issues }),
  })
}
