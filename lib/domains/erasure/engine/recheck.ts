import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, type ErasureOptions, erasedOf, timeFor } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { nobody, type RunScope, recheckAfter, recheckAgainAfter } from '../runs/run-rules.ts'
import { lockedRun, type RunRow, scopeOf, waitingJob } from '../runs/runs.ts'
import { logRepeatedDeletion } from '../writes.ts'
import type { EngineDeps } from './dependencies.ts'
import { noteMentions } from './plan.ts'
import {
  endWaits,
  faultOf,
  forgetReadWords,
  recordRefusal,
  recordWait,
  refusalBy,
  unavailableStore,
  withStore,
} from './waits.ts'

export const recheckJob = 'erasure.recheck-run'

/** Enqueues a job for each run with a due second search; a job that already waits is not duplicated. */
export async function enqueueRechecks(db: Database, now: Date): Promise<void> {
  const due = await db.prisma.erasureRun.findMany({
    where: { state: 'done', recheckAt: { lte: now } },
    select: { id: true },
    orderBy: { recheckAt: 'asc' },
  })
  for (const { id } of due)
    await db.transaction((tx) => enqueue(tx, recheckJob, { runId: id }, { key: `${recheckJob}:${id}` }))
}

const nobodys: RunScope = { subject: nobody }

/** Returns the locked run if its second search is due. A search under a legal hold is postponed until the hold ends. */
async function lockDueRun({ holds, now }: EngineDeps, tx: Transaction, runId: string): Promise<RunRow | undefined> {
  const run = await lockedRun(tx, runId)
  if (run?.state !== 'done' || run.recheckAt === null || run.recheckAt > now()) return undefined
  const scope = scopeOf(run)
  // Of an erased subject, only the projects are still known.
  await holds.lock(tx, now())
  const projects = 'part' in scope ? [scope.part.project] : run.projects
  if ((await holds.projects(tx, projects, now())).size > 0) {
    const recheckAt = new Date(now().getTime() + recheckAgainAfter)
    await tx.erasureRun.update({ where: { id: runId }, data: { recheckAt } })
    return undefined
  }
  return run
}

/** Returns the items that no current record uses. */
export async function withoutReused(
  tx: Transaction,
  dataSource: DataSource,
  items: readonly string[],
  now: Date,
): Promise<string[]> {
  const reused = new Set((await dataSource.reused?.(items, tx, now)) ?? [])
  return items.filter((item) => !reused.has(item))
}

/**
 * Erases one page again, and counts and logs the deletions in the same transaction. Returns the threads that cannot
 * be rewritten.
 */
const erasePageAgain = (
  deps: EngineDeps,
  runId: string,
  dataSource: DataSource,
  page: { page: number; items: string[] },
  all: () => Promise<readonly string[]>,
): Promise<readonly string[]> =>
  deps.db.transaction(async (tx) => {
    const run = await lockDueRun(deps, tx, runId)
    if (!run) return []
    const now = deps.now()
    // The key differs for each search but stays the same until this commits, so that the store neither skips nor
    // counts a deletion twice.
    const key = `${runId}:${dataSource.name}:${page.page}:late:${run.recheckAt?.getTime()}:${run.lateFound}`
    const words = await deps.words.of(tx, runId)
    const projects = await deps.words.projectsOf(tx, runId)
    const options: ErasureOptions = { key, redacts: run.redacts, round: 1, projects, all, now, ...(words && { words }) }
    const items = await withoutReused(tx, dataSource, page.items, now)
    const { count, results, mentions, unreadable = [] } = erasedOf(await dataSource.erase(nobodys, items, tx, options))
    await noteMentions(tx, runId, mentions)
    if (count === 0) return unreadable
    await tx.erasureRun.update({ where: { id: runId }, data: { lateFound: { increment: count } } })
    await logRepeatedDeletion(tx, deps.audit, {
      scope: scopeOf(run),
      receiptId: run.receiptId,
      actorId: 'system:erasure.recheck',
      reason: run.reason,
      holder: dataSource.name,
      count,
      countedAs: 'late',
      results,
      at: now,
    })
    deps.interrupt(`recheck.${dataSource.name}.inside`)
    return unreadable
  }, timeFor(dataSource))

/**
 * Searches one store for the erased items of a run, and erases what it finds. Returns the number of records before and
 * after the deletion.
 */
