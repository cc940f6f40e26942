import { setTimeout as delay } from 'node:timers/promises'
import type { Transaction } from '#lib/kernel/context.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { type DataHolder, erasedOf, type Manner, timeFor } from '#lib/kernel/holder.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { lastLook } from './last-look.ts'
import { noteMentions } from './mentions.ts'
import { aimAt } from './plans.ts'
import { addedUp, dueSteps, longestRetry, mostAttempts, restAfter } from './run-rules.ts'
import { enqueueStep, goOn, lockedRun, planAgain, scopeOf, stepJob, turnsOf } from './runs.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'
import { talliedUp } from './tallies.ts'
import {
  endWaits,
  faultOf,
  leavesAsking,
  needing,
  recordRefusal,
  recordWait,
  refusalBy,
  unavailableStore,
} from './waits.ts'

export interface StepParts extends SubjectErasurePorts {
  db: Database
  ledger: Ledger
  holders: readonly DataHolder[]
  now(): Date
}

/** How long one job erases before it lets others have their turn, in milliseconds of system time. */
const turn = 20_000

/** `later`: others ask its store, which does not answer; `page`: one more is erased; `all`: none is left; `holds`: others are in force than the plan knew; `over`: there is nothing to do here. */
type Outcome = 'later' | 'page' | 'all' | 'holds' | 'over'

const needsDecision = (error: unknown): boolean => Problem.is(error) && error.extensions.needsDecision === true

