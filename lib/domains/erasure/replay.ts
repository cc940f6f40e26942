import type { AuditRecord, Transaction } from '#lib/kernel/context.ts'
import type { RunState } from '#lib/kernel/erasure-run.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import type { Subject } from '#lib/kernel/holder.ts'
import type { PartIntent, RecordIntent, SubjectIntent } from '#lib/stores/ledger/ledger.ts'
import { type Committed, isOfPart, isOfRecord, isOfSubject, ledgerHistory } from './ledger-history.ts'
import { aimAt } from './plans.ts'
import { type ReinstatementParts, type RunIntent, reason, reinstatement, requestedBy } from './reinstatement.ts'
import { restoredStores, type Unsearched } from './restored-stores.ts'
import { kindOf, nameOf } from './run-names.ts'
import { isNobody, nobody, participating, type RunScope } from './run-rules.ts'
import { beginRun } from './runs.ts'
import type { ErasureService } from './service.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'
import type { SuppressionKeys } from './suppression-keys.ts'

export interface Replay {
  /** Erasures that the ledger says were carried out. */
  committed: number
  /** Units and skills that were there again and were erased once more. */
  erased: number
  /** People and agents of whom something was there again and was erased once more. */
  subjects: number
  /** Parts of projects, counted the same. */
  parts: number
  /** Erasures of which only a connected store had something again, which was erased once more. */
  stores: number
  /** Receipts that the restored database did not know, and their erased ids. */
  reinstated: number
  /** Receipts and suppression keys of the database that the ledger does not know: it is not the present one, and what was erased since may have come back. */
  unknown: number
  /** Where lines are damaged: erasures that were begun and of which neither ledger nor database knows the end. A damaged line may have been it. */
  uncertain: number
  /** Lines of the ledger that do not check: cut short by a crash, or changed. */
  damaged: number
  /** Suppression keys that the restored database did not have. */
  keys: number
  /** Receipts of the repeated erasures. */
  receipts: string[]
  /** Not erased again: holds kept something then of which the restored database knows nothing. Set them again first. */
  refused: { receipt: string; holds: string[] }[]
  /** Runs that did not come to their end; the worker goes on with them. */
  unfinished: { run: string; state: RunState }[]
  /** Not looked through, because a store did not answer or still has something: the replay must be repeated. Their receipts are not given back. */
  unsearched: Unsearched[]
}

export interface ReplayParts extends ReinstatementParts {
  holds: SubjectErasurePorts['holds']
  words: SubjectErasurePorts['words']
  parts: Pick<SubjectErasurePorts['parts'], 'seize' | 'restored'>
  /** The unit or skill, locked, if it is stored and was at that time. */
  restored(
    tx: Transaction,
    scope: RecordIntent['scope'],
    at: Date,
  ): Promise<{ formerOwner: string; wasPublic: boolean } | undefined>
  records: Pick<ErasureService, 'begin' | 'finish' | 'reinstate'>
  /** Brings a run to its end, in this process. */
  complete(runId: string): Promise<RunState>
  keys: Pick<SuppressionKeys, 'restore'>
  audit(tx: Transaction, ...records: readonly AuditRecord[]): Promise<void>
}

const without = (subject: Subject, gone: Subject): Subject => ({
  account: subject.account === gone.account ? null : subject.account,
  agents: subject.agents.filter((agent) => !gone.agents.includes(agent)),
  ...participating(subject.participants?.filter((id) => !gone.participants?.includes(id))),
})

/** When the last ledger was lost, as an admin stated: a later one has nothing of before. */
const sinceLost = `coalesce((SELECT max(retired_at) FROM known_stores WHERE port = 'ledger'), '-infinity')`

/**
 * Erases again what the ledger says was erased and a restored backup brought back, and gives back what the database forgot of it: receipts,
 * erased ids, suppression. Intents that never committed are left alone, and so is what was stored after its erasure. Safe to repeat.
 */