async function searchStoreAgain(
  deps: EngineDeps,
  runId: string,
  dataSource: DataSource,
): Promise<{ found: number; left: number }> {
  const { db, now } = deps
  const where = { runId, holder: dataSource.name }
  try {
    const pages = await db.prisma.erasurePage.findMany({
      where: { ...where, erasedAt: { not: null } },
      select: { page: true, items: true },
      orderBy: { page: 'asc' },
    })
    const all = pages.flatMap((page) => page.items)
    const items = await db.transaction((tx) => withoutReused(tx, dataSource, all, now()))
    const words = await db.transaction((tx) => deps.words.of(tx, runId))
    // The count is stored before the deletion, so that a repeated search after a crash counts the same pages.
    const before = (await db.prisma.erasureStep.findFirst({ where, select: { residue: true } }))?.residue ?? 0
    const found = items.length === 0 ? 0 : before + (await dataSource.residue(nobodys, items, now(), words))
    if (found > 0) await db.prisma.erasureStep.updateMany({ where, data: { residue: found } })
    const unreadable: string[] = []
    if (found > 0)
      for (const page of pages)
        unreadable.push(...(await erasePageAgain(deps, runId, dataSource, page, async () => items)))
    const left = found === 0 ? 0 : await dataSource.residue(nobodys, items, now(), words)
    // The step names the thread that keeps the search due. It is searched every hour until the thread is readable or deleted.
    const [thread] = unreadable
    const fault = left > 0 && thread !== undefined ? `conflict:${thread}` : null
    await db.prisma.erasureStep.updateMany({ where, data: { residue: left, fault } })
    return { found, left }
  } catch (error) {
    // The search stays due, and the step reports the fault until the store answers.
    await db.prisma.erasureStep.updateMany({ where, data: { fault: faultOf(error) } })
    throw error
  }
}

/** Enqueues the next try. The search stays due, however long the store is unavailable. */
const enqueueRetry = (deps: EngineDeps, runId: string, store: string): Promise<void> =>
  deps.db.transaction(async (tx) => {
    if (!(await lockDueRun(deps, tx, runId))) return
    const next = { wait: await recordWait(tx, runId, store, deps.now()) }
    await enqueue(tx, recheckJob, { runId }, { key: `${recheckJob}:${runId}`, ...waitingJob(next) })
  })

/** Notifies admins of a store that rejects requests. The queue retries with growing intervals, and the search stays due. */
const noteRefusal = (deps: EngineDeps, runId: string, error: unknown): Promise<void> =>
  deps.db.transaction(async (tx) => {
    const refused = refusalBy(error, 'postgresql')
    if (refused && (await lockDueRun(deps, tx, runId))) await recordRefusal(tx, runId, refused, deps.now())
  })

/** Sets when the next search is due. After a search that found nothing, the ids and the words of the run are deleted. */
const endSearch = (deps: EngineDeps, runId: string, { found, left }: { found: number; left: number }): Promise<void> =>
  deps.db.transaction(async (tx) => {
    if (!(await lockDueRun(deps, tx, runId))) return
    const now = deps.now()
    const after = left > 0 ? recheckAgainAfter : found > 0 ? recheckAfter : undefined
    const recheckAt = after === undefined ? null : new Date(now.getTime() + after)
    await tx.erasureRun.update({
      where: { id: runId },
      data: { recheckAt, recheckedAt: now },
    })
    await endWaits(tx, runId)
    if (recheckAt !== null) return
    await tx.erasurePage.deleteMany({ where: { runId } })
    await forgetReadWords(tx, runId, deps)
  })

async function searchStores(deps: EngineDeps, runId: string): Promise<void> {
  const { db, dataSources, interrupt } = deps
  if (!(await db.transaction((tx) => lockDueRun(deps, tx, runId)))) return
  interrupt('recheck.before')
  let found = 0
  let left = 0
  for (const dataSource of dataSources.filter(({ isShared }) => isShared)) {
    const one = await withStore(dataSource.store, () => searchStoreAgain(deps, runId, dataSource))
    found += one.found
    left += one.left
  }
  interrupt('recheck.searched')
  // The stores' own data about the pages is deleted before the ids that identify it.
  if (found === 0)
    for (const dataSource of dataSources) await withStore(dataSource.store, async () => dataSource.forget?.(runId))
  await endSearch(deps, runId, { found, left })
  interrupt('recheck.after')
}

/**
 * The second search of a run. Some stores accept late writes past every fence: a late episode, or a late `put` of an
 * erased thread.
 * The search uses only the erased ids, because the subject is forgotten by now. Found records are erased, counted and
 * logged, and the store is searched again a day later, until a search finds nothing. Only then are the ids deleted.
 * Idempotent. While a store does not answer, a later job is enqueued.
 */
export async function recheckRun(deps: EngineDeps, runId: string): Promise<void> {
  try {
    await searchStores(deps, runId)
  } catch (error) {
    const store = unavailableStore(error, 'postgresql')
    if (store === undefined) {
      await noteRefusal(deps, runId, error).catch(() => undefined)
      throw error
    }
    await enqueueRetry(deps, runId, store).catch(() => {
      throw error
    })
  }
}