/** One holder's step: page by page, each its own transaction, so that a page is erased and counted or neither. */
export function runStep(parts: StepParts) {
  const { db, holders, holds, now, interrupt } = parts
  const look = lastLook(parts)
  /** The stores that a step asks: its own, and where rows go those of derived data and the ledger. */
  const needed = ({ store, stage }: DataHolder): string[] =>
    stage === 'derived' ? [store] : [store, 'ledger', ...holders.filter(({ late }) => late).map((one) => one.store)]

  async function nextPage(tx: Transaction, runId: string, holder: DataHolder): Promise<Outcome> {
    const run = await lockedRun(tx, runId, { shared: true })
    if (run?.state !== 'erasing') return 'over'
    // Two workers of one step take turns: each finds the pages that the other left.
    const [counted] = await queryWithin<{
      results: Record<string, number>
      startedAt: Date | null
      fault: string | null
    }>(
      tx,
      'erasure-step-lock',
      'SELECT results, started_at AS "startedAt", fault FROM erasure_steps WHERE run_id = $1 AND holder = $2 FOR UPDATE',
      [runId, holder.name],
    )
    // A job of an older plan may come before the turn of its step; it is enqueued again when that comes.
    const isDue = dueSteps(await turnsOf(tx, runId)).some((one) => one.holder === holder.name)
    if (!isDue || !counted) return 'over'
    if (counted.fault === 'unavailable' && (await leavesAsking(tx, runId, holder.store, now()))) {
      await enqueueStep(tx, runId, holder.name, { wait: longestRetry })
      return 'later'
    }
    const { fingerprint, free } = await aimAt(tx, scopeOf(run), holds, now())
    if (fingerprint !== run.holdsSeen) return 'holds'
    const [page, next] = await tx.erasurePage.findMany({
      where: { runId, holder: holder.name, erasedAt: null },
      orderBy: { page: 'asc' },
      take: 2,
    })
    if (!page) return 'all'
    // A plan that was made under the same holds has no pages of whom they keep.
    if (free === null) throw new Error(`holds keep all of ${runId}, and ${holder.name} is to erase some of it`)
    const { items, isWatched } = page
    await keepIdentities(tx, run.receiptId, holder, items)
    const key = `${runId}:${holder.name}:${page.page}:${run.planId}`
    const words = holder.isShared ? await parts.words.of(tx, runId) : undefined
    const manner: Manner = {
      ...{ key, redacts: run.redacts, isWatched, round: run.rounds, now: now() },
      ...(words && { words, addWords: (texts: readonly string[]) => parts.words.add(tx, runId, texts) }),
    }
    const erased = erasedOf(await holder.erase(free, items, tx, manner))
    const results = { ...erased.results, ...(await talliedUp(tx, runId, holder.name, erased)) }
    const { mentions } = erased
    await noteMentions(tx, runId, mentions)
    await tx.erasurePage.update({
      where: { runId_holder_page: { runId, holder: holder.name, page: page.page } },
      data: { erasedAt: now() },
    })
    await tx.erasureStep.update({
      where: { runId_holder: { runId, holder: holder.name } },
      data: {
        state: 'running',
        erased: { increment: isWatched ? 0 : items.length - (erased.retained ?? 0) },
        results: addedUp([counted.results, results]),
        startedAt: counted.startedAt ?? now(),
        fault: null,
      },
    })
    if (counted.fault !== null) await endWaits(tx, runId, needed(holder))
    interrupt(`step.${holder.name}.inside`)
    return next ? 'page' : 'all'
  }

  /** What an erased record was called is never taken again. */
  async function keepIdentities(tx: Transaction, receiptId: string, holder: DataHolder, items: readonly string[]) {
    const known = (await holder.identities?.(items, tx)) ?? []
    if (known.length === 0) return
    const erasedAt = now()
    await tx.erasedId.createMany({
      data: known.map(({ id, wasPublic }) => ({ id, receiptId, erasedAt, wasPublic })),
      skipDuplicates: true,
    })
  }

  const finish = (runId: string, holder: string): Promise<void> =>
    db.transaction(async (tx) => {
      // Steps that end at once take turns, so that the last one sees that it is. Before the run's own lock, which a page of another step holds
      // for as long as its store takes: to wait for that one, too, would count as a failure of this one.
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`erasure step ends ${runId}`}, 0))`
      const others = (await turnsOf(tx, runId)).filter((one) => one.holder !== holder && one.state !== 'done').length
      // The last one changes the run: no other step has a page any more.
      const run = await lockedRun(tx, runId, { shared: others > 0 })
      if (run?.state !== 'erasing') return
      // Another worker may have planned again since: then there are pages once more.
      const open = await queryWithin(
        tx,
        'erasure-open-page',
        'SELECT 1 FROM erasure_pages WHERE run_id = $1 AND holder = $2 AND erased_at IS NULL LIMIT 1',
        [runId, holder],
      )
      if (open.length > 0) return enqueueStep(tx, runId, holder)
      const { count } = await tx.erasureStep.updateMany({
        where: { runId, holder, state: { in: ['waiting', 'running'] } },
        data: { state: 'done', finishedAt: now(), fault: null },
      })
      if (count > 0) await goOn(tx, run, parts, now(), holder)
    })

  const planUnderNewHolds = (runId: string): Promise<void> =>
    db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'erasing') return
      const { fingerprint } = await aimAt(tx, scopeOf(run), holds, now())
      if (fingerprint !== run.holdsSeen) await planAgain(tx, runId)
    })

  /** Counts a failure; true when it was the last that the step may have. */
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
        // Trying again decides nothing.
        where: needsDecision(error) ? where : { ...where, attempts: { gte: mostAttempts } },
        data: { state: 'stuck' },
      })
      return count > 0
    })

  /** The step waits for a store that does not answer: that is no failure of it, and is tried again however long it takes. False where the step is over. */
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

  /** True while the step waits for a store. */
  async function erase(runId: string, holder: DataHolder): Promise<boolean> {
    interrupt(`step.${holder.name}.before`)
    if (holder.stage !== 'derived' && (await look(runId))) return false
    const until = performance.now() + turn
    let outcome: Outcome
    for (;;) {
      const began = performance.now()
      outcome = await needing(holder.store, () => db.transaction((tx) => nextPage(tx, runId, holder), timeFor(holder)))
      const ended = performance.now()
      if (outcome !== 'page' || ended >= until) break
      await delay(restAfter(ended - began, holder.stage))
    }
    if (outcome === 'page') await db.transaction((tx) => enqueueStep(tx, runId, holder.name))
    if (outcome === 'all') await finish(runId, holder.name)
    if (outcome === 'holds') await planUnderNewHolds(runId)
    interrupt(`step.${holder.name}.after`)
    return outcome === 'later'
  }

  /**
   * Safe to repeat, and beside another. True while it waits for a store, in which case a later job is enqueued. Throws what the holder threw,
   * so that the queue tries again, until the step is stuck.
   */
  return async function step(runId: string, name: string): Promise<boolean> {
    const holder = holders.find((one) => one.name === name)
    try {
      if (!holder) throw new Error(`there is no holder ${name}`)
      return await erase(runId, holder)
    } catch (error) {
      const store = unavailableStore(error, holder?.store ?? name)
      // Where the database is what does not answer, nothing can be recorded, and the queue tries again.
      if (store !== undefined)
        return wait(runId, name, store).catch(() => {
          throw error
        })
      // Where the database is what failed, the failure is not counted, and the queue's own count goes on.
      const isStuck = await noteFault(runId, name, error).catch(() => false)
      if (!isStuck) throw error
      logFault(error, { job: stepJob, runId, holder: name, state: 'stuck' })
      return false
    }
  }
}