export function replayErasures(parts: ReplayParts) {
  const { db, ledger, records, holders, holds, subjects, audit, now } = parts
  const reinstate = reinstatement(parts)
  const inStores = restoredStores({
    ...{ db, ledger, holders, words: parts.words, audit, now },
    async isHeld(tx, { scope, ...intent }) {
      const { kept } = await aimAt(tx, scope, holds, now())
      const projects = 'projects' in intent ? (intent.projects ?? []) : []
      return kept.length > 0 || (await holds.projects(tx, projects, now())).size > 0
    },
  })

  const audited = (tx: Transaction, resourceType: string, resourceId: string, receipt: string) =>
    audit(tx, {
      actorId: requestedBy,
      at: now(),
      ip: '',
      action: 'delete',
      resourceType,
      resourceId,
      details: { receipt },
    })

  async function replayRecord({ intent }: Committed<RecordIntent>, report: Replay): Promise<void> {
    const { scope } = intent
    const id = 'unit' in scope ? scope.unit : scope.skill
    const at = new Date(intent.at)
    const again = await db.transaction(async (tx) => {
      const found = await parts.restored(tx, scope, at)
      if (!found) return undefined
      const wasPublic = found.wasPublic || (intent.wasPublic ?? true)
      const { formerOwner } = found
      const made = await records.begin(tx, {
        scope,
        deletedId: id,
        formerOwner,
        requestedBy,
        reason,
        wasPublic,
        now: now(),
      })
      await audited(tx, 'unit' in scope ? 'knowledge' : 'skill', id, made)
      return made
    })
    if (again !== undefined) {
      await records.finish(again)
      report.receipts.push(again)
      report.erased++
    }
    // The backup knew nothing of the erasure: its receipt must be found, and its id must not be free again.
    const { plan, wasPublic } = intent
    const isNew = await db.transaction((tx) =>
      records.reinstate(tx, { receiptId: intent.id, deletedId: id, deletedAt: at, plan, wasPublic }),
    )
    if (!isNew) return
    await records.finish(intent.id)
    report.reinstated++
  }

  /** Whether a holder finds anything of the subject that no hold of this moment keeps. */
  const isAnythingLeft = async (subject: Subject): Promise<boolean> => {
    const { free } = await db.transaction((tx) => aimAt(tx, { subject }, holds, now()))
    if (free === null) return false
    for (const holder of holders) if ((await holder.residue(free, [], now())) > 0) return true
    return false
  }

  /** A run that the backup caught half way. */
  async function caughtRun(receiptId: string): Promise<string | undefined> {
    const run = await db.prisma.erasureRun.findUnique({ where: { receiptId }, select: { id: true, state: true } })
    return run && run.state !== 'done' && run.state !== 'held' ? run.id : undefined
  }
  const newRun = (scope: RunScope, redacts: boolean): Promise<string> =>
    db.transaction(async (tx) => {
      const part = 'part' in scope ? scope.part : undefined
      // Marked at once: it was erased, and nobody should read it any more.
      if (part) await parts.parts.seize(tx, part, now())
      const subject = 'part' in scope ? nobody : scope.subject
      const run = { requestId: null, subject, ...(part && { part }), redacts, requestedBy, reason, now: now() }
      const made = await beginRun(tx, run)
      await audited(tx, kindOf(scope), nameOf(scope), made.receiptId)
      return made.runId
    })

  /** The run that erases the subject again: one that the backup caught half way, or a new one; none where nothing came back. */
  const runFor = async ({ id, redacts }: SubjectIntent, restored: Subject): Promise<string | undefined> =>
    (await caughtRun(id)) ??
    ((await isAnythingLeft(restored)) ? newRun({ subject: restored }, redacts ?? false) : undefined)

  /** Brings a run to its end; true when it came there. */
  async function carriedOut(runId: string, report: Replay, counted: 'subjects' | 'parts'): Promise<boolean> {
    // One that fails now must not keep the others from being erased; its jobs wait in the queue.
    const state = await parts.complete(runId).catch((error: unknown) => {
      logFault(error, { operationId: 'replayErasures', runId })
      return 'erasing' as const
    })
    if (state !== 'done' && state !== 'held') {
      report.unfinished.push({ run: runId, state })
      return false
    }
    const run = await db.prisma.erasureRun.findUniqueOrThrow({ where: { id: runId }, select: { receiptId: true } })
    if ((await db.prisma.erasure.count({ where: { receiptId: run.receiptId } })) > 0) {
      report.receipts.push(run.receiptId)
      report[counted]++
    }
    return true
  }

  /** Holds that kept something then and that the restored database does not know. */
  async function lostHolds(heldBy: readonly string[]): Promise<string[]> {
    const known = new Set(await holds.known(db.prisma, heldBy))
    return heldBy.filter((hold) => !known.has(hold))
  }

  /** True when nothing of the subject is left but what is held, and its receipt may be given back. */
  async function replaySubject({ intent }: Committed<SubjectIntent>, report: Replay): Promise<boolean> {
    const lost = await lostHolds(intent.heldBy)
    const { subject } = intent.scope
    const { before, since } = await subjects.stored(db.prisma, subject, new Date(intent.at))
    if (lost.length > 0 && !isNobody(before)) {
      report.refused.push({ receipt: intent.id, holds: lost })
      return false
    }
    const runId = await runFor(intent, without(subject, since))
    return runId === undefined || carriedOut(runId, report, 'subjects')
  }

  /** The same for a part of a project: what was there at the time of its erasure. What was said in it since stays. */
  async function replayPart({ intent }: Committed<PartIntent>, report: Replay): Promise<boolean> {
    const restored = await db.transaction((tx) => parts.parts.restored(tx, intent.scope.part, new Date(intent.at)))
    const lost = await lostHolds(intent.heldBy)
    if (lost.length > 0 && restored.length > 0) {
      report.refused.push({ receipt: intent.id, holds: lost })
      return false
    }
    const caught = await caughtRun(intent.id)
    if (caught !== undefined) return carriedOut(caught, report, 'parts')
    let isWhole = true
    for (const part of restored)
      isWhole = (await carriedOut(await newRun({ part }, intent.redacts ?? false), report, 'parts')) && isWhole
    return isWhole
  }

  /** Those whose receipts the database does not know, and whose items were looked for everywhere. */
  async function lostAmong(
    of: ReadonlyMap<string, Committed<RunIntent>>,
    unsearched: ReadonlySet<string>,
  ): Promise<Map<string, Committed<RunIntent>>> {
    const lost = new Map<string, Committed<RunIntent>>()
    for (const [id, one] of of)
      if (!unsearched.has(id) && (await db.prisma.erasure.count({ where: { receiptId: id } })) === 0) lost.set(id, one)
    return lost
  }

  /** Receipts and suppression keys of the database, but for those of a ledger that is stated to be lost. */
  async function remembered() {
    const receipts = await db.query<{ id: string; is_signed: boolean }>(
      'receipts-remembered',
      `SELECT receipt_id AS id, state = 'signed' AS is_signed FROM erasures WHERE deleted_at > ${sinceLost}`,
    )
    const keyIds = await db.query<{ id: string }>(
      'suppression-keys-remembered',
      `SELECT id FROM suppression_keys WHERE created_at > ${sinceLost}`,
    )
    const runs = await db.query<{ id: string }>(
      'runs-remembered',
      `SELECT receipt_id AS id FROM erasure_runs WHERE state <> 'done'`,
    )
    return { receipts, keyIds, known: new Set([...receipts, ...runs].map(({ id }) => id)) }
  }

  return async function replay(): Promise<Replay> {
    // Before the ledger is read: what is begun meanwhile is in it.
    const { receipts, keyIds, known } = await remembered()
    const { committed, uncommitted, keys, damaged } = await ledgerHistory(ledger)
    const [carriedOutThen, keysThen] = [
      new Set(committed.map(({ intent }) => intent.id)),
      new Set(keys.map(({ id }) => id)),
    ]
    // A receipt is signed after its erasure was noted as carried out.
    const isIn = ({ id, is_signed }: { id: string; is_signed: boolean }) =>
      carriedOutThen.has(id) || (!is_signed && uncommitted.has(id))
    const report: Replay = {
      committed: committed.length,
      unknown: receipts.filter((one) => !isIn(one)).length + keyIds.filter(({ id }) => !keysThen.has(id)).length,
      uncertain: damaged === 0 ? 0 : [...uncommitted].filter((id) => !known.has(id)).length,
      erased: 0,
      subjects: 0,
      parts: 0,
      reinstated: 0,
      damaged,
      // First of all: under a key that is lost nobody is recognised.
      keys: await parts.keys.restore(keys),
      receipts: [],
      refused: [],
      unfinished: [],
      stores: 0,
      unsearched: [],
    }
    const carriedOutNow = new Map<string, Committed<RunIntent>>()
    // People and agents first: what was theirs goes with them, and is not erased piece by piece.
    for (const one of committed.filter(isOfSubject)) {
      // Of whom a hold kept everything nothing was erased.
      if (isNobody(one.intent.scope.subject)) continue
      if (await replaySubject(one, report)) carriedOutNow.set(one.intent.id, one)
    }
    for (const one of committed.filter(isOfPart))
      if (await replayPart(one, report)) carriedOutNow.set(one.intent.id, one)
    for (const one of committed.filter(isOfRecord)) await replayRecord(one, report)
    // Stores that were restored by themselves, or are younger than the database's backup: what they have again no row tells any more.
    const again = await inStores(carriedOutNow)
    report.stores = again.erased.length
    report.unsearched = again.unsearched
    const lost = await lostAmong(carriedOutNow, new Set(again.unsearched.map(({ receipt }) => receipt)))
    await reinstate(lost)
    report.reinstated += lost.size
    return report
  }
}
