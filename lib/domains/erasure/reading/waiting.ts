import type { RunFingerprints } from '#lib/domains/erasure/engine/subject-erasures.ts'
import { fingerprintsRow } from '#lib/domains/erasure/ledger/ledger-history.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'

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

/** A former erasure whose fingerprints the ledger retains. */
export interface RetainedErasure {
  erasedAt: Date
  /** The projects of the erased texts, as the ledger knows them. */
  projects: string[]
  fingerprints: Uint8Array
}

/** The executed erasures among these receipts whose fingerprints the ledger still retains, by receipt. */
export async function retainedErasures(
  ledger: Pick<Ledger, 'read'>,
  receipts: ReadonlySet<string>,
): Promise<Map<string, RetainedErasure>> {
  const projects = new Map<string, readonly string[]>()
  const encoded = new Map<string, string>()
  const erasedAt = new Map<string, Date>()
  for await (const row of ledger.read()) {
    if (row.kind === 'key' || !receipts.has(row.id)) continue
    if (row.kind === 'commit') erasedAt.set(row.id, new Date(row.at))
    else if (row.kind === 'intent' && 'scope' in row)
      projects.set(
        row.id,
        'part' in row.scope
          ? [row.scope.part.project]
          : 'subject' in row.scope && 'projects' in row
            ? (row.projects ?? [])
            : [],
      )
    else if (row.kind === 'items' && row.holder === fingerprintsRow) {
      // Fingerprints that were added during the erasure are in a later row, which contains all of them.
      const [fingerprints] = row.items
      if (fingerprints !== undefined) encoded.set(row.id, fingerprints)
    }
  }
  const retained = new Map<string, RetainedErasure>()
  for (const [receipt, fingerprints] of encoded) {
    const at = erasedAt.get(receipt)
    if (!at) continue
    retained.set(receipt, {
      erasedAt: at,
      projects: [...(projects.get(receipt) ?? [])],
      fingerprints: Buffer.from(fingerprints, 'base64'),
    })
  }
  return retained
}
