import type {
  CommitRow,
  ItemsRow,
  Ledger,
  LedgerRow,
  PartIntent,
  RecordIntent,
  SubjectIntent,
} from '#lib/stores/ledger/ledger.ts'
import type { LedgerProblemKind } from '#lib/stores/ledger/ledger-scan.ts'

type KeyRow = Extract<LedgerRow, { kind: 'key' }>
export type Intent = RecordIntent | SubjectIntent | PartIntent
/** An executed intent: the last intent before the last commit, and the number of item rows that belong to it. */
export interface Committed<I extends Intent = Intent> {
  intent: I
  commit: CommitRow
  itemsRows: number
}
export interface LedgerHistory {
  /** In the order of their first commit. */
  committed: Committed[]
  /** Receipt ids of erasures that were started but, according to the ledger, never executed. */
  uncommitted: ReadonlySet<string>
  keys: KeyRow[]
  /** Number of lines that were not read: cut short by a crash, changed, or written by somebody else. */
  damaged: number
}
const isRefusedRow = (kind: LedgerProblemKind): boolean => kind !== 'altered' && kind !== 'missing'

/**
 * Reads all executed erasures from the ledger and skips intents without a commit. Items are not loaded: read them with
 * {@link committedItems}.
 */
export async function ledgerHistory(ledger: Pick<Ledger, 'read'>): Promise<LedgerHistory> {
  const intents = new Map<string, Intent>()
  const itemsRows = new Map<string, number>()
  const committed = new Map<string, Committed>()
  const keys: KeyRow[] = []
  let damaged = 0
  for await (const row of ledger.read((_, kind) => {
    if (isRefusedRow(kind)) damaged++
  })) {
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

/** Used instead of a data source's name in a row of items. Its one item contains the fingerprints of the erased words. */
export const fingerprintsRow = 'erased.words'

/** Streams the rows of items of the given executed erasures. */
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
