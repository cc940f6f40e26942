import { isAnonymized } from '#lib/domains/erasure/anonymized-rules.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { recognizeReceiptText } from '#lib/kernel/receipt-texts.ts'

export interface StoreTotal {
  store: string
  found: number
  deleted: number
  /** Records that lost the name and texts of the subject instead. */
  anonymized: number
  left: number
}

/** The counts of a receipt by store, in the order of the receipt. */
export function storeTotals({ stores }: Pick<Receipt, 'stores'>): StoreTotal[] {
  const totals = new Map<string, StoreTotal>()
  for (const one of stores) {
    const { store, found, deleted, anonymized, left } = recordCounts(one)
    const total = totals.get(store) ?? { store, found: 0, deleted: 0, anonymized: 0, left: 0 }
    totals.set(store, {
      store,
      found: total.found + found,
      deleted: total.deleted + deleted,
      anonymized: total.anonymized + anonymized,
      left: total.left + left,
    })
  }
  return [...totals.values()]
}

/** The counts of one record type. Older receipts count anonymized records only as deleted. */
export function recordCounts({
  store,
  holder,
  found,
  deleted,
  residue,
  ...one
}: Receipt['stores'][number]): StoreTotal {
  const anonymized = one.anonymized ?? (isAnonymized(holder) ? deleted : 0)
  return { store, found, deleted: deleted - anonymized, anonymized, left: residue }
}

/** True if the record type or store had no records. */
export const isEmpty = ({ found, deleted, anonymized, left }: Omit<StoreTotal, 'store'>): boolean =>
  found + deleted + anonymized + left === 0

export type ReceiptStatus = 'verified' | 'held' | 'incomplete' | 'nothing'
/** The result of a deletion according to its receipt. A receipt without a searched store proves nothing. */
export function receiptSummary(receipt: Pick<Receipt, 'stores'>, held: number) {
  const totals = storeTotals(receipt)
  const sum = (count: (total: StoreTotal) => number) => totals.reduce((all, total) => all + count(total), 0)
  const left = sum((total) => total.left)
  const status: ReceiptStatus =
    totals.length === 0 ? 'nothing' : left > 0 ? 'incomplete' : held > 0 ? 'held' : 'verified'
  const [deleted, anonymized] = [sum((total) => total.deleted), sum((total) => total.anonymized)]
  return { status, counts: { stores: totals.length, deleted, anonymized, left, held } }
}

/**
 * Whether the deleted records include those of the request for this deletion. They did not exist yet when the person saw the number of
 * records in the preview.
 */
export const includesOwnRequest = ({ stores, retained }: Pick<Receipt, 'stores' | 'retained'>): boolean =>
  stores.some(({ holder, deleted }) => holder === 'privacy.requests' && deleted > 0) &&
  retained.some(({ what }) => recognizeReceiptText('retained', what)?.code === 'request')
