import type { Receipt } from '#lib/kernel/receipt.ts'
import { recognizeReceiptText } from '#lib/kernel/receipt-texts.ts'

/**
 * Milliseconds before an erased id is listed as a tombstone: longer than a transaction can wait and run (5 + 15 s). A
 * transaction that starts earlier and commits later thus never falls behind a cursor that was already returned.
 */
export const settlingTime = 30_000

/** Adds calendar years; 29 February becomes 28 February in other years. */
export function plusYears(from: Date, years: number): Date {
  const moved = new Date(from)
  moved.setUTCFullYear(from.getUTCFullYear() + years)
  if (moved.getUTCMonth() !== from.getUTCMonth()) moved.setUTCDate(0)
  return moved
}

/** Returns the number of records that a receipt lists as retained by legal holds; 0 if none. */
export const legalHoldCountsIn = ({ held, retained }: Pick<Receipt, 'held' | 'retained'>): number =>
  // Old receipts contain the number only in this sentence.
  held ??
  retained.reduce((sum, { what }) => {
    const found = recognizeReceiptText('retained', what)
    return found?.code === 'held' ? sum + found.count : sum
  }, 0)

const pseudonymizedSources = ['erasure.owners', 'knowledge.references', 'privacy.requests', 'projects.references']
/**
 * Whether an erasure leaves the records of a data source, without the name and texts of the subject, instead of deleting them. They are
 * not anonymous: the installation has the key of the pseudonyms (GDPR Art. 4(5)).
 */
export const isPseudonymized = (dataSource: string): boolean => pseudonymizedSources.includes(dataSource)
