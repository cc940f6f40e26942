import { setTimeout as delay } from 'node:timers/promises'
import type { Transaction } from '#lib/kernel/context.ts'
import {
  type DataSource,
  type Erased,
  type ErasureOptions,
  erasedOf,
  type ItemId,
  needsWords,
  timeFor,
} from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { preferIndexes } from '#lib/stores/postgres/personal-tables.ts'
import { addedUp, attemptLimit, dueSteps, longestRetry, type RunScope, restAfter, stageAt } from '../runs/run-rules.ts'
import {
  advanceRun,
  enqueueNext,
  enqueueStep,
  lockedRun,
  planAgain,
  type RunRow,
  scopeOf,
  stepJob,
  stepOrderOf,
  stepsOf,
} from '../runs/runs.ts'
import type { EngineDeps } from './dependencies.ts'
import { erasedItems, insertItems, noteMentions, type PlanTarget, planTargetOf } from './plan.ts'
import {
  firstOpenPage,
  insertErasedIds,
  lockStep,
  lockStepEnds,
  markPageErased,
  openPage,
  tally,
} from './repository.ts'
import {
  endWaits,
  faultOf,
  isStillWaiting,
  recordRefusal,
  recordWait,
  refusalBy,
  unavailableStore,
  withStore,
} from './waits.ts'

/** An id that can never be used again. */
interface ErasedIdentity {
  id: string
  /** Whether others could have copied the record. If so, a tombstone tells them to delete their copies. */
  wasPublic: boolean
}

/** Blocks the ids of erased records. Idempotent. */
export async function reserveIds(
  tx: Transaction,
  receiptId: string,
  identities: readonly ErasedIdentity[],
  erasedAt: Date,
): Promise<void> {
  if (identities.length === 0) return
  const idsOf = (isPublic: boolean) => identities.flatMap(({ id, wasPublic }) => (wasPublic === isPublic ? [id] : []))
  await insertErasedIds(tx, { receiptId, erasedAt, ids: idsOf(false), publicIds: idsOf(true) })
}

/** Returns the ids of existing records among the items. */
export const identitiesOf = async (
  tx: Transaction,
  dataSource: DataSource,
  items: readonly ItemId[],
): Promise<ErasedIdentity[]> => (await dataSource.identities?.(items, tx)) ?? []

export interface ErasedPage {
  scope: ErasureScope
  items: readonly ItemId[]
  /** The ids of the records to erase, unless they are already blocked. */
  identities: readonly ErasedIdentity[]
  receiptId: string
  options: ErasureOptions
}

/**
 * Erases a page of items of one data source in the caller's transaction, after the ledger contains them, and blocks the
 * ids of the erased records.
 */
export async function erasePage(
  tx: Transaction,
  dataSource: DataSource,
  { scope, items, identities, receiptId, options }: ErasedPage,
): Promise<Erased> {
  await reserveIds(tx, receiptId, identities, options.now)
  return erasedOf(await dataSource.erase(scope, items, tx, options))
}

/** Milliseconds of system time that one job erases before it yields to other jobs. */
const turn = 20_000

const needsDecision = (error: unknown): boolean => Problem.is(error) && error.extensions.needsDecision === true

/**
 * `later`: other runs already try its unavailable store; `page`: erased a page, more follow; `all`: no page remains;
 * `holds`: the holds changed since the plan; `over`: nothing to do.
 */
type PageOutcome = 'later' | 'page' | 'all' | 'holds' | 'over'

/** The stores that a step needs: its own, and for stages that delete rows also the ledger and the stores of derived data. */
const storesOf = ({ store, stage }: DataSource, dataSources: readonly DataSource[]): string[] =>
  stage === 'derived' ? [store] : [store, 'ledger', ...dataSources.filter(({ late }) => late).map((one) => one.store)]

/**
 * Returns how much a page changes each tallied count: ids of earlier pages are not counted again, and ids that were
 * deleted since are subtracted.
 */
