import type { Transaction } from '#lib/kernel/context.ts'
import type { RunState } from '#lib/kernel/erasure-run.ts'
import type { RecordScope, Subject } from '#lib/kernel/erasure-scope.ts'
import { CompleteReading, Receipt } from '#lib/kernel/receipt.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { ItemsRow, Ledger, PartIntent, RecordIntent, SubjectIntent } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { EngineDeps, HasAdminActs } from '../engine/dependencies.ts'
import { identitiesOf, reserveIds } from '../engine/erase.ts'
import type { RecordErasures } from '../engine/in-request.ts'
import {
  adminActLines,
  fingerprintRetention,
  outcomesOf,
  receiptContent,
  storeReading,
  storeReceipt,
} from '../receipts/receipt.ts'
import type { Signer } from '../receipts/signing.ts'
import { namedInLog, recordIdOf } from '../runs/run-rules.ts'
import { reinstateRun } from '../runs/runs.ts'
import type { SuppressionKeys, Suppressions } from '../suppression/suppressions.ts'
import { recordDeletion } from '../writes.ts'
import {
  type Committed,
  committedItems,
  fingerprintsRow,
  readingRow,
  receiptRow,
  retainedErasure,
} from './ledger-history.ts'

/** What a replay of the ledger needs. */
export interface RestrictedSubjects {
  /** Hides the subject's content until the run that erases it again is done. */
  restrict(tx: Transaction, subject: Subject, now: Date): Promise<unknown>
}
export interface ReplayDeps
  extends Pick<EngineDeps, 'dataSources' | 'issuer' | 'facts' | 'residueIn' | 'holds' | 'words' | 'audit'> {
  subjects: EngineDeps['subjects'] & RestrictedSubjects
  db: Database
  ledger: Ledger
  signer: Signer
  suppressions: Suppressions
  hasAdminActs: HasAdminActs
  now(): Date
  parts: Pick<EngineDeps['parts'], 'raiseFence' | 'restored'>
  /** Returns the locked unit or skill if it exists now and existed at that time. */
  restored(
    tx: Transaction,
    scope: RecordScope,
    at: Date,
  ): Promise<{ formerOwner: string; wasPublic: boolean } | undefined>
  records: Pick<RecordErasures, 'begin' | 'finish'>
  /** Executes a run to its end in this process. */
  complete(runId: string): Promise<RunState>
  keys: Pick<SuppressionKeys, 'restore'>
  /** Stores which erasures of the ledger were begun again and are not finished. Their data is locked. */
  storeRepeated(tx: Transaction, receipts: readonly string[], now: Date): Promise<void>
  /** When an admin last stated that a ledger is lost; null if never. A newer ledger contains nothing from before. */
  ledgerLostAt(tx: Transaction): Promise<Date | null>
}

export const requestedBy = 'system:admin.replay'
export const reason = 'replay'

export type RunIntent = SubjectIntent | PartIntent

type Content = Omit<Receipt, 'jws'>
const ReceiptContent = Receipt.omit({ jws: true, complete_reading: true })
const ReadingContent = CompleteReading.omit({ jws: true })

/** What the rows of items contain besides items of stores. */
interface RowsOfReceipt {
  /** The first receipt without its signature; null if the ledger does not contain it, or not any more. */
  first: Content | null
  /** The second statement without its signature; null if there was none, or the ledger does not contain it. */
  reading: Omit<CompleteReading, 'jws'> | null
  /** The items of the row with the fingerprints of the erased words; empty if the ledger does not contain them, or not any more. */
  fingerprints: readonly string[]
}
const noRows: RowsOfReceipt = { first: null, reading: null, fingerprints: [] }

/**
 * The receipt of an erasure of which the ledger contains only the counts, as ledgers of earlier versions do, and those whose keys are
 * destroyed. It lists the legal holds without numbers, and says that the other limits are not known.
 */
async function contentFromCounts(
  { intent, commit }: Committed<RunIntent>,
  { fingerprints }: RowsOfReceipt,
  deps: ReplayDeps,
): Promise<Content> {
  const { dataSources, facts, now } = deps
  const { scope } = intent
  const deletedAt = new Date(intent.at)
  const counts = Object.entries(commit.erased ?? {}).map(([name, count]) => [name, { planned: count, erased: count }])
  const outcomes = outcomesOf(dataSources, Object.fromEntries(counts))
  const emptied = new Set(outcomes.flatMap(({ store, erased }) => (erased > 0 ? [store] : [])))
  const inStores = await deps.residueIn([...emptied])
  const account = 'part' in scope ? null : scope.subject.account
  const {
    retained,
    not_searched: unsearched = [],
    ...content
  } = receiptContent(deps, {
    receiptId: intent.id,
    scope,
    deletedAt,
    reason,
    outcomes,
    subject: { whileHeld: adminActLines(await deps.hasAdminActs(account, now())) },
    inStores,
    words: fingerprints.length > 0 ? fingerprintRetention(deletedAt, facts) : [],
    at: now(),
  })
  const held = intent.heldBy.map((hold) => ({
    what: receiptText('retained', 'heldUncounted', { hold }),
    ground: receiptText('grounds', 'hold'),
    until: null,
  }))
  const unknown = { store: 'postgresql', what: receiptText('notSearched', 'firstReceipt'), count: null }
  return { ...content, retained: [...held, ...retained], not_searched: [...unsearched, unknown] }
}

