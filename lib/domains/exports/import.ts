import { setImmediate } from 'node:timers/promises'
import type { Context } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Importer, Importing, ImportResult, Prepared } from '#lib/kernel/importer.ts'
import { parseJson } from '#lib/kernel/json.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { batched } from '#lib/kernel/use-case.ts'
import { type ImportReport, importDocument } from './contract.ts'
import { unitsPart } from './document.ts'
import type { ExportsDeps } from './prepared.ts'
import { importLimits } from './rules.ts'
import { jsonSplitter, ndjsonSplitter, type Piece } from './split.ts'

/** How many milliseconds one import works before other requests get their turn. */
const turn = 20

/** Bytes around the unit in an exported record, and for the additional white space of an export. */
const wrapping = 64 * 1024

/**
 * Returns the importing agent, which must use a token.
 * @throws Problem `forbidden`
 */
function importingOf(ctx: Context): Importing {
  const [author] = ctx.actor.agents
  if (ctx.actor.kind !== 'agent' || author === undefined || ctx.actor.organisationId === undefined)
    throw new Problem(
      'forbidden',
      'Only an agent can import, with its token. The imported records belong to that agent.',
    )
  return { author, organisationId: ctx.actor.organisationId, ctx }
}

/**
 * Passes the bytes on and limits their number.
 * @throws Problem `too_large`
 */
async function* bounded(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0
  try {
    for await (const chunk of bytes) {
      size += chunk.byteLength
      if (size > importLimits.bytes)
        throw new Problem(
          'too_large',
          `At most ${importLimits.bytes.toLocaleString('en')} bytes are accepted per import.`,
        )
      yield chunk
    }
  } catch (error) {
    if (Problem.is(error)) throw error
    throw new Problem('bad_request', {
      detail: 'The connection closed before the whole document arrived. Send it again.',
      cause: error,
    })
  }
}

/** Adds to the problem how many records were stored and remain. */
function withCounts(error: unknown, { received, stored, known, failed }: ImportReport): unknown {
  if (!Problem.is(error) || received === 0) return error
  const { code, detail, issues, headers, extensions, cause } = error
  return new Problem(code, {
    detail: `${detail ?? error.title} ${stored.toLocaleString('en')} of the ${received.toLocaleString('en')} received items were stored. Send the whole document again to store the rest.`,
    extensions: { ...extensions, import: { received, stored, known, failed } },
    headers,
    cause,
    ...(issues && { issues }),
  })
}

/** Maximum number of results in the stored response for idempotent repetition. */
const storedResults = 1_000

const failed = (id: string | null, problem: Problem): ImportResult => {
  const [issue] = problem.issues ?? []
  const detail = issue ? `${issue.path.join('.')}: ${issue.message}` : problem.detail
  return { id, status: 'failed', code: problem.code, ...(detail !== undefined && { detail }) }
}
/** Returns the id of a record of unknown shape. */
const idOf = (record: unknown): string | null =>
  typeof record === 'object' && record !== null && 'id' in record && typeof record.id === 'string'
    ? record.id.slice(0, 200)
    : null

function reportOf(results: readonly ImportResult[], ignored: ReadonlyMap<string, number>): ImportReport {
  const of = (status: ImportResult['status']) => results.reduce((n, result) => n + Number(result.status === status), 0)
  const [stored, known] = [of('stored'), of('known')]
  return {
    received: results.length,
    stored,
    known,
    failed: results.length - stored - known,
    ignored: Object.fromEntries(ignored),
    results: [...results],
  }
}

const headMembers: ReadonlySet<string> = new Set([
  'agent_id',
  'schema_version',
  'total_units',
  'total_contributions',
  'exported_at',
  'scope',
])

