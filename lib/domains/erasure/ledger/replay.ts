import { planTargetOf } from '#lib/domains/erasure/engine/plans.ts'
import type { SubjectErasurePorts } from '#lib/domains/erasure/engine/subject-erasures.ts'
import { scopeKindOf, scopeNameOf } from '#lib/domains/erasure/runs/run-names.ts'
import { isNobody, nobody, participating, type RunScope } from '#lib/domains/erasure/runs/run-rules.ts'
import { beginRun } from '#lib/domains/erasure/runs/runs.ts'
import type { ErasureService } from '#lib/domains/erasure/service.ts'
import type { SuppressionKeys } from '#lib/domains/erasure/suppression/suppression-keys.ts'
import type { AuditRecord, Transaction } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/data-source.ts'
import type { RunState } from '#lib/kernel/erasure-run.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import type { PartIntent, RecordIntent, SubjectIntent } from '#lib/stores/ledger/ledger.ts'
import { type Committed, isOfPart, isOfRecord, isOfSubject, ledgerHistory } from './ledger-history.ts'
import { type ReinstatementDeps, type RunIntent, reason, reinstatement, requestedBy } from './reinstatement.ts'
import { restoredStores, type UnconfirmedErasure } from './restored-stores.ts'

export interface Replay {
  /** Number of erasures that the ledger lists as executed. */
  committed: number
  /** Units and skills that had come back and were erased again. */
  erased: number
  /** People and agents with data that had come back and was erased again. */
  subjects: number
  /** Parts of projects that had come back and were erased again. */
  parts: number
  /** Erasures for which only a connected store had data again; that data was erased. */
  stores: number
  /** Receipts that the restored database lacked and that were restored with their erased ids. */
  reinstated: number
  /**
   * Receipts and suppression keys of the database that the ledger lacks. More than 0 means that this ledger is
   * outdated, so erased data may have come back.
   */
  unknown: number
  /**
   * If lines are damaged: erasures that were started and whose end is neither in the ledger nor in the database. A
   * damaged line may have recorded it.
   */
  uncertain: number
  /** Number of ledger lines with a wrong checksum: cut short by a crash, or changed. */
  damaged: number
  /** Suppression keys that the restored database lacked. */
  keys: number
  /** Receipt ids of the repeated erasures. */
  receipts: string[]
  /** Not erased again, because the restored database lacks legal holds that covered data then. Set these holds again first. */
  refused: { receipt: string; holds: string[] }[]
  /** Runs that have not finished; the worker continues them. */
  unfinished: { run: string; state: RunState }[]
  /** Erasures for which a store did not answer or still has data. Repeat the replay; their receipts are not restored yet. */
  unsearched: UnconfirmedErasure[]
}

export interface ReplayDeps extends ReinstatementDeps {
  holds: SubjectErasurePorts['holds']
  words: SubjectErasurePorts['words']
  parts: Pick<SubjectErasurePorts['parts'], 'raiseFence' | 'restored'>
  /** Returns the locked unit or skill if it exists now and existed at that time. */
  restored(
    tx: Transaction,
    scope: RecordIntent['scope'],
    at: Date,
  ): Promise<{ formerOwner: string; wasPublic: boolean } | undefined>
  records: Pick<ErasureService, 'begin' | 'finish' | 'reinstate'>
  /** Executes a run to its end in this process. */
  complete(runId: string): Promise<RunState>
  keys: Pick<SuppressionKeys, 'restore'>
  audit(tx: Transaction, ...records: readonly AuditRecord[]): Promise<void>
  /** When an admin last stated that a ledger is lost; null if never. A newer ledger contains nothing from before. */
  ledgerLostAt(tx: Transaction): Promise<Date | null>
}

const without = (subject: Subject, gone: Subject): Subject => ({
  account: subject.account === gone.account ? null : subject.account,
  agents: subject.agents.filter((agent) => !gone.agents.includes(agent)),
  ...participating(subject.participants?.filter((id) => !gone.participants?.includes(id))),
})

/**
 * Erases again what a restored backup brought back, and restores lost receipts, erased ids and suppression list entries
 * from the ledger.
 * Ignores intents without a commit, and data that was stored after its erasure. Idempotent.
 */
