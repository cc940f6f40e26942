import { setTimeout as delay } from 'node:timers/promises'
import { mostAttempts, restAfter } from '#lib/domains/erasure/runs/run-rules.ts'
import {
  enqueueStep,
  goOn,
  lockedRun,
  planAgain,
  scopeOf,
  stepJob,
  stepOrderOf,
} from '#lib/domains/erasure/runs/runs.ts'
import { type DataSource, timeFor } from '#lib/kernel/data-source.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { findLateWrites } from './late-write-search.ts'
import { planTargetOf } from './plans.ts'
import { lockStepEnds, openPage } from './repository.ts'
import { eraseNextPage, type PageOutcome, type StepDeps } from './step-pages.ts'
import { faultOf, needing, recordRefusal, recordWait, refusalBy, unavailableStore } from './waits.ts'

/** Milliseconds of system time that one job erases before it yields to other jobs. */
const turn = 20_000

const needsDecision = (error: unknown): boolean => Problem.is(error) && error.extensions.needsDecision === true

/** Ends a step without open pages, and continues the run. */
const finish = (deps: StepDeps, runId: string, holder: string): Promise<void> =>
  deps.db.transaction(async (tx) => {
    // Steps that end concurrently take turns, so that the last one knows that it is the last. This lock precedes the
    // run's lock, which a page of another step may hold for as long as its store takes: waiting for it would count as
    // a failure.
    await lockStepEnds(tx, runId)
    const others = (await stepOrderOf(tx, runId)).filter((one) => one.holder !== holder && one.state !== 'done').length
    // The last step changes the run: no other step has open pages.
    const run = await lockedRun(tx, runId, { shared: others > 0 })
    if (run?.state !== 'erasing') return
    // Another worker may have planned again meanwhile; then there are open pages again.
    const open = await openPage(tx, { runId, holder })
    if (open.length > 0) return enqueueStep(tx, runId, holder)
    const { count } = await tx.erasureStep.updateMany({
      where: { runId, holder, state: { in: ['waiting', 'running'] } },
      data: { state: 'done', finishedAt: deps.now(), fault: null },
    })
    if (count > 0) await goOn(tx, run, deps, deps.now(), holder)
  })

/** Plans the run again if legal holds changed since its plan. */
const planUnderNewHolds = ({ db, holds, now }: StepDeps, runId: string): Promise<void> =>
  db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId)
    if (run?.state !== 'erasing') return
    const { fingerprint } = await planTargetOf(tx, scopeOf(run), holds, now())
    if (fingerprint !== run.holdsSeen) await planAgain(tx, runId)
  })

/** Counts a failure. Returns true when the step is now stuck. */
const noteFault = ({ db, now }: StepDeps, runId: string, holder: string, error: unknown): Promise<boolean> =>
  db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId, { shared: true })
    const where = { runId, holder, state: { in: ['waiting' as const, 'running' as const] } }
    if (run?.state !== 'erasing') return false
    await tx.erasureStep.updateMany({
      where,
      data: { attempts: { increment: 1 }, fault: faultOf(error) },
    })
    const refused = refusalBy(error, 'postgresql')
    if (refused) await recordRefusal(tx, runId, refused, now())
    const { count } = await tx.erasureStep.updateMany({
      // A retry cannot replace an admin's decision.
      where: needsDecision(error) ? where : { ...where, attempts: { gte: mostAttempts } },
      data: { state: 'stuck' },
    })
    return count > 0
  })

/**
 * Records that the step waits for an unavailable store. That is no failure, and is retried however long it takes.
 * Returns false when the step is over.
 */
const wait = ({ db, now }: StepDeps, runId: string, holder: string, store: string): Promise<boolean> =>
  db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId, { shared: true })
    if (run?.state !== 'erasing') return false
    const { count } = await tx.erasureStep.updateMany({
      where: { runId, holder, state: { in: ['waiting', 'running'] } },
      data: { fault: 'unavailable' },
    })
    if (count === 0) return false
    await enqueueStep(tx, runId, holder, { wait: await recordWait(tx, runId, store, now()) })
    return true
  })

/** Returns true while the step waits for a store. */
async function eraseForATurn(deps: StepDeps, runId: string, dataSource: DataSource): Promise<boolean> {
  const { db, interrupt } = deps
  interrupt(`step.${dataSource.name}.before`)
  if (dataSource.stage !== 'derived' && (await findLateWrites(deps, runId))) return false
  const until = performance.now() + turn
  let outcome: PageOutcome
  for (;;) {
    const began = performance.now()
    outcome = await needing(dataSource.store, () =>
      db.transaction((tx) => eraseNextPage(deps, tx, runId, dataSource), timeFor(dataSource)),
    )
    const ended = performance.now()
    if (outcome !== 'page' || ended >= until) break
    await delay(restAfter(ended - began, dataSource.stage))
  }
  if (outcome === 'page') await db.transaction((tx) => enqueueStep(tx, runId, dataSource.name))
  if (outcome === 'all') await finish(deps, runId, dataSource.name)
  if (outcome === 'holds') await planUnderNewHolds(deps, runId)
  interrupt(`step.${dataSource.name}.after`)
  return outcome === 'later'
}

/**
 * Executes the step of one data source. Each page has its own transaction, so that its deletion and its count are atomic.
 * Idempotent and safe to run concurrently. Returns true while the step waits for a store; a later job is then
 * enqueued. Rethrows the error of the data source, so that the queue retries, until the step is stuck.
 */
export async function runStep(deps: StepDeps, runId: string, name: string): Promise<boolean> {
  const dataSource = deps.dataSources.find((one) => one.name === name)
  try {
    if (!dataSource) throw new Error(`no data source is called ${name}`)
    return await eraseForATurn(deps, runId, dataSource)
  } catch (error) {
    const store = unavailableStore(error, dataSource?.store ?? name)
    // If the database does not answer, nothing can be recorded, and the queue retries.
    if (store !== undefined)
      return wait(deps, runId, name, store).catch(() => {
        throw error
      })
    // If the database failed, the failure is not counted here; the queue counts its own attempts.
    const isStuck = await noteFault(deps, runId, name, error).catch(() => false)
    if (!isStuck) throw error
    logFault(error, { job: stepJob, runId, holder: name, state: 'stuck' })
    return false
  }
}
