import { forgetReadWords } from '#lib/domains/erasure/reading/waiting.ts'
import { recheckAfter, recheckAgainAfter } from '#lib/domains/erasure/runs/run-rules.ts'
import { waitingJob } from '#lib/domains/erasure/runs/runs.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { lockDueRun, type RecheckDeps, searchStoreAgain } from './recheck-store.ts'
import { endWaits, needing, recordRefusal, recordWait, refusalBy, unavailableStore } from './waits.ts'

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

/** Enqueues the next try. The search stays due, however long the store is unavailable. */
const enqueueRetry = (deps: RecheckDeps, runId: string, store: string): Promise<void> =>
  deps.db.transaction(async (tx) => {
    if (!(await lockDueRun(deps, tx, runId))) return
    const next = { wait: await recordWait(tx, runId, store, deps.now()) }
    await enqueue(tx, recheckJob, { runId }, { key: `${recheckJob}:${runId}`, ...waitingJob(next) })
  })

/** Notifies admins of a store that rejects requests. The queue retries with growing intervals, and the search stays due. */
const noteRefusal = (deps: RecheckDeps, runId: string, error: unknown): Promise<void> =>
  deps.db.transaction(async (tx) => {
    const refused = refusalBy(error, 'postgresql')
    if (refused && (await lockDueRun(deps, tx, runId))) await recordRefusal(tx, runId, refused, deps.now())
  })

/** Sets when the next search is due. After a search that found nothing, the ids and the words of the run are deleted. */
const endSearch = (deps: RecheckDeps, runId: string, { found, left }: { found: number; left: number }): Promise<void> =>
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

async function searchStores(deps: RecheckDeps, runId: string): Promise<void> {
  const { db, dataSources, interrupt } = deps
  if (!(await db.transaction((tx) => lockDueRun(deps, tx, runId)))) return
  interrupt('recheck.before')
  let found = 0
  let left = 0
  for (const dataSource of dataSources.filter(({ isShared }) => isShared)) {
    const one = await needing(dataSource.store, () => searchStoreAgain(deps, runId, dataSource))
    found += one.found
    left += one.left
  }
  interrupt('recheck.searched')
  // The stores' own data about the pages is deleted before the ids that identify it.
  if (found === 0)
    for (const dataSource of dataSources) await needing(dataSource.store, async () => dataSource.forget?.(runId))
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
export async function recheckRun(deps: RecheckDeps, runId: string): Promise<void> {
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
