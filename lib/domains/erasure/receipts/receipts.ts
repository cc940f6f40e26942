import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import { Receipt } from '#lib/kernel/receipt.ts'
import { addedUp, countsInLog } from '../runs/run-rules.ts'

/** Stored with a receipt but not part of it: ids and counts by data source. */
export const ReceiptPlan = z.record(
  z.string(),
  z.strictObject({
    items: z.array(z.string()),
    deleted: z.number().int(),
    /** Additional counts by name. */
    results: z.record(z.string(), z.number().int()).optional(),
  }),
)

const negative = (counts: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, -count]))

/** The deletion log counts pseudonymized records as deleted. */
const inLog = ({ pseudonymized: _, ...counts }: Readonly<Record<string, number>>) => counts

const signatureOf = (receipt: Receipt) => ({
  state: 'signed' as const,
  receipt,
  jws: receipt.jws,
  signedAt: new Date(receipt.signed_at),
})

/**
 * Stores the signature of an erasure whose row and log entry were written with the deletion. Returns the stored receipt:
 * if two processes sign it concurrently, the first signature is the receipt.
 */
export async function storeSignature(tx: Transaction, receipt: Receipt): Promise<Receipt> {
  const receiptId = receipt.receipt_id
  await tx.erasure.updateMany({ where: { receiptId, state: 'committed' }, data: signatureOf(receipt) })
  const stored = await tx.erasure.findUniqueOrThrow({ where: { receiptId }, select: { receipt: true } })
  return Receipt.parse(stored.receipt)
}

/** Number of deletions in the previous receipt with the same id. */
export interface Accounting {
  total: number
}

/**
 * Stores the signed receipt of a run. A receipt that a hold left incomplete is signed again under the same id when the
 * rest is erased; the deletion log then gets only the new deletions. `record` writes the log entry and returns its id.
 */
export async function storeReceipt(
  tx: Transaction,
  receipt: Receipt,
  {
    results = {},
    record,
  }: {
    /** Total additional counts by data source and name. */
    results?: Readonly<Record<string, Readonly<Record<string, number>>>>
    record(fresh: Record<string, number>): Promise<string>
  },
): Promise<Accounting> {
  const receiptId = receipt.receipt_id
  const known = await tx.erasure.findUnique({ where: { receiptId }, select: { plan: true } })
  const before = known ? ReceiptPlan.parse(known.plan) : {}
  const deleted = Object.fromEntries(
    receipt.stores.map(({ holder, deleted }) => [holder, deleted - (before[holder]?.deleted ?? 0)]),
  )
  const named = addedUp(
    [...Object.values(results), ...Object.values(before).map((one) => negative(one.results ?? {}))].map(inLog),
  )
  const retained = {
    auditId: await record({ ...countsInLog(deleted), ...named }),
    deletedAt: new Date(receipt.deleted_at),
    ...signatureOf(receipt),
    plan: Object.fromEntries(
      receipt.stores.map(({ holder, deleted }) => [
        holder,
        { items: [], deleted, ...(holder in results && { results: { ...results[holder] } }) },
      ]),
    ),
  }
  await tx.erasure.upsert({
    where: { receiptId },
    create: { receiptId, deletedId: receipt.deleted_id, ...retained },
    update: retained,
  })
  return { total: Object.values(before).reduce((sum, { deleted }) => sum + deleted, 0) }
}
