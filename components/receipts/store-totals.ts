import { isPseudonymized } from '#lib/domains/erasure/rules.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { recognizeReceiptText } from '#lib/kernel/receipt-texts.ts'

export interface StoreTotal {
  store: string
  found: number
  deleted: number
  /** Records that lost the name and texts of the subject instead. */
  pseudonymized: number
  left: number
}

/** The counts of a receipt by store, in the order of the receipt. */
export function storeTotals({ stores }: Pick<Receipt, 'stores'>): StoreTotal[] {
  const totals = new Map<string, StoreTotal>()
  for (const one of stores) {
    const { store, found, deleted, pseudonymized, left } = recordCounts(one)
    const total = totals.get(store) ?? { store, found: 0, deleted: 0, pseudonymized: 0, left: 0 }
    totals.set(store, {
      store,
      found: total.found + found,
      deleted: total.deleted + deleted,
      pseudonymized: total.pseudonymized + pseudonymized,
      left: total.left + left,
    })
  }
  return [...totals.values()]
}

/** The counts of one record type. Older receipts count pseudonymized records only as deleted. */
export function recordCounts({
  store,
  holder,
  found,
  deleted,
  residue,
  ...one
}: Receipt['stores'][number]): StoreTotal {
  const pseudonymized = one.pseudonymized ?? (isPseudonymized(holder) ? deleted : 0)
  return { store, found, deleted: deleted - pseudonymized, pseudonymized, left: residue }
}

/** True if the record type or store had no records. */
export const isEmpty = ({ found, deleted, pseudonymized, left }: Omit<StoreTotal, 'store'>): boolean =>
  found + deleted + pseudonymized + left === 0

export type ReceiptStatus = 'verified' | 'held' | 'incomplete' | 'nothing'
/** The result of a deletion according to its receipt. A receipt without a searched store proves nothing. */
export function receiptSummary(receipt: Pick<Receipt, 'stores'>, held: number) {
  const totals = storeTotals(receipt)
  const sum = (count: (total: StoreTotal) => number) => totals.reduce((all, total) => all + count(total), 0)
  const left = sum((total) => total.left)
  const status: ReceiptStatus =
    totals.length === 0 ? 'nothing' : left > 0 ? 'incomplete' : held > 0 ? 'held' : 'verified'
  const [deleted, pseudonymized] = [sum((total) => total.deleted), sum((total) => total.pseudonymized)]
  return { status, counts: { stores: totals.length, deleted, pseudonymized, left, held } }
}

/**
 * Whether the deleted records include those of the request for this deletion. They did not exist yet when the person saw the number of
 * records in the preview.
 */
export const includesOwnRequest = ({ stores, retained }: Pick<Receipt, 'stores' | 'retained'>): boolean =>
  stores.some(({ holder, deleted }) => holder === 'privacy.requests' && deleted > 0) &&
  retained.some(({ what }) => recognizeReceiptText('retained', what)?.code === 'request')

/**
 * Deleted copies that were kept for a legal hold that has ended. Deletions of earlier releases also made some, which their preview did not count.
 */
export const heldCopies = ({ stores }: Pick<Receipt, 'stores'>): number =>
  stores.reduce((sum, { holder, deleted }) => sum + (holder === 'holds.versions' ? deleted : 0), 0)
