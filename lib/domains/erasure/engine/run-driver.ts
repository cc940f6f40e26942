import { setTimeout as delay } from 'node:timers/promises'
import type { Prisma } from '#generated/prisma/client.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import {
  type ErasureRunFilter,
  type RunState,
  type RunTrouble,
  runTroubles,
  type SubjectErasures,
  unsearchedAfter,
} from '#lib/kernel/erasure-run.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { openRuns } from '../queries.ts'
import { alertAfter, dueSteps, nobody } from '../runs/run-rules.ts'
import {
  beginRun,
  cancelRun,
  enqueueNext,
  enqueueStart,
  lockedRun,
  planAgain,
  type RunRow,
  runViewOf,
  startJob,
  stepJob,
  stepOrderOf,
  verifyJob,
} from '../runs/runs.ts'
import { recordErasures } from './in-request.ts'
import { planLateWrites } from './late-writes.ts'
import { dryRunOf, explainPart, namesAheadOf } from './planning.ts'
import { enqueueRechecks, recheckRun } from './recheck.ts'
import { queuedJobKeys } from './repository.ts'
import { runStart } from './start.ts'
import { runStep } from './steps.ts'
import type { EngineDeps } from './subject-erasures.ts'
import { runVerification } from './verification.ts'
import { alertOfWaits } from './waits.ts'

/** Operations of the worker on runs. */
export interface SubjectEngine extends SubjectErasures {
  /** `start`, `step` and `verify` return true while they wait for a store that does not answer; a later job is then enqueued. */
  start(runId: string): Promise<boolean>
  step(runId: string, dataSource: string): Promise<boolean>
  verify(runId: string): Promise<boolean>
  /**
   * Executes a run as far as possible without waiting: until it is done, held or failed, a step is stuck, or a store
   * does not answer.
   */
  complete(runId: string): Promise<RunState>
  /** Runs the second search of shared stores, if it is due. */
  recheck(runId: string): Promise<void>
  /** Enqueues {@link recheck} for every run that is due. */
  recheckAll(): Promise<void>
  /** Plans a failing run again that a larger run has made redundant. */
  overtaken(runId: string): Promise<void>
  /** Continues runs that have no job in the queue, and held runs whose hold has expired. */
  watch(): Promise<void>
}

async function completeRun(
  db: Database,
  { start, step, verify }: Pick<SubjectEngine, 'start' | 'step' | 'verify'>,
  runId: string,
): Promise<RunState> {
  /** Steps that wait for a store; each is tried once. */
  const waiting = new Set<string>()
  for (let tries = 0; ; tries++) {
    const run = await db.prisma.erasureRun.findUniqueOrThrow({ where: { id: runId }, select: { state: true } })
    if (run.state === 'planning') {
      // A newer plan stops an older one: a random delay lets one of several concurrent planners finish.
      if (tries > 0) await delay(Math.random() * Math.min(250 * 2 ** tries, 4_000))
      if (await start(runId)) return run.state
    } else if (run.state === 'verifying') {
      if (await verify(runId)) return run.state
    } else if (run.state === 'erasing') {
      const turns = dueSteps(await db.transaction((tx) => stepOrderOf(tx, runId)))
      const due = turns.filter(({ holder }) => !waiting.has(holder))
      if (due.length === 0) return run.state
      for (const { holder } of due) if (await step(runId, holder)) waiting.add(holder)
    } else return run.state
  }
}

/** The same conditions as in `openRunCounts` and in the compliance checks. */
const troubled = (trouble: RunTrouble, now: Date): Prisma.ErasureRunWhereInput =>
  ({
    stuck: {
      state: { not: 'done' as const },
      OR: [
        { steps: { some: { state: 'stuck' as const } } },
        {
          state: { in: ['planning' as const, 'verifying' as const] },
          AND: [{ fault: { not: null } }, { fault: { not: 'unavailable' } }],
        },
      ],
    },
    waiting: { waits: { some: { since: { lte: new Date(now.getTime() - alertAfter) } } } },
    residue: { state: 'done' as const, steps: { some: { residue: { gt: 0 } } } },
    unsearched: { recheckAt: { lt: new Date(now.getTime() - unsearchedAfter) } },
  })[trouble]
const isTrouble = (state: string): state is RunTrouble => runTroubles.some((one) => one === state)

/** The condition for runs of a list: in one state or with one trouble, and with an id that begins with the text or a request of `requests`. */
const runsIn = ({ state, search, after, now }: ErasureRunFilter): Prisma.ErasureRunWhereInput => ({
  AND: [
    state === undefined ? {} : isTrouble(state) ? troubled(state, now) : { state },
    search === undefined
      ? {}
      : {
          OR: [
            ...(['id', 'receiptId', 'requestId', 'auditId', 'partId'] as const).map((id) => ({
              [id]: { startsWith: search.text },
            })),
            { requestId: { in: [...search.requests] } },
          ],
        },
    after === undefined ? {} : { OR: [{ createdAt: { lt: after.at } }, { createdAt: after.at, id: { lt: after.id } }] },
  ],
})

const unfinished: RunState[] = ['planning', 'erasing', 'verifying']
/** Number of runs per query. */
const batch = 100

/** Returns a batch of unfinished runs in the order of their ids, after the given id. */
const someUnfinished = (db: Database, after: string): Promise<Pick<RunRow, 'id'>[]> =>
  db.prisma.erasureRun.findMany({
    where: { state: { in: unfinished }, id: { gt: after } },
    select: { id: true },
    orderBy: { id: 'asc' },
    take: batch,
  })

