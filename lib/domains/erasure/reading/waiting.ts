import type { RunFingerprints } from '#lib/domains/erasure/engine/subject-erasures.ts'
import type { Transaction } from '#lib/kernel/context.ts'

/**
 * Deletes the words of a run that is over, unless its second search or a complete reading still needs them. A run without words waits for
 * no reading.
 */
export async function forgetReadWords(
  tx: Transaction,
  runId: string,
  { words }: { words: Pick<RunFingerprints, 'forget' | 'stored'> },
): Promise<void> {
  const run = await tx.erasureRun.findUnique({
    where: { id: runId },
    select: { state: true, recheckAt: true, readAt: true },
  })
  if (run?.state !== 'done' || run.recheckAt !== null) return
  if (run.readAt === null && (await words.stored(tx, [runId])).length > 0) return
  await words.forget(tx, runId)
  await tx.erasureRun.update({ where: { id: runId }, data: { projects: [] } })
}

/** Runs that are over and wait for a complete reading, oldest first. `receipts`: only those of these receipts. */
export const runsToRead = async (tx: Transaction, words: Pick<RunFingerprints, 'runs'>, receipts?: readonly string[]) =>
  tx.erasureRun.findMany({
    where: {
      id: { in: await words.runs(tx) },
      state: 'done',
      readAt: null,
      ...(receipts && { receiptId: { in: [...receipts] } }),
    },
    orderBy: [{ finishedAt: 'asc' }, { id: 'asc' }],
    select: { id: true, receiptId: true },
  })
