import { setTimeout as delay } from 'node:timers/promises'
import { addedUp, dueSteps, longestRetry, mostAttempts, restAfter } from '#lib/domains/erasure/runs/run-rules.ts'
import {
  enqueueStep,
  goOn,
  lockedRun,
  planAgain,
  scopeOf,
  stepJob,
  stepOrderOf,
} from '#lib/domains/erasure/runs/runs.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, type ErasureOptions, timeFor } from '#lib/kernel/data-source.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { findLateWrites } from './late-write-search.ts'
import { noteMentions } from './mentions.ts'
import { erasePage, identitiesOf } from './pages.ts'
import { planTargetOf } from './plans.ts'
import { lockStep, lockStepEnds, openPage } from './repository.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'
import { talliedUp } from './tallies.ts'
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

export interface StepDeps extends SubjectErasurePorts {
  db: Database
  ledger: Ledger
  dataSources: readonly DataSource[]
  now(): Date
}

/** Milliseconds of system time that one job erases before it yields to other jobs. */
const turn = 20_000

/**
 * `later`: other runs already try its unavailable store; `page`: erased a page, more follow; `all`: no page remains;
 * `holds`: the holds changed since the plan; `over`: nothing to do.
 */
type Outcome = 'later' | 'page' | 'all' | 'holds' | 'over'

const needsDecision = (error: unknown): boolean => Problem.is(error) && error.extensions.needsDecision === true

