import { isNobody } from '#lib/domains/erasure/runs/run-rules.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type Ledger, type LedgerPosition, ledgerStart } from '#lib/stores/ledger/ledger.ts'
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

/**
 * Returns a function that counts the erasures which are in the ledger but not in the database. It compares all of them until both agree,
 * then only the latest. It reads the ledger before the database, because an erasure is in the database before the ledger records it as
 * executed.
 */
export function compareWithLedger(db: Database, ledger: Pick<Ledger, 'readSince'>): () => Promise<number> {
  const position: LedgerPosition = ledgerStart()
  /** Intents whose subject was under holds completely: nothing to replay. */
  const hollow = new Set<string>()
  let recent: string[] = []
  let isWhole = false

  return async (): Promise<number> => {
    if (!isWhole) Object.assign(position, ledgerStart())
    const carriedOut = new Set<string>()
    let isRead = true
    try {
      for await (const row of ledger.readSince(position)) {
        const isHollow = row.kind === 'intent' && 'subject' in row.scope && isNobody(row.scope.subject)
        if (isHollow) hollow.add(row.id)
        else if (row.kind === 'intent') hollow.delete(row.id)
        else if (!hollow.has(row.id)) carriedOut.add(row.id)
      }
    } catch (error) {
      // Readiness reports an unreadable ledger. The rows read so far are compared anyway.
      isRead = false
      if (!Problem.is(error)) logFault(error, { operationId: 'compareLedger' })
    }
    // Includes earlier ids: a ledger that is unmounted meanwhile must not unblock requests.
    const wanted = [...new Set([...recent, ...carriedOut])]
    const missing = await unknownAmong(db, wanted)
    isWhole = missing.length === 0 && (isWhole || isRead)
    recent = isWhole ? wanted.slice(-mostRecent) : [...new Set([...wanted.slice(-mostRecent), ...missing])]
    return missing.length
  }
}