/**
 * Signs the receipt of an erasure again and stores it, with the entries of the suppression list. Its second statement returns with it. Without
 * one in the ledger, the erasure waits for a complete reading.
 */
async function reinstateReceipt(one: Committed<RunIntent>, rows: RowsOfReceipt, deps: ReplayDeps): Promise<void> {
  const { db, signer, subjects, suppressions, words, now } = deps
  const { intent, commit } = one
  const { reading, fingerprints } = rows
  const { id: receiptId, scope } = intent
  const deletedAt = new Date(intent.at)
  // Its statements were true when it was signed, and the repeated erasure has a receipt of its own.
  const content = rows.first && { ...rows.first, reason, signed_at: now().toISOString() }
  const receipt = await signer.sign(content ?? (await contentFromCounts(one, rows, deps)))
  const since = 'part' in scope ? [] : (await subjects.stored(db.prisma, scope.subject, deletedAt)).since.agents
  await db.transaction(async (tx) => {
    if ('hashes' in intent) await suppressions.store(tx, intent.hashes, { runId: receiptId, since: deletedAt })
    for (const agent of since) await suppressions.lift(tx, 'agent', agent)
    await storeReceipt(tx, receipt, {
      record: (results) =>
        recordDeletion(tx, { requestedBy, reason, scope: namedInLog(scope), results, now: deletedAt }),
    })
    if (reading) await storeReading(tx, { ...reading, signed_at: now().toISOString() }, signer)
    const readAt = reading && new Date(reading.signed_at)
    if (fingerprints.length === 0) return
    const retained = retainedErasure(intent, new Date(commit.at), fingerprints)
    await reinstateRun(tx, receiptId, retained, { requestedBy, reason, readAt }, { words })
  })
}

/** Blocks the erased ids of a ledger row again. */
const reinstateIds = (
  { id: receiptId, holder, identities = {} }: ItemsRow,
  erasedAt: Date,
  { db, dataSources }: ReplayDeps,
): Promise<void> =>
  db.transaction(async (tx) => {
    const dataSource = dataSources.find(({ name }) => name === holder)
    // A record that exists now was under a hold or was created later: it stays and keeps its id.
    const existing = dataSource ? await identitiesOf(tx, dataSource, Object.keys(identities)) : []
    const stored = new Set(existing.map(({ id }) => id))
    const lost = Object.entries(identities).filter(([id]) => !stored.has(id))
    await reserveIds(
      tx,
      receiptId,
      lost.map(([id, wasPublic]) => ({ id, wasPublic })),
      erasedAt,
    )
  })

/**
 * Restores from the ledger the data about erased subjects and project parts that a restored database lost: erased ids,
 * suppression list entries and receipts.
 * Call it only for erasures for which a search of all data sources has just found nothing. Idempotent. Writes the erased
 * ids first and the receipt last: a stored receipt implies stored ids.
 */
export async function reinstateRuns(lost: ReadonlyMap<string, Committed<RunIntent>>, deps: ReplayDeps): Promise<void> {
  const rows = new Map<string, RowsOfReceipt>()
  for await (const row of committedItems(deps.ledger, lost)) {
    const one = lost.get(row.id)
    if (one && Object.keys(row.identities ?? {}).length > 0) await reinstateIds(row, new Date(one.intent.at), deps)
    const ofReceipt = rows.get(row.id) ?? noRows
    const [item] = row.items
    if (item === undefined) continue
    if (row.holder === fingerprintsRow) rows.set(row.id, { ...ofReceipt, fingerprints: row.items })
    if (row.holder === receiptRow) rows.set(row.id, { ...ofReceipt, first: ReceiptContent.parse(JSON.parse(item)) })
    if (row.holder === readingRow)
      rows.set(row.id, { ...ofReceipt, reading: ReadingContent.safeParse(JSON.parse(item)).data ?? null })
  }
  for (const one of lost.values()) await reinstateReceipt(one, rows.get(one.intent.id) ?? noRows, deps)
}

/**
 * Writes the erasure of a unit or skill that a restored database lost: receipt id, erased id and deletion audit entry.
 * The receipt is not signed yet. Returns false when the database already has it.
 */
export async function reinstateRecord(tx: Transaction, intent: RecordIntent): Promise<boolean> {
  // If unknown, a tombstone is published: an id reveals little, and unreported copies would exist forever (GDPR art. 19).
  const { id: receiptId, scope, wasPublic = true } = intent
  if ((await tx.erasure.count({ where: { receiptId } })) > 0) return false
  const deletedId = recordIdOf(scope)
  const deletedAt = new Date(intent.at)
  const plan = Object.fromEntries(
    Object.entries(intent.plan).map(([source, items]) => [source, { items: [...items], deleted: items.length }]),
  )
  const results = Object.fromEntries(Object.entries(plan).map(([source, { deleted }]) => [source, deleted]))
  const logged = { requestedBy, reason, scope: namedInLog(scope), results, now: deletedAt }
  const auditId = await recordDeletion(tx, logged)
  await tx.erasure.create({ data: { receiptId, auditId, deletedId, deletedAt, plan } })
  await reserveIds(tx, receiptId, [{ id: deletedId, wasPublic }], deletedAt)
  return true
}