/** The members of an imported document that describe it. `erasedAmong` returns the agent's id if the agent was erased here. */
function importHead(erasedAmong: (agentId: string) => Promise<readonly string[]>) {
  const head: Record<string, unknown> = {}
  return {
    async take(name: string, value: unknown): Promise<void> {
      if (!headMembers.has(name)) return
      if (name === 'agent_id' && head.agent_id !== undefined) {
        if (value === head.agent_id) return
        throw new Problem('invalid', {
          detail: 'The document names two agents.',
          issues: [{ path: ['agent_id'], message: 'occurs twice with different values' }],
        })
      }
      head[name] = value
      if (name === 'schema_version' && value !== 'v1')
        throw new Problem('invalid', {
          detail: 'This registry does not support the schema of the document.',
          issues: [{ path: ['schema_version'], message: 'must be v1' }],
        })
      if (name !== 'agent_id' || typeof value !== 'string') return
      if ((await erasedAmong(value)).length > 0)
        throw new Problem('erased', 'The agent of this document was erased here, so its records cannot be imported.')
    },
    /**
     * Rejects records before agent_id is known, so that an erased subject cannot return through the order of members.
     * @throws Problem `invalid`
     */
    requireAgent(): void {
      if (typeof head.agent_id === 'string') return
      throw new Problem('invalid', {
        detail:
          'The document must name its agent before its first record. Put agent_id at its beginning, as in an export.',
        issues: [{ path: ['agent_id'], message: 'is missing before the records' }],
      })
    },
    /** @throws Problem `invalid` if the count of units is wrong, or the document is no export */
    requireComplete(units: number): void {
      const { total_contributions: contributions, total_units: total = contributions } = head
      if (total !== undefined && total !== units)
        throw new Problem('invalid', {
          detail: 'The number of units differs from total_units, so the document is incomplete or was changed.',
          issues: [
            {
              path: ['total_units'],
              message: `does not match the ${units.toLocaleString('en')} units that were received`,
            },
          ],
        })
      if (total === undefined && head.agent_id === undefined)
        throw new Problem('invalid', {
          detail: 'This document is not an export.',
          issues: [{ path: ['agent_id'], message: 'is missing' }],
        })
    },
  }
}

/** Maximum number of records and of their bytes per transaction. */
const batchLimits = { records: 250, bytes: 4 * 2 ** 20 }

/**
 * The first rejections of content are counted one by one before later records are stored; further ones are counted with
 * the next batch.
 */
const countedAtOnce = 3

interface WaitingRecord {
  importer: Importer
  record: Prepared<unknown>
  /** The index of the record in the results of the import. */
  at: number
}
interface RefusedRecord {
  importer: Importer
  problem: Problem
}

/** Stores a batch, counts rejections and writes the audit entries in one transaction. */
function storeBatch(
  importing: Importing,
  batch: readonly WaitingRecord[],
  refusals: readonly RefusedRecord[],
  setResult: (at: number, result: ImportResult) => void,
): Promise<void> {
  const { ctx } = importing
  return ctx.pipeline.transaction(async (tx) => {
    const entries = []
    for (const [importer, items] of Map.groupBy(batch, (item) => item.importer)) {
      const stored = await importer.store(
        tx,
        items.map(({ record }) => record),
        importing,
      )
      for (const [index, { at }] of items.entries()) {
        const result = stored.results[index]
        if (result) setResult(at, result)
      }
      entries.push(...stored.entries)
    }
    for (const [importer, items] of Map.groupBy(refusals, (item) => item.importer))
      await importer.countRefused(
        tx,
        items.map(({ problem }) => problem),
        importing,
      )
    const { actor, ip } = ctx
    const common = { action: 'create' as const, actorId: actor.id, at: ctx.pipeline.clock.now(), ip }
    await ctx.pipeline.auditWithin(
      tx,
      ...entries.map((entry) => ({
        ...common,
        ...entry,
        details: { operation: importDocument.id, ...entry.details },
      })),
    )
  })
}

/** Collects the records of an import and stores them in batches. `setResult` receives the result of each stored record. */
function importBatches(importing: Importing, setResult: (at: number, result: ImportResult) => void) {
  let waiting: WaitingRecord[] = []
  let waitingBytes = 0
  let refused: RefusedRecord[] = []
  let refusedSoFar = 0
  let storing: Promise<void> = Promise.resolve()

  /** Starts to store the current batch after the previous one is stored. Meanwhile, the next batch is prepared. */
  async function flush(): Promise<void> {
    const [batch, refusals] = [waiting, refused]
    waiting = []
    waitingBytes = 0
    refused = []
    await storing
    if (batch.length + refusals.length > 0) storing = storeBatch(importing, batch, refusals, setResult)
    // Awaited with the next batch or at the end.
    storing.catch(() => {})
  }
  return {
    add(record: WaitingRecord, bytes: number): void {
      waiting.push(record)
      waitingBytes += bytes
    },
    addRefused(record: RefusedRecord): void {
      refused.push(record)
      refusedSoFar++
    },
    /**
     * Returns true when the batch should be stored. Records after the first rejections wait until these are counted,
     * because they may be quarantined for review.
     */
    isDue: (): boolean =>
      waiting.length >= batchLimits.records ||
      waitingBytes >= batchLimits.bytes ||
      refused.length >= batchLimits.records ||
      (refused.length > 0 && refusedSoFar <= countedAtOnce),
    flush,
    /** Stores the remaining records. */
    async drain(): Promise<void> {
      await flush()
      await storing
    },
  }
}

