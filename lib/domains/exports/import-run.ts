import type { Actor } from '#lib/kernel/context.ts'
import type { Importer, Importing, ImportResult } from '#lib/kernel/importer.ts'
import { parseJson } from '#lib/kernel/json.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { ImportReport } from './contract.ts'
import { unitsPart } from './document.ts'
import { importBatches } from './import-batches.ts'
import { importHead } from './import-head.ts'
import { importLimits } from './rules.ts'
import type { Piece } from './split.ts'

export interface ImportPorts {
  importers: readonly Importer[]
  /** Returns those agents that were erased here while they belonged to the actor's organization. */
  erasedAgents(actor: Actor, ids: readonly string[]): Promise<readonly string[]>
}

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

/** The state of one import: received records, the batch to store, and the results. */
export function createImportRun({ importers, erasedAgents }: ImportPorts, importing: Importing) {
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
