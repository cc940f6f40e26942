import { logFault } from '#lib/kernel/fault-log.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { CompleteReading, Receipt } from '#lib/kernel/receipt.ts'
import {
  type CommitRow,
  type ItemsRow,
  type Ledger,
  type LedgerPosition,
  type LedgerRow,
  ledgerStart,
  type PartIntent,
  problemsUpTo,
  type RecordIntent,
  type SubjectIntent,
} from '#lib/stores/ledger/ledger.ts'
import { isAlteration, type LedgerProblemKind } from '#lib/stores/ledger/ledger-scan.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { isNobody, participating, type RunScope } from '../runs/run-rules.ts'
import { unknownErasures } from './repository.ts'

type KeyRow = Extract<LedgerRow, { kind: 'key' }>
type Intent = RecordIntent | SubjectIntent | PartIntent
/** An executed intent: the last intent before the last commit, and the number of item rows that belong to it, with its receipt. */
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
    const isStatement = row.kind === 'items' && (row.holder === receiptRow || row.holder === readingRow)
    const signed = isStatement ? committed.get(row.id) : undefined
    if (signed) signed.itemsRows = itemsRows.get(row.id) ?? 0
  }
  return {
    committed: [...committed.values()],
    uncommitted: new Set([...intents.keys()].filter((id) => !committed.has(id))),
    keys,
    damaged,
  }
}

/**
 * Used instead of a data source's name in a row of items. The first item contains the fingerprints of the erased words. The second one, which
 * older rows do not have, is the time at which the oldest erased text was written.
 */
export const fingerprintsRow = 'erased.words'

export const fingerprintsItems = (id: string, fingerprints: string, wordsSince: Date | null): ItemsRow => ({
  kind: 'items',
  id,
  holder: fingerprintsRow,
  items: wordsSince === null ? [fingerprints] : [fingerprints, wordsSince.toISOString()],
})

/**
 * Used instead of a data source's name in a row of items. Its one item is the signed receipt, as JSON without signatures. Appended after
 * the commit and before the receipt is stored; the newest one counts.
 */
export const receiptRow = 'erasure.receipt'

export const receiptItems = ({ jws: _, complete_reading: __, ...content }: Receipt): ItemsRow => ({
  kind: 'items',
  id: content.receipt_id,
  holder: receiptRow,
  items: [JSON.stringify(content)],
})

/**
 * Used instead of a data source's name in a row of items. Its one item is the second statement of a receipt, as JSON without its signature.
 * Appended before the statement is stored; the newest one counts.
 */
export const readingRow = 'erasure.reading'

export const readingItems = ({ jws: _, ...statement }: Omit<CompleteReading, 'jws'> & { jws?: string }): ItemsRow => ({
  kind: 'items',
  id: statement.receipt_id,
  holder: readingRow,
  items: [JSON.stringify(statement)],
})

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

/** Number of the latest erasures that each check compares. */
const newest = 200
const idsAtOnce = 5_000

/** Those of the erasures that the database does not know. */
async function unknownAmong(db: Database, ids: readonly string[]): Promise<string[]> {
  const unknown: string[] = []
  for (let at = 0; at < ids.length; at += idsAtOnce) {
    const rows = await unknownErasures(db, { ids: ids.slice(at, at + idsAtOnce) })
    unknown.push(...rows.map(({ id }) => id))
  }
  return unknown
}

/** The erasures that the ledger records as executed, oldest first, except those whose subject was under holds completely. */
export async function executedErasures(
  ledger: Pick<Ledger, 'readSince'>,
  position: LedgerPosition = ledgerStart(),
  hollow = new Set<string>(),
  executed = new Set<string>(),
): Promise<Set<string>> {
  for await (const row of ledger.readSince(position)) {
    if (row.kind === 'request') continue
    const isHollow = row.kind === 'intent' && 'subject' in row.scope && isNobody(row.scope.subject)
    if (isHollow) hollow.add(row.id)
    else if (row.kind === 'intent') hollow.delete(row.id)
    else if (!hollow.has(row.id)) executed.add(row.id)
  }
  return executed
}

export interface LedgerComparison {
  /** Receipt ids of erasures that are in the ledger but not in the database. */
  missing: string[]
  /** False if the ledger could not be read, or if it has no head of ours. */
  isRead: boolean
  /** Refused rows, and signs of changed and removed rows. */
  alterations: number
}