/**
 * Returns the runs that have a job in the queue, waiting or locked by a worker. The queue itself retries the jobs of
 * a dead worker.
 */
async function attended(db: Database): Promise<Set<string>> {
  const rows = await queuedJobKeys(db, { names: [startJob, stepJob, verifyJob] })
  return new Set(rows.map(({ key }) => key.split(':')[1] ?? ''))
}

/** Enqueues the next job of each unfinished run that has none. */
async function continueUnattended(db: Database): Promise<void> {
  const busy = await attended(db)
  for (let after = ''; ; ) {
    const runs = await someUnfinished(db, after)
    for (const { id } of runs)
      if (!busy.has(id))
        await db.transaction(async (tx) => {
          const run = await lockedRun(tx, id, { shared: true })
          if (run) await enqueueNext(tx, run)
        })
    const last = runs.at(-1)
    if (!last || runs.length < batch) return
    after = last.id
  }
}

/** Enqueues the start of each held run that was planned under other holds than the current ones. */
async function startHeldRuns(
  { holds, now }: Pick<EngineDeps, 'holds'> & { now(): Date },
  tx: Transaction,
): Promise<void> {
  const { fingerprint } = await holds.inForce(tx, nobody, now())
  const held = await tx.erasureRun.findMany({
    where: { state: 'held', holdsSeen: { not: fingerprint } },
    select: { id: true },
  })
  for (const { id } of held) await enqueueStart(tx, id)
}

/**
 * Retries a failed run, a run that could not be planned, and stuck steps, or only the given step. Returns false when
 * nothing can be retried.
 */
async function retryRun(tx: Transaction, runId: string, holder?: string): Promise<boolean> {
  const run = await lockedRun(tx, runId)
  if (run?.state === 'failed' && holder === undefined) {
    await tx.erasureRun.update({ where: { id: runId }, data: { rounds: 0, finishedAt: null } })
    await planAgain(tx, runId)
    return true
  }
  if (run?.state === 'planning' && run.fault !== null && holder === undefined) {
    await enqueueStart(tx, runId)
    return true
  }
  // A run that waits for a store retries immediately instead of after half a minute.
  if (run?.state === 'verifying' && run.fault !== null && holder === undefined) {
    await enqueueNext(tx, run)
    return true
  }
  if (run?.state !== 'erasing') return false
  const { count } = await tx.erasureStep.updateMany({
    where: { runId, state: 'stuck', ...(holder !== undefined && { holder }) },
    data: { state: 'waiting', attempts: 0 },
  })
  const isWaiting = holder === undefined && (await tx.erasureWait.count({ where: { runId } })) > 0
  if (count > 0 || isWaiting) await enqueueNext(tx, run)
  return count > 0 || isWaiting
}

/** Erases people and agents: executes runs from the fence to the receipt. */
function subjectEngine(deps: EngineDeps): SubjectEngine {
  const { db, now } = deps
  const start = runStart(deps)
  const step = (runId: string, dataSource: string) => runStep(deps, runId, dataSource)
  const verify = runVerification(deps)
  return {
    async byAudit(auditId, tx = db.prisma) {
      const run = await tx.erasureRun.findUnique({ where: { auditId } })
      return run ? runViewOf(tx, run) : undefined
    },
    explain: (part, now) => explainPart(deps, part, now),
    start,
    step,
    verify,
    recheck: (runId) => recheckRun(deps, runId),
    recheckAll: () => enqueueRechecks(db, now()),
    complete: (runId) => completeRun(db, { start, step, verify }, runId),
    begin: beginRun,
    lock: (tx, runId) => lockedRun(tx, runId),
    resumeHeld: (tx) => startHeldRuns(deps, tx),
    overtaken: (runId) => planLateWrites(db, runId),
    cancel: (tx, runId) => cancelRun(tx, runId, deps),

    dryRun: (subject, now) => dryRunOf(deps, subject, now),
    namesAhead: (subject, options) => namesAheadOf(deps, subject, options),

    async run(runId, tx = db.prisma) {
      const run = await tx.erasureRun.findUnique({ where: { id: runId } })
      return run ? runViewOf(tx, run) : undefined
    },

    async runs({ limit, ...filter }) {
      const records = await db.prisma.erasureRun.findMany({
        where: runsIn(filter),
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        take: limit,
      })
      return Promise.all(records.map((run) => runViewOf(db.prisma, run)))
    },

    open: () => openRuns(db),

    retry: retryRun,
    resume: (runId) => db.transaction((tx) => retryRun(tx, runId)),

    async watch() {
      await continueUnattended(db)
      await alertOfWaits(db, deps.notifyAdmins, now())
      await db.transaction((tx) => startHeldRuns(deps, tx))
    },
  }
}

/**
 * The erasure engine. Its phases are the same for every scope: lock, plan (`planOf`), intent (`intentTime`), erase
 * (`erasePage`), commit, verify (`searchResidue`), receipt (`receiptContent`). Two drivers execute them: `records` in
 * the request that erases a unit or skill, `runs` as jobs for subjects and parts of projects.
 */
export const erasureEngine = (deps: EngineDeps) => ({
  runs: subjectEngine(deps),
  records: recordErasures(deps),
})
