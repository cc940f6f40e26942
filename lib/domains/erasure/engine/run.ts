import { setTimeout as delay } from 'node:timers/promises'
import type { Prisma } from '#generated/prisma/client.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, timeFor } from '#lib/kernel/data-source.ts'
import {
  type ErasureRunFilter,
  type RunState,
  type RunTrouble,
  runTroubles,
  type SubjectErasures,
  unsearchedAfter,
} from '#lib/kernel/erasure-run.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { openRuns } from '../queries.ts'
import { alertAfter, dueSteps, longestRetry, nobody } from '../runs/run-rules.ts'
import {
  advanceRun,
  beginRun,
  cancelRun,
  enqueueAgain,
  enqueueNext,
  enqueueStart,
  lockedRun,
  planAgain,
  type RunRow,
  runChangeOf,
  runViewOf,
  startJob,
  stepJob,
  stepOrderOf,
  stepsOf,
  verifyJob,
} from '../runs/runs.ts'
import type { EngineDeps } from './dependencies.ts'
import { runStep } from './erase.ts'
import { recordErasures } from './in-request.ts'
import { writeIntent } from './intent.ts'
import { planOf } from './plan.ts'
import { enqueueRechecks, recheckRun } from './recheck.ts'
import { queuedJobKeys } from './repository.ts'
import {
  dryRunOf,
  explainPart,
  fenceRun,
  gatherWords,
  letGo,
  lockPlannedRun,
  namesAheadOf,
  newPlan,
  planAll,
  planLateWrites,
  type RunPlan,
  targetOfRun,
} from './run-plan.ts'
import { runVerification } from './verify.ts'
import {
  alertOfWaits,
  endWaits,
  faultOf,
  isStillWaiting,
  recordRefusal,
  recordWait,
  refusalBy,
  unavailableStore,
  withStore,
} from './waits.ts'

/** Each hold that is set meanwhile makes the plan outdated. After this many plans, the queue retries later. */
const maxPlans = 10

/** Enqueues the first steps, after the plan and the ledger intent are written. */
const startSteps = (plan: RunPlan, deps: EngineDeps): Promise<'off' | 'outdated' | undefined> =>
  deps.db.transaction(async (tx) => {
    const run = await lockPlannedRun(tx, plan, deps)
    if (!run || run === 'outdated') return run
    const at = deps.now()
    await tx.erasureRun.update({ where: { id: run.id }, data: { state: 'erasing', plannedAt: at, fault: null } })
    if (run.fault !== null) await endWaits(tx, run.id)
    await deps.onChange(tx, runChangeOf(run, await stepsOf(tx, run.id), 'erasing', at))
    await advanceRun(tx, run, deps, at)
    return 'off'
  })

/** Records the fault that prevents the planning of the run. */
const noteFault = (runId: string, error: unknown, { db, now }: EngineDeps) =>
  db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId)
    if (run?.state !== 'planning') return
    await tx.erasureRun.update({ where: { id: runId }, data: { fault: faultOf(error) } })
    const refused = refusalBy(error, 'postgresql')
    if (refused) await recordRefusal(tx, runId, refused, now())
  })

/**
 * An unavailable store is no failure: planning is retried however long it takes. Returns false when there is nothing to
 * plan.
 */
const wait = (runId: string, store: string, { db, now }: EngineDeps): Promise<boolean> =>
  db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId)
    if (run?.state !== 'planning' && run?.state !== 'held') return false
    if (run.state === 'planning') await tx.erasureRun.update({ where: { id: runId }, data: { fault: 'unavailable' } })
    await enqueueAgain(tx, run, { wait: await recordWait(tx, runId, store, now()) })
    return true
  })

/** Returns true when enough other runs already try the store that this run waits for; a later job is then enqueued. */
const isLater = (runId: string, { db, now }: EngineDeps): Promise<boolean> =>
  db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId)
    if (run?.state !== 'planning' || !(await isStillWaiting(tx, runId, null, now()))) return false
    await enqueueAgain(tx, run, { wait: longestRetry })
    return true
  })

/** Sets the run to held without erasing anything. It is planned again when the holds end. */
const holdRun = (plan: RunPlan, deps: EngineDeps): Promise<'aside' | 'outdated' | undefined> =>
  deps.db.transaction(async (tx) => {
    const run = await lockPlannedRun(tx, plan, deps)
    if (!run || run === 'outdated') return run
    const at = deps.now()
    await letGo(tx, run, deps, at)
    await endWaits(tx, run.id)
    await tx.erasureRun.update({
      where: { id: run.id },
      data: { state: 'held', fencedAt: null, plannedAt: at, finishedAt: at, fault: null },
    })
    await deps.onChange(tx, { ...runChangeOf(run, await stepsOf(tx, run.id), 'held', at), isRetainedWhole: true })
    return 'aside'
  })

