import { isNobody } from '#lib/domains/erasure/runs/run-rules.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type Ledger, type LedgerPosition, ledgerStart, problemsUpTo } from '#lib/stores/ledger/ledger.ts'
import { isAlteration } from '#lib/stores/ledger/ledger-scan.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { unknownErasures } from './repository.ts'

/** Number of the latest erasures that each check compares. */
const mostRecent = 200
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
  let recent: string[] = []
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
    // Includes earlier ids: a ledger that is unmounted meanwhile must not unblock requests.
    const wanted = [...new Set([...recent, ...executed])]
    const missing = await unknownAmong(db, wanted)
    isWhole = missing.length === 0 && (isWhole || isRead)
    recent = isWhole ? wanted.slice(-mostRecent) : [...new Set([...wanted.slice(-mostRecent), ...missing])]
    const problems = problemsUpTo(position)
    return {
      missing,
      isRead: isRead && !problems.some(({ kind }) => kind === 'unsealed'),
      alterations: problems.filter(isAlteration).length,
    }
  }
}
