import type { Transaction } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { CompleteReading, Receipt } from '#lib/kernel/receipt.ts'
import type { LedgerRow, PartIntent, RecordIntent, SubjectIntent } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { recordIntent } from '../engine/intent.ts'
import { planTargetOf } from '../engine/plan.ts'
import { ReceiptPlan } from '../receipts/receipt.ts'
import {
  isNobody,
  nobody,
  participating,
  type RunScope,
  recordIdOf,
  recordScopeOf,
  scopeKindOf,
  scopeNameOf,
} from '../runs/run-rules.ts'
import { beginRun, runPartOf, stepsOf } from '../runs/runs.ts'
import type { Suppressions } from '../suppression/suppressions.ts'
import {
  type Committed,
  isOfPart,
  isOfRecord,
  isOfSubject,
  type LedgerHistory,
  ledgerHistory,
  readingItems,
  receiptItems,
} from './ledger-history.ts'
import {
  type ReplayDeps,
  type RunIntent,
  reason,
  reinstateRecord,
  reinstateRuns,
  requestedBy,
} from './reinstatement.ts'
import { eraseFromRestoredStores, type Replay, type RestoredStores } from './replay-report.ts'
import { receiptsOfUnfinishedRuns, receiptsSince, suppressionKeysSince } from './repository.ts'

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
    erased: 0,
    subjects: 0,
    parts: 0,
    stores: 0,
    reinstated: 0,
    keys: 0,
    damaged,
    receipts: [],
    refused: [],
    unfinished: [],
    unsearched: [],
  }
}

/** Erases a unit or skill that exists again. Returns the id of the new receipt, or undefined if it does not exist. */
async function eraseAgain({ scope, ...intent }: RecordIntent, deps: ReplayDeps): Promise<string | undefined> {
  const { db, records, audit, now } = deps
  const receiptId = await db.transaction(async (tx) => {
    const record = await deps.restored(tx, scope, new Date(intent.at))
    if (!record) return undefined
    const { formerOwner } = record
    const wasPublic = record.wasPublic || (intent.wasPublic ?? true)
    const receipt = await records.begin(tx, { scope, formerOwner, requestedBy, reason, wasPublic, now: now() })
    await audit(tx, {
      action: 'delete',
      actorId: requestedBy,
      at: now(),
      ip: '',
      details: { receipt },
      resourceType: 'unit' in scope ? 'knowledge' : 'skill',
      resourceId: recordIdOf(scope),
    })
    return receipt
  })
  if (receiptId !== undefined) await records.finish(receiptId)
  return receiptId
}

/** Erases a unit or skill again, and restores the receipt of its first erasure. */
async function replayRecord(intent: RecordIntent, report: Replay, deps: ReplayDeps): Promise<void> {
  const again = await eraseAgain(intent, deps)
  if (again !== undefined) {
    report.receipts.push(again)
    report.erased++
  }
  // The backup may predate the erasure: restore its receipt, and reserve its id again.
  if (!(await deps.db.transaction((tx) => reinstateRecord(tx, intent)))) return
  await deps.records.finish(intent.id)
  report.reinstated++
}

const without = (subject: Subject, removed: Subject): Subject => ({
  account: subject.account === removed.account ? null : subject.account,
  agents: subject.agents.filter((agent) => !removed.agents.includes(agent)),
  ...participating(subject.participants?.filter((id) => !removed.participants?.includes(id))),
})

/** Returns true when a data source finds records of the subject that no current hold covers. */
async function hasRecords(subject: Subject, { db, dataSources, holds, now }: ReplayDeps): Promise<boolean> {
  const { free } = await db.transaction((tx) => planTargetOf(tx, { subject }, holds, now()))
  if (free === null) return false
  for (const dataSource of dataSources) if ((await dataSource.residue(free, [], now())) > 0) return true
  return false
}

/** Returns the unfinished run that was in the backup, if any. */
async function caughtRun(receiptId: string, { db }: ReplayDeps): Promise<string | undefined> {
  const run = await db.prisma.erasureRun.findUnique({ where: { receiptId }, select: { id: true, state: true } })
  return run && run.state !== 'done' && run.state !== 'held' ? run.id : undefined
}

/** Returns the unfinished run that an earlier replay began for the same subject or part, if any. */
async function begunRun(scope: RunScope, { db }: ReplayDeps): Promise<string | undefined> {
  const subject = 'part' in scope ? nobody : scope.subject
  const part = 'part' in scope ? { partId: scope.part.id, projectId: scope.part.project } : { partId: null }
  const run = await db.prisma.erasureRun.findFirst({
    where: {
      requestedBy,
      state: { notIn: ['done', 'held'] },
      accountId: subject.account,
      ...part,
      agents: { hasEvery: [...subject.agents] },
      participants: { hasEvery: [...(subject.participants ?? [])] },
    },
    select: { id: true },
  })
  return run?.id
}

const newRun = async (scope: RunScope, redacts: boolean, deps: ReplayDeps): Promise<string> =>
  (await begunRun(scope, deps)) ?? beginAgain(scope, redacts, deps)