/** Executes the step of one data source. Each page has its own transaction, so that its deletion and its count are atomic. */
export function runStep(deps: StepDeps) {
  const { db, dataSources, holds, now, interrupt } = deps
  const look = findLateWrites(deps)
  /** The stores that a step needs: its own, and for stages that delete rows also the ledger and the stores of derived data. */
  const needed = ({ store, stage }: DataSource): string[] =>
    stage === 'derived' ? [store] : [store, 'ledger', ...dataSources.filter(({ late }) => late).map((one) => one.store)]

  async function nextPage(tx: Transaction, runId: string, dataSource: DataSource): Promise<Outcome> {
    const run = await lockedRun(tx, runId, { shared: true })
    if (run?.state !== 'erasing') return 'over'
    const [counted] = await lockStep(tx, { runId, holder: dataSource.name })
    // A job of an older plan may run before its step is due; it is enqueued again when the step is due.
    const isDue = dueSteps(await stepOrderOf(tx, runId)).some((one) => one.holder === dataSource.name)
    if (!isDue || !counted) return 'over'
    if (counted.fault === 'unavailable' && (await isStillWaiting(tx, runId, dataSource.store, now()))) {
      await enqueueStep(tx, runId, dataSource.name, { wait: longestRetry })
      return 'later'
    }
    const { fingerprint, free } = await planTargetOf(tx, scopeOf(run), holds, now())
    if (fingerprint !== run.holdsSeen) return 'holds'
    const [page, next] = await tx.erasurePage.findMany({
      where: { runId, holder: dataSource.name, erasedAt: null },
      orderBy: { page: 'asc' },
      take: 2,
    })
    if (!page) return 'all'
    // A plan under the same holds has no pages for a subject that they cover.
    if (free === null)
      throw new Error(`legal holds cover all of ${runId}, but ${dataSource.name} has a step that erases records`)
    const { items, isWatched } = page
    const key = `${runId}:${dataSource.name}:${page.page}:${run.planId}`
    const words = dataSource.isShared ? await deps.words.of(tx, runId) : undefined
    const options: ErasureOptions = {
      ...{ key, redacts: run.redacts, isWatched, round: run.rounds, now: now() },
      ...(words && { words, addWords: (texts: readonly string[]) => deps.words.add(tx, runId, texts) }),
    }
    const identities = await identitiesOf(tx, dataSource, items)
    const erased = await erasePage(tx, dataSource, {
      ...{ scope: free, items, identities, receiptId: run.receiptId, options },
    })
    const results = { ...erased.results, ...(await talliedUp(tx, runId, dataSource.name, erased)) }
    const { mentions } = erased
    await noteMentions(tx, runId, mentions)
    await tx.erasurePage.update({
      where: { runId_holder_page: { runId, holder: dataSource.name, page: page.page } },
      data: { erasedAt: now() },
    })
    await tx.erasureStep.update({
      where: { runId_holder: { runId, holder: dataSource.name } },
      data: {
        state: 'running',
        erased: { increment: isWatched ? 0 : items.length - (erased.retained ?? 0) },
        results: addedUp([counted.results, results]),
        startedAt: counted.startedAt ?? now(),
        fault: null,
      },
    })
    if (counted.fault !== null) await endWaits(tx, runId, needed(dataSource))
    interrupt(`step.${dataSource.name}.inside`)
    return next ? 'page' : 'all'
  }

  const finish = (runId: string, holder: string): Promise<void> =>
    db.transaction(async (tx) => {
      // Steps that end concurrently take turns, so that the last one knows that it is the last. This lock precedes the
      // run's lock, which a page of another step may hold for as long as its store takes: waiting for it would count as
      // a failure.
      await lockStepEnds(tx, runId)
      const others = (await stepOrderOf(tx, runId)).filter(
        (one) => one.holder !== holder && one.state !== 'done',
      ).length
      // The last step changes the run: no other step has open pages.
      const run = await lockedRun(tx, runId, { shared: others > 0 })
      if (run?.state !== 'erasing') return
      // Another worker may have planned again meanwhile; then there are open pages again.
      const open = await openPage(tx, { runId, holder })
      if (open.length > 0) return enqueueStep(tx, runId, holder)
      const { count } = await tx.erasureStep.updateMany({
        where: { runId, holder, state: { in: ['waiting', 'running'] } },
        data: { state: 'done', finishedAt: now(), fault: null },
      })
      if (count > 0) await goOn(tx, run, deps, now(), holder)
    })

  const planUnderNewHolds = (runId: string): Promise<void> =>
    db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'erasing') return
      const { fingerprint } = await planTargetOf(tx, scopeOf(run), holds, now())
      if (fingerprint !== run.holdsSeen) await planAgain(tx, runId)
    })

  /** Counts a failure. Returns true when the step is now stuck. */
  const noteFault = (runId: string, holder: string, error: unknown): Promise<boolean> =>
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
  const wait = (runId: string, holder: string, store: string): Promise<boolean> =>
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
  async function erase(runId: string, dataSource: DataSource): Promise<boolean> {
    interrupt(`step.${dataSource.name}.before`)
    if (dataSource.stage !== 'derived' && (await look(runId))) return false
    const until = performance.now() + turn
    let outcome: Outcome
    for (;;) {
      const began = performance.now()
      outcome = await needing(dataSource.store, () =>
        db.transaction((tx) => nextPage(tx, runId, dataSource), timeFor(dataSource)),
      )
      const ended = performance.now()
      if (outcome !== 'page' || ended >= until) break
      await delay(restAfter(ended - began, dataSource.stage))
    }
    if (outcome === 'page') await db.transaction((tx) => enqueueStep(tx, runId, dataSource.name))
    if (outcome === 'all') await finish(runId, dataSource.name)
    if (outcome === 'holds') await planUnderNewHolds(runId)
    interrupt(`step.${dataSource.name}.after`)
    return outcome === 'later'
  }

  /**
   * Idempotent and safe to run concurrently. Returns true while the step waits for a store; a later job is then
   * enqueued. Rethrows the error of the data source, so that the queue retries, until the step is stuck.
   */
  return async function step(runId: string, name: string): Promise<boolean> {
    const dataSource = dataSources.find((one) => one.name === name)
    try {
      if (!dataSource) throw new Error(`no data source is called ${name}`)
      return await erase(runId, dataSource)
    } catch (error) {
      const store = unavailableStore(error, dataSource?.store ?? name)
      // If the database does not answer, nothing can be recorded, and the queue retries.
      if (store !== undefined)
        return wait(runId, name, store).catch(() => {
          throw error
        })
      // If the database failed, the failure is not counted here; the queue counts its own attempts.
      const isStuck = await noteFault(runId, name, error).catch(() => false)
      if (!isStuck) throw error
      logFault(error, { job: stepJob, runId, holder: name, state: 'stuck' })
      return false
    }
  }
}
