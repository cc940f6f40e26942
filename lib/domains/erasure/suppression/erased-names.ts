import { ledgerHistory } from '#lib/domains/erasure/ledger/ledger-history.ts'
import type { ItemId } from '#lib/kernel/data-source.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'

/** An executed erasure of a person or an agent, read from the erasure ledger. */
export interface ErasedSubject {
  account: string | null
  agents: readonly string[]
  /** When the erasure was planned. */
  at: Date
  /** Until when backups can restore the erased data and the ledger keeps the items. Null: as long as the ledger exists. */
  until: Date | null
  /** The items that one data source erased. Empty when the ledger no longer holds them. */
  items: ReadonlySet<ItemId>
}

/** Reads the ledger. Returns undefined when the receipt is unknown or belongs to an erasure without a subject. */
export const erasedSubjects =
  ({ ledger, backupDays }: { ledger: Pick<Ledger, 'read'>; backupDays: number | undefined }) =>
  async (receiptId: string, holder: string): Promise<ErasedSubject | undefined> => {
    const found = (await ledgerHistory(ledger)).committed.find(({ intent }) => intent.id === receiptId)
    if (!found || !('subject' in found.intent.scope)) return undefined
    const { account, agents } = found.intent.scope.subject
    const items = new Set<ItemId>()
    for await (const row of ledger.read())
      if (row.kind === 'items' && row.id === receiptId && row.holder === holder)
        for (const item of row.items) items.add(item)
    const until = backupDays === undefined ? null : new Date(Date.parse(found.commit.at) + backupDays * 86_400_000)
    return { account, agents, at: new Date(found.intent.at), until, items }
  }
