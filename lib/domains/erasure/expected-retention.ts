import type { DataSource, RetainedRecord } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { HasAdminActs, RetentionFacts } from './engine/dependencies.ts'
import { adminActLines, fingerprintRetention, retainedOfSubject } from './receipts/receipt.ts'

export interface ExpectedErasure {
  subject: Pick<Subject, 'account'>
  /** The number of records to erase, by data source. */
  counts: ReadonlyMap<string, number>
  /** Further counts of these records by name, by data source. Without them, external systems are not named. */
  results?: ReadonlyMap<string, Readonly<Record<string, number>>>
  held: readonly { hold: string; count: number }[]
}
export type ExpectedRetention = (erasure: ExpectedErasure, now: Date) => Promise<Receipt['retained']>

export const adminActSearch =
  (retainedRecords: readonly RetainedRecord[]): HasAdminActs =>
  async (account, now) => {
    if (account === null) return false
    for (const { inventory } of retainedRecords.filter(({ isAdminAct }) => isAdminAct))
      if (((await inventory({ account, agents: [] }, now))?.count ?? 0) > 0) return true
    return false
  }

/**
 * Returns the classes of data that the receipt of an erasure will list as retained, in the same order, if the erasure begins now. The
 * counts of the receipt are those of the erasure.
 */
export const expectedRetention =
  ({
    dataSources,
    hasAdminActs,
    facts,
  }: {
    dataSources: readonly DataSource[]
    hasAdminActs: HasAdminActs
    facts: RetentionFacts
  }): ExpectedRetention =>
  async ({ subject: { account }, counts, results, held }, now) => {
    const countOf = (name: string): number => counts.get(name) ?? 0
    const beyondReach = dataSources.flatMap(({ name, leftBehind }) => {
      const count = countOf(name)
      return count > 0 ? (leftBehind?.(count, results?.get(name)) ?? []) : []
    })
    const hasTexts = countOf('projects.messages') + countOf('projects.documents') > 0
    const isMailed = account !== null && facts.emailsInFolder
    const hasAddress = account !== null && held.length > 0
    return retainedOfSubject(now, {
      requestClosedAt: now,
      requestsYears: facts.requestsYears,
      held,
      whileHeld: [
        ...(hasAddress ? [{ what: receiptText('retained', 'address'), ground: receiptText('grounds', 'end') }] : []),
        ...adminActLines(await hasAdminActs(account, now)),
        ...beyondReach,
      ],
      letters: !isMailed ? 'none' : held.length > 0 ? 'all' : 'last',
      // The cache is searched for the ids of every subject.
      isSearchedAgain: true,
      words: hasTexts ? fingerprintRetention(now, facts) : [],
    })
  }
