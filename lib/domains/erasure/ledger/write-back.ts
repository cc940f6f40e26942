import { recordIntent } from '#lib/domains/erasure/engine/intents.ts'
import { ReceiptPlan } from '#lib/domains/erasure/receipts/receipts.ts'
import { recordScopeOf } from '#lib/domains/erasure/runs/run-names.ts'
import { runPartOf, stepsOf } from '#lib/domains/erasure/runs/runs.ts'
import type { Suppressions } from '#lib/domains/erasure/suppression/suppressions.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Receipt } from '#lib/kernel/receipt.ts'
import type { Ledger, LedgerRow } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { ledgerHistory } from './ledger-history.ts'

export interface WriteBackDeps {
  db: Database
  ledger: Ledger
  suppressions: Pick<Suppressions, 'ofRun'>
}

/** The name of the row with the erased ids that were written back: which source they belonged to is not recorded. */
const writtenBack = 'written.back'

/** The rows of one erasure, as far as the database still knows it. Undefined for a receipt that names nothing. */
async function rowsOf(tx: Transaction, receiptId: string, deps: WriteBackDeps): Promise<LedgerRow[] | undefined> {
  const row = await tx.erasure.findUnique({ where: { receiptId } })
  if (!row || row.signedAt === null) return undefined
  const at = row.deletedAt.toISOString()
  const erased = await tx.erasedId.findMany({ where: { receiptId }, select: { id: true, wasPublic: true } })
  const identities = Object.fromEntries(erased.map(({ id, wasPublic }) => [id, wasPublic]))
  const items: LedgerRow[] =
    erased.length === 0 ? [] : [{ kind: 'items', id: receiptId, holder: writtenBack, items: [], identities }]
  const receipt = Receipt.parse(row.receipt)
  const counts = Object.fromEntries(receipt.stores.map(({ holder, deleted }) => [holder, deleted]))
  const commit: LedgerRow = { kind: 'commit', id: receiptId, at: row.signedAt.toISOString(), erased: counts }
  const run = await tx.erasureRun.findUnique({ where: { receiptId } })
  const part = run && runPartOf(run)
  const heldBy = run ? [...new Set((await stepsOf(tx, run.id)).flatMap(({ held }) => Object.keys(held)))].sort() : []
  const redacts = run?.redacts && { redacts: true }
  if (part) return [{ kind: 'intent', id: receiptId, at, scope: { part }, heldBy, ...redacts }, ...items, commit]
  const { subject_kind: kind, deleted_id: id } = receipt
  if (kind !== undefined) {
    const subject = {
      account: kind === 'account' ? id : null,
      agents: kind === 'agent' ? [id] : [],
      ...(kind === 'participant' && { participants: [id] }),
    }
    const hashes = await deps.suppressions.ofRun(tx, run?.id ?? receiptId)
    return [{ kind: 'intent', id: receiptId, at, scope: { subject }, hashes, heldBy, ...redacts }, ...items, commit]
  }
  if (receipt.part_kind !== undefined) return undefined
  const plan = new Map(Object.entries(ReceiptPlan.parse(row.plan)).map(([name, planned]) => [name, planned.items]))
  const wasPublic = identities[row.deletedId] ?? true
  return [recordIntent({ id: receiptId, at, scope: recordScopeOf(row.deletedId), plan, wasPublic }), commit]
}

/**
 * Appends the erasures and suppression keys that the database has and the ledger lacks, for example because an older copy of the ledger
 * is in its place. Only finished erasures count: the others write their own rows. Returns the number of erasures and keys.
 */
export async function writeMissingRows(deps: WriteBackDeps): Promise<number> {
  const { db, ledger } = deps
  // Read before the ledger: an erasure is recorded in the ledger before its receipt is signed.
  const signed = await db.prisma.erasure.findMany({
    where: { state: 'signed' },
    select: { receiptId: true },
    orderBy: { deletedAt: 'asc' },
  })
  const keys = await db.prisma.suppressionKey.findMany({ orderBy: { createdAt: 'asc' } })
  const history = await ledgerHistory(ledger)
  const known = new Set(history.committed.map(({ intent }) => intent.id))
  const knownKeys = new Set(history.keys.map(({ id }) => id))
  let count = 0
  for (const { id, createdAt, sealedKey } of keys) {
    if (knownKeys.has(id)) continue
    const sealed = Buffer.from(sealedKey).toString('base64')
    await ledger.append({ kind: 'key', id, at: createdAt.toISOString(), sealed })
    count++
  }
  for (const { receiptId } of signed) {
    if (known.has(receiptId)) continue
    const rows = await db.transaction((tx) => rowsOf(tx, receiptId, deps))
    if (!rows) continue
    for (const row of rows) await ledger.append(row)
    count++
  }
  return count
}