/**
 * Returns a function that compares the ledger with the database. It compares everything until both agree, then only the latest erasures.
 * It reads the ledger before the database, because an erasure is in the database before the ledger records it as executed.
 */
export function compareWithLedger(db: Database, ledger: Pick<Ledger, 'readSince'>): () => Promise<LedgerComparison> {
  let position: LedgerPosition = ledgerStart()
  /** Intents whose subject was under holds completely: nothing to replay. */
  const hollow = new Set<string>()
  /**
   * The latest erasures, and all that are not compared yet. Each row is read once, so they remain here while the database does not
   * answer: the erasures that a failover lost are those that were read last.
   */
  let wanted = new Set<string>()
  let isWhole = false

  return async () => {
    if (!isWhole) position = ledgerStart()
    const executed = new Set<string>()
    let isRead = true
    try {
      await executedErasures(ledger, position, hollow, executed)
    } catch (error) {
      // Readiness reports an unreadable ledger. The rows read so far are compared anyway.
      isRead = false
      if (!Problem.is(error)) logFault(error, { operationId: 'compareLedger' })
    }
    // Includes earlier ids: a ledger that is unmounted meanwhile must not unblock requests. The newest are last.
    wanted = new Set([...[...wanted].filter((id) => !executed.has(id)), ...executed])
    const ids = [...wanted]
    const missing = await unknownAmong(db, ids)
    isWhole = missing.length === 0 && (isWhole || isRead)
    wanted = new Set([...(isWhole ? [] : missing), ...ids.slice(-newest)])
    const problems = problemsUpTo(position)
    return {
      missing,
      isRead: isRead && !problems.some(({ kind }) => kind === 'unsealed'),
      alterations: problems.filter(isAlteration).length,
    }
  }
}

/** A former erasure whose fingerprints the ledger retains. */
export interface RetainedErasure {
  scope: RunScope
  redacts: boolean
  startedAt: Date
  erasedAt: Date
  /** The projects of the erased texts, as the ledger knows them. */
  projects: string[]
  fingerprints: Uint8Array
  /** When the oldest erased text was written. Null: older rows do not contain it. */
  wordsSince: Date | null
}

/** The executed erasures whose fingerprints the ledger still retains, by receipt. `receipts`: only these. */
export async function retainedErasures(
  ledger: Pick<Ledger, 'read'>,
  receipts?: ReadonlySet<string>,
): Promise<Map<string, RetainedErasure>> {
  const intents = new Map<string, SubjectIntent | PartIntent>()
  const encoded = new Map<string, readonly string[]>()
  const erasedAt = new Map<string, Date>()
  for await (const row of ledger.read()) {
    if (row.kind === 'key' || receipts?.has(row.id) === false) continue
    if (row.kind === 'commit') erasedAt.set(row.id, new Date(row.at))
    else if (row.kind === 'intent' && isOfRun(row)) intents.set(row.id, row)
    // Fingerprints that were added during the erasure are in a later row, which contains all of them.
    else if (row.kind === 'items' && row.holder === fingerprintsRow && row.items.length > 0)
      encoded.set(row.id, row.items)
  }
  const retained = new Map<string, RetainedErasure>()
  for (const [receipt, items] of encoded) {
    const [at, intent] = [erasedAt.get(receipt), intents.get(receipt)]
    if (at && intent) retained.set(receipt, retainedErasure(intent, at, items))
  }
  return retained
}

const isOfRun = (intent: Intent): intent is SubjectIntent | PartIntent =>
  'subject' in intent.scope || 'part' in intent.scope

/** `items`: those of the row with the fingerprints. */
export function retainedErasure(
  intent: SubjectIntent | PartIntent,
  erasedAt: Date,
  [fingerprints = '', since]: readonly string[],
): RetainedErasure {
  const { at, redacts = false } = intent
  const common = {
    redacts,
    startedAt: new Date(at),
    erasedAt,
    fingerprints: Buffer.from(fingerprints, 'base64'),
    wordsSince: since === undefined ? null : new Date(since),
  }
  if ('part' in intent.scope) return { ...common, scope: intent.scope, projects: [intent.scope.part.project] }
  const { account, agents, participants } = intent.scope.subject
  const subject = { account, agents: [...agents], ...participating(participants) }
  return { ...common, scope: { subject }, projects: 'projects' in intent ? [...(intent.projects ?? [])] : [] }
}