const beginAgain = (scope: RunScope, redacts: boolean, { db, parts, audit, now }: ReplayDeps): Promise<string> =>
  db.transaction(async (tx) => {
    const part = 'part' in scope ? scope.part : undefined
    // Marked immediately, because erased data must not be readable.
    if (part) await parts.raiseFence(tx, part, now())
    const subject = 'part' in scope ? nobody : scope.subject
    const run = { requestId: null, subject, ...(part && { part }), redacts, requestedBy, reason, now: now() }
    const { runId, receiptId } = await beginRun(tx, run)
    await audit(tx, {
      action: 'delete',
      actorId: requestedBy,
      at: now(),
      ip: '',
      details: { receipt: receiptId },
      resourceType: scopeKindOf(scope),
      resourceId: scopeNameOf(scope),
    })
    return runId
  })

/**
 * Returns the run that erases the subject again: the unfinished run of the backup, or a new one. Undefined when no data
 * came back.
 */
const runFor = async (
  { id, redacts }: SubjectIntent,
  restored: Subject,
  deps: ReplayDeps,
): Promise<string | undefined> =>
  (await caughtRun(id, deps)) ??
  ((await hasRecords(restored, deps)) ? newRun({ subject: restored }, redacts ?? false, deps) : undefined)

/** Executes a run to its end. Returns true when it is done or held. */
async function executeRun(
  receipt: string,
  runId: string,
  report: Replay,
  counted: 'subjects' | 'parts',
  { db, complete }: ReplayDeps,
): Promise<boolean> {
  // A failing run must not stop the replay; its jobs stay in the queue.
  const state = await complete(runId).catch((error: unknown) => {
    logFault(error, { operationId: 'replayErasures', runId })
    return 'erasing' as const
  })
  if (state !== 'done' && state !== 'held') {
    report.unfinished.push({ receipt, run: runId, state })
    return false
  }
  const run = await db.prisma.erasureRun.findUniqueOrThrow({ where: { id: runId }, select: { receiptId: true } })
  if ((await db.prisma.erasure.count({ where: { receiptId: run.receiptId } })) > 0) {
    report.receipts.push(run.receiptId)
    report[counted]++
  }
  return true
}

/** Returns the holds that covered data at that time and that the restored database lacks. */
async function lostHolds(heldBy: readonly string[], { db, holds }: ReplayDeps): Promise<string[]> {
  const known = new Set(await holds.known(db.prisma, heldBy))
  return heldBy.filter((hold) => !known.has(hold))
}

/**
 * The subject of an erasure, with those agents and participations of its account that the erasure put on the suppression list. An
 * intent that was written back from the database names the account only.
 */
const erasedSubject = (
  { scope: { subject }, hashes }: SubjectIntent,
  { db, subjects, suppressions }: ReplayDeps,
): Promise<Subject> =>
  db.transaction(async (tx) => {
    const named = new Set([...subject.agents, ...(subject.participants ?? [])])
    const agents = (await subjects.agentsOf(tx, subject)).filter((id) => !named.has(id))
    const claimed = (await subjects.participantsOf(tx, subject)).filter((id) => !named.has(id))
    const keys = await subjects.participantKeys(tx, claimed)
    const erasedKeys = new Set(await suppressions.matching(tx, hashes, 'participant', [...keys.values()]))
    const participants = [...keys].flatMap(([id, key]) => (erasedKeys.has(key) ? [id] : []))
    return {
      account: subject.account,
      agents: [...subject.agents, ...(await suppressions.matching(tx, hashes, 'agent', agents))].sort(),
      ...participating([...(subject.participants ?? []), ...participants].sort()),
    }
  })

/** Returns true when only held records of the subject remain, so that its receipt can be restored. */
async function replaySubject(intent: SubjectIntent, report: Replay, deps: ReplayDeps): Promise<boolean> {
  const lost = await lostHolds(intent.heldBy, deps)
  const subject = await erasedSubject(intent, deps)
  const { before, since } = await deps.subjects.stored(deps.db.prisma, subject, new Date(intent.at))
  if (lost.length > 0 && !isNobody(before)) {
    report.refused.push({ receipt: intent.id, holds: lost })
    return false
  }
  const runId = await runFor(intent, without(subject, since), deps)
  if (runId === undefined || (await executeRun(intent.id, runId, report, 'subjects', deps))) return true
  await deps.db.transaction((tx) => deps.subjects.restrict(tx, without(subject, since), deps.now()))
  return false
}

/** Like {@link replaySubject}, for a part of a project as it was at its erasure. Later content in it stays. */
async function replayPart(intent: PartIntent, report: Replay, deps: ReplayDeps): Promise<boolean> {
  const restored = await deps.db.transaction((tx) => deps.parts.restored(tx, intent.scope.part, new Date(intent.at)))
  const lost = await lostHolds(intent.heldBy, deps)
  if (lost.length > 0 && restored.length > 0) {
    report.refused.push({ receipt: intent.id, holds: lost })
    return false
  }
  const caught = await caughtRun(intent.id, deps)
  if (caught !== undefined) return executeRun(intent.id, caught, report, 'parts', deps)
  let isWhole = true
  for (const part of restored) {
    const runId = await newRun({ part }, intent.redacts ?? false, deps)
    isWhole = (await executeRun(intent.id, runId, report, 'parts', deps)) && isWhole
  }
  return isWhole
}

