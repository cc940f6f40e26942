import type {
  CommitRow,
  ItemsRow,
  Ledger,
  LedgerRow,
  PartIntent,
  RecordIntent,
  SubjectIntent,
} from '#lib/stores/ledger/ledger.ts'

type KeyRow = Extract<LedgerRow, { kind: 'key' }>
export type Intent = RecordIntent | SubjectIntent | PartIntent
/** An intent that was carried out: the last one before its last commit, and how many of its rows of items belong to it. */
export interface Committed<I extends Intent = Intent> {
  intent: I
  commit: CommitRow
  itemsRows: number
}
export interface LedgerHistory {
  /** In the order in which they were first carried out. */
  committed: Committed[]
  /** Of erasures that were begun and, as far as the ledger says, never carried out: the receipts' ids. */
  uncommitted: ReadonlySet<string>
  keys: KeyRow[]
  /** Lines that do not check: cut short by a crash, or changed. */
  damaged: number
}

/** What the ledger says was carried out; intents that never committed are left out. Items are not kept: read them with {@link committedItems}. */
export async function ledgerHistory(ledger: Pick<Ledger, 'read'>): Promise<LedgerHistory> {
  const intents = new Map<string, Intent>()
  const itemsRows = new Map<string, number>()
  const committed = new Map<string, Committed>()
  const keys: KeyRow[] = []
  let damaged = 0
  for await (const row of ledger.read(() => damaged++)) {
    if (row.kind === 'key') keys.push(row)
    if (row.kind === 'intent') intents.set(row.id, row)
    if (row.kind === 'items') itemsRows.set(row.id, (itemsRows.get(row.id) ?? 0) + 1)
    const intent = row.kind === 'commit' ? intents.get(row.id) : undefined
    if (row.kind === 'commit' && intent)
      committed.set(row.id, { intent, commit: row, itemsRows: itemsRows.get(row.id) ?? 0 })
  }
  return {
    committed: [...committed.values()],
    uncommitted: new Set([...intents.keys()].filter((id) => !committed.has(id))),
    keys,
    damaged,
  }
}

/** In place of a data source, on a row of items: its one item is the fingerprints of the erased words. */
export const wordsRow = 'erased.words'

/** The rows of items of those that were carried out, streamed. */
export async function* committedItems(
  ledger: Pick<Ledger, 'read'>,
  of: ReadonlyMap<string, Pick<Committed, 'itemsRows'>>,
): AsyncIterable<ItemsRow> {
  const seen = new Map<string, number>()
  for await (const row of ledger.read()) {
    const wanted = row.kind === 'items' ? of.get(row.id) : undefined
    if (row.kind !== 'items' || !wanted) continue
    const count = (seen.get(row.id) ?? 0) + 1
    seen.set(row.id, count)
    if (count <= wanted.itemsRows) yield row
  }
}

export const isOfSubject = (one: Committed): one is Committed<SubjectIntent> => 'subject' in one.intent.scope
export const isOfPart = (one: Committed): one is Committed<PartIntent> => 'part' in one.intent.scope
export const isOfRecord = (one: Committed): one is Committed<RecordIntent> => !isOfSubject(one) && !isOfPart(one)