/** The state of one import: received records, the batch to store, and the results. */
function createImportRun(
  { importers, erasedAgents }: Pick<ExportsDeps, 'importers' | 'erasedAgents'>,
  importing: Importing,
) {
  const byPart = new Map(importers.map((importer) => [importer.part, importer]))
  const results: ImportResult[] = []
  const ignored = new Map<string, number>()
  const seen = new Set<string>()
  const head = importHead((agentId) => erasedAgents(importing.ctx.actor, [agentId]))
  const batches = importBatches(importing, (at, result) => {
    results[at] = result
  })
  let units = 0

  function takeRecord(importer: Importer, { bytes }: Extract<Piece, { bytes: Uint8Array }>): void {
    let record: unknown
    try {
      record = parseJson(bytes)
      const prepared = importer.prepare(record, importing, bytes.byteLength)
      if (seen.has(prepared.id))
        throw new Problem('conflict', 'The document contains this id twice. The first record was imported.')
      seen.add(prepared.id)
      batches.add({ importer, record: prepared, at: results.length }, bytes.byteLength)
      results.push({
        id: prepared.id,
        status: 'failed',
        code: 'unavailable',
        detail: 'This record was not stored. Import the document again.',
      })
    } catch (error) {
      if (!Problem.is(error)) throw error
      results.push(failed(idOf(record), error))
      if (error.code === 'content_rejected') batches.addRefused({ importer, problem: error })
    }
  }
  function ignore(part: string): void {
    ignored.set(part, (ignored.get(part) ?? 0) + 1)
    if (ignored.size > importLimits.ignoredParts)
      throw new Problem('invalid', `The document has more than ${importLimits.ignoredParts} unknown parts.`)
  }
  return {
    isWanted: (part: string) => byPart.has(part),
    async take(piece: Piece): Promise<void> {
      if ('name' in piece) return head.take(piece.name, piece.value)
      if (piece.part === unitsPart) units++
      if ('isIgnored' in piece) return ignore(piece.part)
      if (results.length >= importLimits.items)
        throw new Problem(
          'too_large',
          `At most ${importLimits.items.toLocaleString('en')} items are accepted per import.`,
        )
      head.requireAgent()
      const importer = byPart.get(piece.part)
      if ('fault' in piece) results.push(failed(null, piece.fault))
      else if (importer) takeRecord(importer, piece)
      if (batches.isDue()) await batches.flush()
    },
    /** Stores the remaining records. */
    drain: batches.drain,
    /**
     * Rejects a document whose count of units is wrong, or that is no export.
     * @throws Problem `invalid`
     */
    requireComplete: (): void => head.requireComplete(units),
    report: (): ImportReport => reportOf(results, ignored),
  }
}

export const documentImport = (ports: Pick<ExportsDeps, 'importers' | 'erasedAgents'>) =>
  batched(
    importDocument,
    async (ctx, { upload }) => {
      const importing = importingOf(ctx)
      const run = createImportRun(ports, importing)
      const options = { recordBytes: 2 * ctx.actor.quota.unitBytes + wrapping, isWanted: run.isWanted }
      const splitter = upload.mediaType === 'application/json' ? jsonSplitter(options) : ndjsonSplitter(options)
      const read = async (): Promise<void> => {
        let began = performance.now()
        const take = async (pieces: readonly Piece[]): Promise<void> => {
          for (const piece of pieces) {
            await run.take(piece)
            if (performance.now() - began < turn) continue
            await setImmediate()
            began = performance.now()
          }
        }
        for await (const chunk of bounded(upload.bytes)) await take(splitter.feed(chunk))
        await take(splitter.end())
      }
      try {
        try {
          await read()
        } finally {
          await run.drain()
        }
        run.requireComplete()
      } catch (error) {
        throw withCounts(error, run.report())
      }
      const report = run.report()
      const { received, stored, known, failed } = report
      return { body: { data: report }, resourceId: newId('imp'), details: { received, stored, known, failed } }
    },
    ({ data }) => ({
      data:
        data.results.length > storedResults ? { ...data, results: [], results_left_out: data.results.length } : data,
    }),
  )
