import type { DataSource, RetainedRecord } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import { adminActLines, fingerprintRetention, type RetentionFacts, retainedOfSubject } from './rules.ts'

interface ExpectedRetentionDeps {
  dataSources: readonly DataSource[]
  adminActs(accountId: string, now: Date): Promise<number>
  facts: RetentionFacts
}
export interface ExpectedErasure {
  subject: Pick<Subject, 'account'>
  /** The number of records to erase, by data source. */
  counts: ReadonlyMap<string, number>
  held: readonly { hold: string; count: number }[]
}
export type ExpectedRetention = (erasure: ExpectedErasure, now: Date) => Promise<Receipt['retained']>

/** Counts the records that name a person as the admin who changed something. */
export const adminActCount =
  (retainedRecords: readonly RetainedRecord[]) =>
  async (accountId: string, now: Date): Promise<number> => {
    let count = 0
    for (const { inventory } of retainedRecords.filter(({ isAdminAct }) => isAdminAct))
      count += (await inventory({ account: accountId, agents: [] }, now))?.count ?? 0
    return count
  }

/** Returns what the receipt of an erasure will list as retained, in its words and order, if the erasure begins now. */
export const expectedRetention =
  ({ dataSources, adminActs, facts }: ExpectedRetentionDeps): ExpectedRetention =>
  async ({ subject: { account }, counts, held }, now) => {
    const countOf = (name: string): number => counts.get(name) ?? 0
    const beyondReach = dataSources.flatMap(({ name, leftBehind }) => {
      const count = countOf(name)
      return count > 0 ? (leftBehind?.(count) ?? []) : []
    })
    const hasTexts = countOf('projects.messages') + countOf('projects.documents') > 0
    const isMailed = account !== null && facts.emailsInFolder
    const hasAddress = account !== null && held.length > 0
    return retainedOfSubject(now, {
      isOfRequest: true,
      requestsYears: facts.requestsYears,
      held,
      whileHeld: [
        ...(hasAddress ? [{ what: receiptText('retained', 'address'), ground: receiptText('grounds', 'end') }] : []),
        ...adminActLines(account === null ? 0 : await adminActs(account, now)),
        ...beyondReach,
      ],
      letters: !isMailed ? 'none' : held.length > 0 ? 'all' : 'last',
      // The cache is searched for the ids of every subject.
      isSearchedAgain: true,
      words: hasTexts ? fingerprintRetention(now, facts) : [],
    })
  }
