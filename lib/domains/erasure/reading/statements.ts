import canonicalize from 'canonicalize'
import type { SubjectErasurePorts } from '#lib/domains/erasure/engine/subject-erasures.ts'
import { readingType } from '#lib/domains/erasure/receipts/receipt-rules.ts'
import type { Signer } from '#lib/domains/erasure/receipts/signing.ts'
import { unreadReasons } from '#lib/kernel/data-source.ts'
import type { CompleteReading } from '#lib/kernel/receipt.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { forgetReadWords, runsToRead } from './waiting.ts'

export interface StatementDeps extends Pick<SubjectErasurePorts, 'words'> {
  db: Database
  signer: Pick<Signer, 'attest'>
  issuer: string
  now(): Date
}

interface StoreRow {
  holder: string
  store: string
  startedAt: Date | null
  completedAt: Date | null
  texts: bigint
  unread: unknown
}
interface FindingRow {
  holder: string
  erased: number
  left: number
  explained: number
}

const unreadCount = (unread: unknown, reason: string): number => {
  const count: unknown = typeof unread === 'object' && unread !== null ? Reflect.get(unread, reason) : undefined
  return typeof count === 'number' ? count : 0
}

/** The line of one data source. @throws if it was not read completely: then nothing may be signed */
function lineOf(row: StoreRow, findings: readonly FindingRow[]): CompleteReading['stores'][number] {
  const { holder, store, startedAt, completedAt, texts, unread } = row
  if (!startedAt || !completedAt) throw new Error(`${holder} was not read completely`)
  const { erased, left, explained } = findings.find((one) => one.holder === holder) ?? {
    ...{ erased: 0, left: 0, explained: 0 },
  }
  return {
    store,
    holder,
    from: startedAt.toISOString(),
    until: completedAt.toISOString(),
    how: ['words', 'contacts'],
    texts: Number(texts),
    found: erased + left + explained,
    erased,
    left,
    explained,
    not_read: unreadReasons.flatMap((reason) => {
      const count = unreadCount(unread, reason)
      return count > 0 ? [{ reason, count }] : []
    }),
  }
}

/** Signs the second statement of a receipt, and deletes words that nothing needs any more. */
const signReading = (
  deps: StatementDeps,
  readingId: string,
  { id: runId, receiptId }: { id: string; receiptId: string },
): Promise<void> =>
  deps.db.transaction(async (tx) => {
    const stores = await tx.readingStore.findMany({ where: { readingId }, orderBy: { holder: 'asc' } })
    const findings = await tx.readingFinding.findMany({ where: { readingId, receiptId } })
    // A legal hold kept words in place: the erasure waits for the next reading.
    if (findings.some(({ isHeld }) => isHeld)) return
    // The receipt may have expired.
    if ((await tx.erasure.count({ where: { receiptId, state: 'signed' } })) === 0) return
    const at = deps.now()
    const statement: Omit<CompleteReading, 'jws'> = {
      receipt_id: receiptId,
      version: 1,
      issuer: deps.issuer,
      stores: stores.map((row) => lineOf(row, findings)),
      signed_at: at.toISOString(),
    }
    const jws = await deps.signer.attest(tx, readingType, canonicalize(statement) ?? '')
    const kept = { statement: { ...statement, jws }, signedAt: at }
    await tx.receiptReading.upsert({ where: { receiptId }, create: { receiptId, ...kept }, update: kept })
    await tx.erasureRun.update({ where: { id: runId }, data: { readAt: at } })
    await forgetReadWords(tx, runId, deps)
  })

/** Signs the statements of all erasures that a reading covered, and closes the reading. Idempotent: a repetition after a crash signs the rest. */
export async function signReadings(deps: StatementDeps, readingId: string): Promise<void> {
  const { db, words, now } = deps
  const { receipts } = await db.prisma.completeReading.findUniqueOrThrow({ where: { id: readingId } })
  const runs = await runsToRead(db.prisma, words, receipts)
  for (const run of runs) await signReading(deps, readingId, run)
  await db.prisma.completeReading.update({ where: { id: readingId }, data: { completedAt: now() } })
}
