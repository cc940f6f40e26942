import type { Importer, Importing, ImportResult, Prepared } from '#lib/kernel/importer.ts'
import type { Problem } from '#lib/kernel/problem.ts'
import { importDocument } from './contract.ts'

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
  /** Its index in the results. */
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
export function importBatches(importing: Importing, setResult: (at: number, result: ImportResult) => void) {
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