/** Repeats each erasure whose data a restored database contains. Returns the erasures of which only records under legal holds remain. */
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
  const restoredStores: RestoredStores = {
    db,
    ledger,
    dataSources,
    words,
    audit,
    now,
    async isHeld(tx, { scope, ...intent }) {
      const { retained } = await planTargetOf(tx, scope, holds, now())
      const projects = 'projects' in intent ? (intent.projects ?? []) : []
      return retained.length > 0 || (await holds.projects(tx, projects, now())).size > 0
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

/** The name of the row with the erased ids that were written back: which source they belonged to is not recorded. */
const writtenBack = 'written.back'

/** The rows of one erasure, as far as the database still knows it. Undefined for a receipt that names nothing. */
async function rowsOf(
  tx: Transaction,
  receiptId: string,
  suppressions: Pick<Suppressions, 'ofRun'>,
): Promise<LedgerRow[] | undefined> {
  const row = await tx.erasure.findUnique({ where: { receiptId } })
  if (!row || row.signedAt === null) return undefined
  const at = row.deletedAt.toISOString()
  const erased = await tx.erasedId.findMany({ where: { receiptId }, select: { id: true, wasPublic: true } })
  const identities = Object.fromEntries(erased.map(({ id, wasPublic }) => [id, wasPublic]))
  const items: LedgerRow[] =
    erased.length === 0 ? [] : [{ kind: 'items', id: receiptId, holder: writtenBack, items: [], identities }]
  const receipt = Receipt.parse(row.receipt)
  const counts = Object.fromEntries(receipt.stores.map(({ holder, deleted }) => [holder, deleted]))
  const commit: LedgerRow = { kind: 'commit', id: receiptId, at: row.signedAt.toISOString(), erased: counts }
  const read = await tx.receiptReading.findUnique({ where: { receiptId } })
  const readings = read ? [readingItems(CompleteReading.parse(read.statement))] : []
  const run = await tx.erasureRun.findUnique({ where: { receiptId } })
  const part = run && runPartOf(run)
  const heldBy = run ? [...new Set((await stepsOf(tx, run.id)).flatMap(({ held }) => Object.keys(held)))].sort() : []
  const redacts = run?.redacts && { redacts: true }
  if (part) {
    const intent = { kind: 'intent', id: receiptId, at, scope: { part }, heldBy, ...redacts } as const
    return [intent, ...items, commit, receiptItems(receipt), ...readings]
  }
  const { subject_kind: kind, deleted_id: id } = receipt
  if (kind !== undefined) {
    const subject = {
      account: kind === 'account' ? id : null,
      agents: kind === 'agent' ? [id] : [],
      ...(kind === 'participant' && { participants: [id] }),
    }
    const hashes = await suppressions.ofRun(tx, run?.id ?? receiptId)
    const intent = { kind: 'intent', id: receiptId, at, scope: { subject }, hashes, heldBy, ...redacts } as const
    return [intent, ...items, commit, receiptItems(receipt), ...readings]
  }
  if (receipt.part_kind !== undefined) return undefined
  const plan = new Map(Object.entries(ReceiptPlan.parse(row.plan)).map(([name, planned]) => [name, planned.items]))
  const wasPublic = identities[row.deletedId] ?? true
  return [recordIntent({ id: receiptId, at, scope: recordScopeOf(row.deletedId), plan, wasPublic }), commit]
}

/**
 * Appends the erasures and suppression keys that the database has and the ledger lacks, for example because an older copy of the ledger
 * is in its place. Only finished erasures count: the others write their own rows. Returns the number of erasures and keys.
 */
export async function writeMissingRows(deps: Pick<ReplayDeps, 'db' | 'ledger' | 'suppressions'>): Promise<number> {
  const { db, ledger } = deps
  // Read before the ledger: an erasure is recorded in the ledger before its receipt is signed.
  const signed = await db.prisma.erasure.findMany({
    where: { state: 'signed' },
    select: { receiptId: true },
    orderBy: { deletedAt: 'asc' },
  })
  const keys = await db.prisma.suppressionKey.findMany({ orderBy: { createdAt: 'asc' } })
  const history = await ledgerHistory(ledger)
  const known = new Set(history.committed.map(({ intent }) => intent.id))
  const knownKeys = new Set(history.keys.map(({ id }) => id))
  let count = 0
  for (const { id, createdAt, sealedKey } of keys) {
    if (knownKeys.has(id)) continue
    const sealed = Buffer.from(sealedKey).toString('base64')
    await ledger.append({ kind: 'key', id, at: createdAt.toISOString(), sealed })
    count++
  }
  for (const { receiptId } of signed) {
    if (known.has(receiptId)) continue
    const rows = await db.transaction((tx) => rowsOf(tx, receiptId, deps.suppressions))
    if (!rows) continue
    for (const row of rows) await ledger.append(row)
    count++
  }
  return count
}
