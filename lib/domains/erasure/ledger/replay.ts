import { planTargetOf } from '#lib/domains/erasure/engine/plans.ts'
import { isNobody } from '#lib/domains/erasure/runs/run-rules.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import {
  type Committed,
  isOfPart,
  isOfRecord,
  isOfSubject,
  type LedgerHistory,
  ledgerHistory,
} from './ledger-history.ts'
import { type RunIntent, reinstateRuns } from './reinstatement.ts'
import { replayRecord } from './replay-records.ts'
import type { Replay, ReplayDeps } from './replay-report.ts'
import { replayPart, replaySubject } from './replay-runs.ts'
import { receiptsOfUnfinishedRuns, receiptsSince, suppressionKeysSince } from './repository.ts'
import { eraseFromRestoredStores, type RestoredStoresDeps } from './restored-stores.ts'

/** Returns the erasures whose receipt the database lacks and whose items were searched in all stores. */
async function lostAmong(
  of: ReadonlyMap<string, Committed<RunIntent>>,
  unsearched: ReadonlySet<string>,
  { prisma }: Database,
): Promise<Map<string, Committed<RunIntent>>> {
  const lost = new Map<string, Committed<RunIntent>>()
  for (const [id, one] of of)
    if (!unsearched.has(id) && (await prisma.erasure.count({ where: { receiptId: id } })) === 0) lost.set(id, one)
  return lost
}

interface RememberedErasures {
  receipts: { id: string; is_signed: boolean }[]
  keyIds: { id: string }[]
  /** Receipt ids of all receipts and unfinished runs. */
  known: ReadonlySet<string>
}
/** Reads the receipts and suppression keys of the database, except those recorded in a ledger that is declared lost. */
async function rememberedErasures({ db, ledgerLostAt }: ReplayDeps): Promise<RememberedErasures> {
  const since = await ledgerLostAt(db.prisma)
  const receipts = await receiptsSince(db, { since })
  const keyIds = await suppressionKeysSince(db, { since })
  const runs = await receiptsOfUnfinishedRuns(db, {})
  return { receipts, keyIds, known: new Set([...receipts, ...runs].map(({ id }) => id)) }
}

/** Compares the database with the ledger before anything is erased again. */
function emptyReport(
  { receipts, keyIds, known }: RememberedErasures,
  { committed, uncommitted, keys, damaged }: LedgerHistory,
): Replay {
  const committedIds = new Set(committed.map(({ intent }) => intent.id))
  const keysInLedger = new Set(keys.map(({ id }) => id))
  // A receipt is signed only after the ledger records the erasure as executed.
  const isInLedger = ({ id, is_signed }: { id: string; is_signed: boolean }) =>
    committedIds.has(id) || (!is_signed && uncommitted.has(id))
  return {
    committed: committed.length,
    unknown:
      receipts.filter((one) => !isInLedger(one)).length + keyIds.filter(({ id }) => !keysInLedger.has(id)).length,
    uncertain: damaged === 0 ? 0 : [...uncommitted].filter((id) => !known.has(id)).length,
    ...{ erased: 0, subjects: 0, parts: 0, stores: 0, reinstated: 0, keys: 0, damaged },
    ...{ receipts: [], refused: [], unfinished: [], unsearched: [] },
  }
}

/** Erases again what the database contains again. Returns the erasures of which only held records remain. */
async function replayAll(
  committed: readonly Committed[],
  report: Replay,
  deps: ReplayDeps,
): Promise<Map<string, Committed<RunIntent>>> {
  const confirmed = new Map<string, Committed<RunIntent>>()
  // People and agents first: their records are erased with them and need no separate run.
  for (const one of committed.filter(isOfSubject)) {
    // A hold covered the whole subject, so nothing was erased.
    if (isNobody(one.intent.scope.subject)) continue
    if (await replaySubject(one.intent, report, deps)) confirmed.set(one.intent.id, one)
  }
  for (const one of committed.filter(isOfPart))
    if (await replayPart(one.intent, report, deps)) confirmed.set(one.intent.id, one)
  for (const one of committed.filter(isOfRecord)) await replayRecord(one.intent, report, deps)
  return confirmed
}

/**
 * Erases again what a restored backup brought back, and restores lost receipts, erased ids and suppression list entries
 * from the ledger.
 * Ignores intents without a commit, and data that was stored after its erasure. Idempotent.
 */
export function replayErasures(deps: ReplayDeps): () => Promise<Replay> {
  const { db, ledger, dataSources, holds, words, audit, now } = deps
  const restoredStores: RestoredStoresDeps = {
    ...{ db, ledger, dataSources, words, audit, now },
    async isHeld(tx, { scope, ...intent }) {
      const { kept } = await planTargetOf(tx, scope, holds, now())
      const projects = 'projects' in intent ? (intent.projects ?? []) : []
      return kept.length > 0 || (await holds.projects(tx, projects, now())).size > 0
    },
  }
  return async () => {
    // Read before the ledger, so that the ledger contains every erasure that starts meanwhile.
    const remembered = await rememberedErasures(deps)
    const history = await ledgerHistory(ledger)
    const report = emptyReport(remembered, history)
    // Keys first: without its suppression key, nobody is recognised.
    report.keys = await deps.keys.restore(history.keys)
    const confirmed = await replayAll(history.committed, report, deps)
    // A store that was restored separately, or is newer than the database's backup, can contain erased data that no row
    // refers to.
    const again = await eraseFromRestoredStores(restoredStores, confirmed)
    report.stores = again.erased.length
    report.unsearched = again.unsearched
    const lost = await lostAmong(confirmed, new Set(again.unsearched.map(({ receipt }) => receipt)), db)
    await reinstateRuns(lost, deps)
    report.reinstated += lost.size
    const repeated = [...report.unfinished, ...report.unsearched].map(({ receipt }) => receipt)
    await db.transaction((tx) => deps.storeRepeated(tx, [...new Set(repeated)].sort(), now()))
    return report
  }
}