/** Returns a held run whose holds have changed since its plan. */
async function changedHolds(tx: Transaction, runId: string, deps: EngineDeps) {
  const run: RunRow | undefined = await lockedRun(tx, runId)
  if (run?.state !== 'held') return undefined
  const target = await targetOfRun(tx, run, deps)
  return target.fingerprint === run.holdsSeen ? undefined : { target, steps: await stepsOf(tx, runId) }
}

/** Returns true when a held run has something to erase under the current holds. Otherwise records the holds that it saw. */
async function continuesUnderHolds(runId: string, deps: EngineDeps): Promise<boolean> {
  const { db, dataSources, now } = deps
  const found = await db.transaction((tx) => changedHolds(tx, runId, deps))
  if (!found) return false
  const { target, steps } = found
  const isAsBefore = async (tx: Transaction, dataSource: DataSource): Promise<boolean> => {
    const { items, held } = await planOf(dataSource, target, tx, now())
    const before = steps.find((step) => step.holder === dataSource.name)?.held ?? {}
    return items.length === 0 && isSame(held, before)
  }
  let changed = false
  for (const dataSource of dataSources)
    changed ||= !(await withStore(dataSource.store, () =>
      db.transaction((tx) => isAsBefore(tx, dataSource), timeFor(dataSource)),
    ))
  await db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId)
    if (run?.state !== 'held') return
    if (changed) await planAgain(tx, runId)
    else {
      await tx.erasureRun.update({ where: { id: runId }, data: { holdsSeen: target.fingerprint } })
      await endWaits(tx, runId)
    }
  })
  return changed
}

const isSame = (one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>): boolean =>
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([hold, count]) => other[hold] === count)

/** Executes the phases before the first step under the current holds. Returns `outdated` when they changed meanwhile. */
async function planOnce(runId: string, deps: EngineDeps): Promise<'outdated' | undefined> {
  const { interrupt } = deps
  // The fence may need a new suppression key, which is appended to the ledger.
  if (!(await withStore('ledger', () => fenceRun(runId, deps)))) return undefined
  interrupt('start.fenced')
  const plan = await newPlan(runId, deps)
  if (!plan || plan === 'outdated') return plan
  if (plan.free !== null) await gatherWords(runId, plan.free, deps)
  const made = await planAll(plan, deps)
  if (made !== 'planned') return made
  interrupt('start.planned')
  if (!plan.isRetainedWhole) {
    await withStore('ledger', () => writeIntent(plan, deps))
    interrupt('start.intent')
  }
  if ((await (plan.isRetainedWhole ? holdRun : startSteps)(plan, deps)) === 'outdated') return 'outdated'
  interrupt('start.after')
  return undefined
}

/** Returns true while the run waits for a store. */
async function startRun(runId: string, deps: EngineDeps): Promise<boolean> {
  const { db, interrupt } = deps
  const run = await db.prisma.erasureRun.findUnique({ where: { id: runId }, select: { state: true, fault: true } })
  if (run?.state === 'held' && !(await continuesUnderHolds(runId, deps))) return false
  if (run?.fault === 'unavailable' && (await isLater(runId, deps))) return true
  interrupt('start.before')
  for (let tries = 0; tries < maxPlans; tries++) if ((await planOnce(runId, deps)) !== 'outdated') return false
  throw new Problem(
    'unavailable',
    'Legal holds changed while the erasure was planned. The erasure is planned again later.',
  )
}

/**
 * Starts a run, or a new plan of it: fence, plan, ledger intent, first steps. Nothing is erased before the intent is on
 * disk. After a crash at any point, repeating the start is safe.
 *
 * Idempotent and safe to run concurrently. Returns true while the ledger or a store does not answer: nothing is erased
 * then, and a later job is enqueued.
 * @throws Problem `unavailable` when the database does not answer
 */
const runStart =
  (deps: EngineDeps) =>
  async (runId: string): Promise<boolean> => {
    try {
      return await startRun(runId, deps)
    } catch (error) {
      const store = unavailableStore(error, 'postgresql')
      if (store !== undefined)
        return wait(runId, store, deps).catch(() => {
          throw error
        })
      // If the database failed, the fault cannot be recorded in it.
      await noteFault(runId, error, deps).catch(() => undefined)
      throw error
    }
  }

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