async function talliedUp(
  tx: Transaction,
  runId: string,
  holder: string,
  { tallies = {} }: Pick<Erased, 'tallies'>,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const changed = Object.entries(tallies).filter(([, { met, gone }]) => met.length + gone.length > 0)
  if (changed.length > 0) await preferIndexes(tx)
  for (const [name, { met, gone, isOfParts = false }] of changed) {
    const [row] = await tally(tx, { runId, holder, name, met, gone }, isOfParts ? 'parts' : 'ids')
    counts[name] = row?.n ?? 0
  }
  return counts
}

/**
 * The items of all pages of a step. Read when a page needs them, and once for all pages of a turn: a person may have hundreds of thousands.
 * `of` names the plan and the round, which change the pages.
 */
type AllItems = (tx: Transaction, of: string) => Promise<readonly ItemId[]>
function allItemsOf(where: { runId: string; holder: string }): AllItems {
  let known: { of: string; items: readonly ItemId[] } | undefined
  return async (tx, of) => {
    if (known?.of !== of) {
      const pages = await tx.erasurePage.findMany({ where, select: { items: true } })
      known = { of, items: pages.flatMap(({ items }) => items) }
    }
    return known.items
  }
}

/** Erases the next page of a step in the given transaction, which also counts it. */
async function eraseNextPage(
  deps: EngineDeps,
  tx: Transaction,
  runId: string,
  dataSource: DataSource,
  allItems: AllItems,
): Promise<PageOutcome> {
  const { dataSources, holds, now, interrupt } = deps
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
  const [page] = await firstOpenPage(tx, { runId, holder: dataSource.name })
  if (!page) return 'all'
  // A plan under the same holds has no pages for a subject that they cover.
  if (free === null)
    throw new Error(`legal holds cover all of ${runId}, but ${dataSource.name} has a step that erases records`)
  const { items, isWatched } = page
  const key = `${runId}:${dataSource.name}:${page.page}:${run.planId}`
  const words = needsWords(dataSource) ? await deps.words.of(tx, runId) : undefined
  // In a repeated round the rows may be gone, and a page does not have the search terms of the other pages.
  const projects = words ? await deps.words.projectsOf(tx, runId) : undefined
  const isRepeated = run.rounds > 0 && needsWords(dataSource)
  const options: ErasureOptions = {
    key,
    redacts: run.redacts,
    isWatched,
    round: run.rounds,
    now: now(),
    ...(projects && { projects }),
    ...(isRepeated && { all: () => allItems(tx, `${run.planId}:${run.rounds}`) }),
    ...(words && { words, addWords: (texts: readonly string[]) => deps.words.add(tx, runId, texts) }),
  }
  const identities = await identitiesOf(tx, dataSource, items)
  const erased = await erasePage(tx, dataSource, {
    scope: free,
    items,
    identities,
    receiptId: run.receiptId,
    options,
  })
  const results = { ...erased.results, ...(await talliedUp(tx, runId, dataSource.name, erased)) }
  const { mentions } = erased
  await noteMentions(tx, runId, mentions)
  await markPageErased(tx, { runId, holder: dataSource.name, page: page.page, now: now() })
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
  if (counted.fault !== null) await endWaits(tx, runId, storesOf(dataSource, dataSources))
  interrupt(`step.${dataSource.name}.inside`)
  return page.hasNext ? 'page' : 'all'
}

/** Ends a step without open pages, and continues the run. */
const finish = (deps: EngineDeps, runId: string, holder: string): Promise<void> =>
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
    if (count > 0) await advanceRun(tx, run, deps, deps.now(), holder)
  })

/** Plans the run again if legal holds changed since its plan. */
const planUnderNewHolds = ({ db, holds, now }: EngineDeps, runId: string): Promise<void> =>
  db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId)
    if (run?.state !== 'erasing') return
    const { fingerprint } = await planTargetOf(tx, scopeOf(run), holds, now())
    if (fingerprint !== run.holdsSeen) await planAgain(tx, runId)
  })

/** Counts a failure. Returns true when the step is now stuck. */
const noteFault = ({ db, now }: EngineDeps, runId: string, holder: string, error: unknown): Promise<boolean> =>
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
      where: needsDecision(error) ? where : { ...where, attempts: { gte: attemptLimit } },
      data: { state: 'stuck' },
    })
    return count > 0
  })

/**
 * Records that the step waits for an unavailable store. That is no failure, and is retried however long it takes.
 * Returns false when the step is over.
 */
