import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, timeFor } from '#lib/kernel/data-source.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { longestRetry } from '../runs/run-rules.ts'
import { advanceRun, enqueueAgain, lockedRun, planAgain, type RunRow, runChangeOf, stepsOf } from '../runs/runs.ts'
import { writeIntent } from './intents.ts'
import {
  fenceRun,
  gatherWords,
  letGo,
  lockPlannedRun,
  newPlan,
  planAll,
  type RunPlan,
  targetOfRun,
} from './planning.ts'
import { planOf } from './plans.ts'
import type { EngineDeps } from './subject-erasures.ts'
import {
  endWaits,
  faultOf,
  isStillWaiting,
  needing,
  recordRefusal,
  recordWait,
  refusalBy,
  unavailableStore,
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
    changed ||= !(await needing(dataSource.store, () =>
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
  if (!(await needing('ledger', () => fenceRun(runId, deps)))) return undefined
  interrupt('start.fenced')
  const plan = await newPlan(runId, deps)
  if (!plan || plan === 'outdated') return plan
  if (plan.free !== null) await gatherWords(runId, plan.free, deps)
  const made = await planAll(plan, deps)
  if (made !== 'planned') return made
  interrupt('start.planned')
  if (!plan.isRetainedWhole) {
    await needing('ledger', () => writeIntent(plan, deps))
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
export const runStart =
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
