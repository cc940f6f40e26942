import canonicalize from 'canonicalize'
import type { SubjectErasurePorts } from '#lib/domains/erasure/engine/subject-erasures.ts'
import { attestationType, readingType } from '#lib/domains/erasure/receipts/receipt-rules.ts'
import type { Signer } from '#lib/domains/erasure/receipts/signing.ts'
import { unreadReasons } from '#lib/kernel/data-source.ts'
import type { CompleteReading, ReadingAttestation } from '#lib/kernel/receipt.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { forgetPlaces } from './places.ts'
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
  units: bigint
  unread: unknown
}
interface FindingRow {
  holder: string
  erased: number
  left: number
  explained: number
}

/** The values that were not read, by reason. */
export function unreadIn(unread: unknown): CompleteReading['stores'][number]['not_read'] {
  return unreadReasons.flatMap((reason) => {
    const count: unknown = typeof unread === 'object' && unread !== null ? Reflect.get(unread, reason) : undefined
    return typeof count === 'number' && count > 0 ? [{ reason, count }] : []
  })
}

/** What no reader of a store reads as text, whether it exists there or not. Other values that cannot be read are counted. */
const neverRead: Readonly<Record<string, readonly string[]>> = {
  graph: ['embeddings'],
  checkpoints: ['embeddings'],
}

/** The line of one data source. @throws if it was not read completely: then nothing may be signed */
function lineOf(row: StoreRow, findings: readonly FindingRow[]): CompleteReading['stores'][number] {
  const { holder, store, startedAt, completedAt, texts, units, unread } = row
  if (!startedAt || !completedAt) throw new Error(`${holder} was not read completely`)
  let [erased, left, explained] = [0, 0, 0]
  for (const one of findings) {
    if (one.holder !== holder) continue
    erased += one.erased
    left += one.left
    explained += one.explained
  }
  return {
    store,
    holder,
    from: startedAt.toISOString(),
    until: completedAt.toISOString(),
    how: ['words', 'contacts'],
    texts: Number(texts),
    characters: Number(units),
    found: erased + left + explained,
    erased,
    left,
    explained,
    not_read: unreadIn(unread),
    never_read: [...(neverRead[store] ?? [])],
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

/** Closes a reading with a signed statement over all its erasures. */
const attest = (deps: StatementDeps, readingId: string): Promise<void> =>
  deps.db.transaction(async (tx) => {
    const reading = await tx.completeReading.findUniqueOrThrow({
      where: { id: readingId },
      include: { stores: { orderBy: { holder: 'asc' } }, findings: true },
    })
    const { receipts, findings, isRepeated, startedAt } = reading
    await forgetPlaces(tx, { readingId, receipts })
    const at = deps.now()
    const changed = findings.filter(({ erased, left }) => erased + left > 0)
    const attestation: Omit<ReadingAttestation, 'jws'> = {
      reading_id: readingId,
      version: 1,
      issuer: deps.issuer,
      is_repeated: isRepeated,
      started_at: startedAt.toISOString(),
      completed_at: at.toISOString(),
      erasures: receipts.length,
      erasures_found: new Set(changed.map(({ receiptId }) => receiptId)).size,
      stores: reading.stores.map((row) => lineOf(row, findings)),
      signed_at: at.toISOString(),
    }
    const jws = await deps.signer.attest(tx, attestationType, canonicalize(attestation) ?? '')
    await tx.completeReading.update({
      where: { id: readingId },
      data: { completedAt: at, attestation: { ...attestation, jws } },
    })
  })

/** Signs the statements of all erasures that waited for a reading, and closes the reading. Idempotent: a repetition after a crash signs the rest. */
export async function signReadings(deps: StatementDeps, readingId: string): Promise<void> {
  const { db, words } = deps
  const { receipts } = await db.prisma.completeReading.findUniqueOrThrow({ where: { id: readingId } })
  const runs = await runsToRead(db.prisma, words, receipts)
  for (const run of runs) await signReading(deps, readingId, run)
  await attest(deps, readingId)
}
