import type { ItemId } from '#lib/kernel/holder.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import { ledgerHistory } from './ledger-history.ts'

/** An erasure of a person or an agent that was carried out, as the ledger has it. */
export interface ErasedSubject {
  account: string | null
  agents: readonly string[]
  /** When it was planned. */
  at: Date
  /** Until when backups may bring back what it changed, and the ledger's items are readable; null: as long as the ledger. */
  until: Date | null
  /** What one data source changed; empty once the ledger forgot its items. */
  items: ReadonlySet<ItemId>
}

/** Reads the ledger. Undefined for the id of a receipt about something else, or of none. */
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