const wait = ({ db, now }: EngineDeps, runId: string, holder: string, store: string): Promise<boolean> =>
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

interface LateWrites {
  dataSource: DataSource
  items: ItemId[]
}

/** Maximum number of times the search sends a run back. Verification finds continuous writers by their ids. */
const maxLooks = 2

/** Returns the run, and the scope that it may erase, if none of its rows has been deleted yet. */
async function lockErasingRun(
  { holds, now }: EngineDeps,
  tx: Transaction,
  runId: string,
): Promise<{ run: RunRow; free: RunScope } | undefined> {
  const run = await lockedRun(tx, runId, { shared: true })
  if (run?.state !== 'erasing' || run.rounds >= maxLooks) return undefined
  const rows = (await stepsOf(tx, runId)).filter(({ position }) => stageAt(position) !== 'derived')
  if (rows.some(({ startedAt }) => startedAt !== null)) return undefined
  const { fingerprint, free }: PlanTarget = await planTargetOf(tx, scopeOf(run), holds, now())
  return free === null || fingerprint !== run.holdsSeen ? undefined : { run, free }
}

async function search({ db, dataSources, now }: EngineDeps, free: RunScope): Promise<LateWrites[]> {
  const found: LateWrites[] = []
  for (const dataSource of dataSources.filter(({ late }) => late)) {
    const search = async (tx: Transaction) => (await dataSource.late?.(free, tx, now())) ?? []
    const items = await withStore(dataSource.store, () => db.transaction(search, timeFor(dataSource)))
    if (items.length > 0) found.push({ dataSource, items })
  }
  return found
}

/** Adds the items to the plan of the run. */
const sendBack = (db: Database, known: RunRow, found: readonly LateWrites[]): Promise<void> =>
  db.transaction(async (tx) => {
    const run = await lockedRun(tx, known.id)
    if (run?.state !== 'erasing' || run.planId !== known.planId) return
    for (const { dataSource, items } of found) {
      const before = await erasedItems(tx, run.id, dataSource.name)
      // Items that were erased before and exist again are already counted.
      await insertItems(tx, run.id, dataSource, {
        items: items.filter((item) => !before.has(item)),
        watched: items.filter((item) => before.has(item)),
      })
    }
    await tx.erasureRun.update({ where: { id: run.id }, data: { rounds: { increment: 1 } } })
    await enqueueNext(tx, run)
  })

/**
 * Searches again for derived data and late writes just before the first rows are deleted. The search needs the erased
 * words, which are unknown after the deletion.
 * Found items are added to the plan and erased first. Steps may have waited for hours since the plan was made.
 * Returns true when items were found and the run continues with them.
 * @throws StoreUnavailable when a store does not answer
 */
async function findLateWrites(deps: EngineDeps, runId: string): Promise<boolean> {
  const { db, ledger, interrupt } = deps
  const record = await db.transaction((tx) => lockErasingRun(deps, tx, runId))
  if (!record) return false
  interrupt('last-look.before')
  const late = await search(deps, record.free)
  if (late.length === 0) return false
  // The ledger must know an item before it is erased.
  for (const { dataSource, items } of late)
    await withStore('ledger', () =>
      ledger.append({ kind: 'items', id: record.run.receiptId, holder: dataSource.name, items }),
    )
  await sendBack(db, record.run, late)
  interrupt('last-look.after')
  return true
}

/** Returns true while the step waits for a store. */
async function eraseForATurn(deps: EngineDeps, runId: string, dataSource: DataSource): Promise<boolean> {
  const { db, interrupt } = deps
  interrupt(`step.${dataSource.name}.before`)
  if (dataSource.stage !== 'derived' && (await findLateWrites(deps, runId))) return false
  const until = performance.now() + turn
  const allItems = allItemsOf({ runId, holder: dataSource.name })
  let outcome: PageOutcome
  for (;;) {
    const began = performance.now()
    outcome = await withStore(dataSource.store, () =>
      db.transaction((tx) => eraseNextPage(deps, tx, runId, dataSource, allItems), timeFor(dataSource)),
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
export async function runStep(deps: EngineDeps, runId: string, name: string): Promise<boolean> {
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