export function replayErasures(deps: ReplayDeps) {
  const { db, ledger, records, dataSources, holds, subjects, audit, now } = deps
  const reinstate = reinstatement(deps)
  const inStores = restoredStores({
    ...{ db, ledger, dataSources, words: deps.words, audit, now },
    async isHeld(tx, { scope, ...intent }) {
      const { kept } = await planTargetOf(tx, scope, holds, now())
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
      const record = await deps.restored(tx, scope, at)
      if (!record) return undefined
      const wasPublic = record.wasPublic || (intent.wasPublic ?? true)
      const { formerOwner } = record
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
    // The backup may predate the erasure: restore its receipt, and reserve its id again.
    const { plan, wasPublic } = intent
    const isNew = await db.transaction((tx) =>
      records.reinstate(tx, { receiptId: intent.id, deletedId: id, deletedAt: at, plan, wasPublic }),
    )
    if (!isNew) return
    await records.finish(intent.id)
    report.reinstated++
  }

  /** Returns true when a data source finds records of the subject that no current hold covers. */
  const isAnythingLeft = async (subject: Subject): Promise<boolean> => {
    const { free } = await db.transaction((tx) => planTargetOf(tx, { subject }, holds, now()))
    if (free === null) return false
    for (const dataSource of dataSources) if ((await dataSource.residue(free, [], now())) > 0) return true
    return false
  }

  /** Returns the unfinished run that was in the backup, if any. */
  async function caughtRun(receiptId: string): Promise<string | undefined> {
    const run = await db.prisma.erasureRun.findUnique({ where: { receiptId }, select: { id: true, state: true } })
    return run && run.state !== 'done' && run.state !== 'held' ? run.id : undefined
  }
  const newRun = (scope: RunScope, redacts: boolean): Promise<string> =>
    db.transaction(async (tx) => {
      const part = 'part' in scope ? scope.part : undefined
      // Marked immediately, because erased data must not be readable.
      if (part) await deps.parts.raiseFence(tx, part, now())
      const subject = 'part' in scope ? nobody : scope.subject
      const run = { requestId: null, subject, ...(part && { part }), redacts, requestedBy, reason, now: now() }
      const made = await beginRun(tx, run)
      await audited(tx, scopeKindOf(scope), scopeNameOf(scope), made.receiptId)
      return made.runId
    })

  /**
   * Returns the run that erases the subject again: the unfinished run of the backup, or a new one. Undefined when no
   * data came back.
   */
  const runFor = async ({ id, redacts }: SubjectIntent, restored: Subject): Promise<string | undefined> =>
    (await caughtRun(id)) ??
    ((await isAnythingLeft(restored)) ? newRun({ subject: restored }, redacts ?? false) : undefined)

  /** Executes a run to its end. Returns true when it is done or held. */
  async function carriedOut(runId: string, report: Replay, counted: 'subjects' | 'parts'): Promise<boolean> {
    // A failing run must not stop the replay; its jobs stay in the queue.
    const state = await deps.complete(runId).catch((error: unknown) => {
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

  /** Returns the holds that covered data at that time and that the restored database lacks. */
  async function lostHolds(heldBy: readonly string[]): Promise<string[]> {
    const known = new Set(await holds.known(db.prisma, heldBy))
    return heldBy.filter((hold) => !known.has(hold))
  }

  /** Returns true when only held records of the subject remain, so that its receipt can be restored. */
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

  /** Like replaySubject, for a part of a project as it was at its erasure. Later content in it stays. */
  async function replayPart({ intent }: Committed<PartIntent>, report: Replay): Promise<boolean> {
    const restored = await db.transaction((tx) => deps.parts.restored(tx, intent.scope.part, new Date(intent.at)))
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

  /** Returns the erasures whose receipt the database lacks and whose items were searched in all stores. */
  async function lostAmong(
    of: ReadonlyMap<string, Committed<RunIntent>>,
    unsearched: ReadonlySet<string>,
  ): Promise<Map<string, Committed<RunIntent>>> {
    const lost = new Map<string, Committed<RunIntent>>()
    for (const [id, one] of of)
      if (!unsearched.has(id) && (await db.prisma.erasure.count({ where: { receiptId: id } })) === 0) lost.set(id, one)
    return lost
  }

  /** Reads the receipts and suppression keys of the database, except those recorded in a ledger that is declared lost. */
  async function remembered() {
    const lostAt = await deps.ledgerLostAt(db.prisma)
    const receipts = await db.query<{ id: string; is_signed: boolean }>(
      'receipts-remembered',
      `SELECT receipt_id AS id, state = 'signed' AS is_signed FROM erasures WHERE $1::timestamptz IS NULL OR deleted_at > $1`,
      [lostAt],
    )
    const keyIds = await db.query<{ id: string }>(
      'suppression-keys-remembered',
      `SELECT id FROM suppression_keys WHERE $1::timestamptz IS NULL OR created_at > $1`,
      [lostAt],
    )
    const runs = await db.query<{ id: string }>(
      'runs-remembered',
      `SELECT receipt_id AS id FROM erasure_runs WHERE state <> 'done'`,
    )
    return { receipts, keyIds, known: new Set([...receipts, ...runs].map(({ id }) => id)) }
  }

  return async function replay(): Promise<Replay> {
    // Read before the ledger, so that the ledger contains every erasure that starts meanwhile.
    const { receipts, keyIds, known } = await remembered()
    const { committed, uncommitted, keys, damaged } = await ledgerHistory(ledger)
    const [carriedOutThen, keysThen] = [
      new Set(committed.map(({ intent }) => intent.id)),
      new Set(keys.map(({ id }) => id)),
    ]
    // A receipt is signed only after the ledger records the erasure as executed.
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
      // Keys first: without its suppression key, nobody is recognised.
      keys: await deps.keys.restore(keys),
      receipts: [],
      refused: [],
      unfinished: [],
      stores: 0,
      unsearched: [],
    }
    const carriedOutNow = new Map<string, Committed<RunIntent>>()
    // People and agents first: their records are erased with them and need no separate run.
    for (const one of committed.filter(isOfSubject)) {
      // A hold covered the whole subject, so nothing was erased.
      if (isNobody(one.intent.scope.subject)) continue
      if (await replaySubject(one, report)) carriedOutNow.set(one.intent.id, one)
    }
    for (const one of committed.filter(isOfPart))
      if (await replayPart(one, report)) carriedOutNow.set(one.intent.id, one)
    for (const one of committed.filter(isOfRecord)) await replayRecord(one, report)
    // A store that was restored separately, or is newer than the database's backup, can contain erased data that no row
    // refers to.
    const again = await inStores(carriedOutNow)
    report.stores = again.erased.length
    report.unsearched = again.unsearched
    const lost = await lostAmong(carriedOutNow, new Set(again.unsearched.map(({ receipt }) => receipt)))
    await reinstate(lost)
    report.reinstated += lost.size
    return report
  }
}
