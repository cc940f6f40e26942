import { recordDeletion } from '#lib/domains/erasure/deletion-log.ts'
import { namedInLog, scopeKindOf, scopeNameOf } from '#lib/domains/erasure/runs/run-names.ts'
import { nobody, type RunScope, recheckAfter, recheckAgainAfter } from '#lib/domains/erasure/runs/run-rules.ts'
import { lockedRun, type RunRow, scopeOf, waitingJob } from '#lib/domains/erasure/runs/runs.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, type ErasureOptions, timeFor } from '#lib/kernel/data-source.ts'
import { erasedOf } from '#lib/kernel/erased.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { noteMentions } from './mentions.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'
import { endWaits, faultOf, needing, recordRefusal, recordWait, refusalBy, unavailableStore } from './waits.ts'

export interface RecheckDeps extends SubjectErasurePorts {
  db: Database
  dataSources: readonly DataSource[]
  now(): Date
}
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

/**
 * The second search of a run. Some stores accept late writes past every fence: a late episode, or a late `put` of an
 * erased thread.
 * The search uses only the erased ids, because the subject is forgotten by now. Found records are erased, counted and
 * logged, and the store is searched again a day later, until a search finds nothing. Only then are the ids deleted.
 */
export function runRecheck(deps: RecheckDeps) {
  const { db, dataSources, holds, now, interrupt } = deps
  const nobodys: RunScope = { subject: nobody }

  const pagesOf = (runId: string, holder: string) =>
    db.prisma.erasurePage.findMany({
      where: { runId, holder, erasedAt: { not: null } },
      select: { page: true, items: true },
      orderBy: { page: 'asc' },
    })

  /** Returns the locked run if its second search is due. A search under a legal hold is postponed until the hold ends. */
  async function due(tx: Transaction, runId: string): Promise<RunRow | undefined> {
    const run = await lockedRun(tx, runId)
    if (run?.state !== 'done' || run.recheckAt === null || run.recheckAt > now()) return undefined
    const scope = scopeOf(run)
    // Of an erased subject, only the projects are still known.
    await holds.lock(tx)
    const projects = 'part' in scope ? [scope.part.project] : run.projects
    if ((await holds.projects(tx, projects, now())).size > 0) {
      await tx.erasureRun.update({ where: { id: runId }, data: { recheckAt: later(recheckAgainAfter) } })
      return undefined
    }
    return run
  }
  const later = (after: number): Date => new Date(now().getTime() + after)

  /** Returns the items that no current record uses. */
  const own = (dataSource: DataSource, items: readonly string[]): Promise<string[]> =>
    db.transaction(async (tx) => {
      const others = new Set((await dataSource.reused?.(items, tx, now())) ?? [])
      return items.filter((item) => !others.has(item))
    })

  /**
   * Erases one page again, and counts and logs the deletions in the same transaction. Returns the threads that cannot
   * be rewritten.
   */
  const erasePage = (
    runId: string,
    dataSource: DataSource,
    page: { page: number; items: string[] },
  ): Promise<readonly string[]> =>
    db.transaction(async (tx) => {
      const run = await due(tx, runId)
      if (!run) return []
      // The key differs for each search but stays the same until this commits, so that the store neither skips nor
      // counts a deletion twice.
      const key = `${runId}:${dataSource.name}:${page.page}:late:${run.recheckAt?.getTime()}:${run.lateFound}`
      const words = await deps.words.of(tx, runId)
      const options: ErasureOptions = { key, redacts: run.redacts, round: 1, now: now(), ...(words && { words }) }
      const others = new Set((await dataSource.reused?.(page.items, tx, now())) ?? [])
      const items = page.items.filter((item) => !others.has(item))
      const {
        count,
        results,
        mentions,
        unreadable = [],
      } = erasedOf(await dataSource.erase(nobodys, items, tx, options))
      await noteMentions(tx, runId, mentions)
      if (count === 0) return unreadable
      await tx.erasureRun.update({ where: { id: runId }, data: { lateFound: { increment: count } } })
      await record(tx, run, dataSource.name, count, results)
      interrupt(`recheck.${dataSource.name}.inside`)
      return unreadable
    }, timeFor(dataSource))

  /** Logs the deletion. An erased person or agent is no longer known, so the entry names the receipt. */
  async function record(tx: Transaction, run: RunRow, holder: string, late: number, results: Record<string, number>) {
    const actorId = 'system:erasure.recheck'
    const scope = scopeOf(run)
    const isPart = 'part' in scope
    const at = now()
    await recordDeletion(tx, {
      requestedBy: actorId,
      reason: run.reason,
      scope: isPart ? namedInLog(scope) : { receipt: run.receiptId },
      results: { [holder]: late, ...results },
      now: at,
    })
    await deps.audit(tx, {
      action: 'delete',
      actorId,
      resourceType: isPart ? scopeKindOf(scope) : 'receipt',
      resourceId: isPart ? scopeNameOf(scope) : run.receiptId,
      at,
      ip: '',
      details: { receipt: run.receiptId, holder, late },
    })
  }

  /** Searches one store. Returns the number of records before and after the deletion. */
  async function search(runId: string, dataSource: DataSource): Promise<{ found: number; left: number }> {
    try {
      const where = { runId, holder: dataSource.name }
      const pages = await pagesOf(runId, dataSource.name)
      const items = await own(
        dataSource,
        pages.flatMap((page) => page.items),
      )
      const words = await db.transaction((tx) => deps.words.of(tx, runId))
      // The count is stored before the deletion, so that a repeated search after a crash counts the same pages.
      const before = (await db.prisma.erasureStep.findFirst({ where, select: { residue: true } }))?.residue ?? 0
      const found = items.length === 0 ? 0 : before + (await dataSource.residue(nobodys, items, now(), words))
      if (found > 0) await db.prisma.erasureStep.updateMany({ where, data: { residue: found } })
      const unreadable: string[] = []
      if (found > 0) for (const page of pages) unreadable.push(...(await erasePage(runId, dataSource, page)))
      const left = found === 0 ? 0 : await dataSource.residue(nobodys, items, now(), words)
      // The step names the thread that keeps the search due. It is searched every hour until the thread is readable or deleted.
      const [thread] = unreadable
      const fault = left > 0 && thread !== undefined ? `conflict:${thread}` : null
      await db.prisma.erasureStep.updateMany({ where, data: { residue: left, fault } })
      return { found, left }
    } catch (error) {
      // The search stays due, and the step reports the fault until the store answers.
      await db.prisma.erasureStep.updateMany({
        where: { runId, holder: dataSource.name },
        data: { fault: faultOf(error) },
      })
      throw error
    }
  }

  /** Enqueues the next try. The search stays due, however long the store is unavailable. */
  const wait = (runId: string, store: string): Promise<void> =>
    db.transaction(async (tx) => {
      if (!(await due(tx, runId))) return
      const next = { wait: await recordWait(tx, runId, store, now()) }
      await enqueue(tx, recheckJob, { runId }, { key: `${recheckJob}:${runId}`, ...waitingJob(next) })
    })

  /** Notifies admins of a store that rejects requests. The queue retries with growing intervals, and the search stays due. */
  const noteRefusal = (runId: string, error: unknown): Promise<void> =>
    db.transaction(async (tx) => {
      const refused = refusalBy(error, 'postgresql')
      if (refused && (await due(tx, runId))) await recordRefusal(tx, runId, refused, now())
    })

  async function searchAll(runId: string): Promise<void> {
    if (!(await db.transaction((tx) => due(tx, runId)))) return
    interrupt('recheck.before')
    let found = 0
    let left = 0
    for (const dataSource of dataSources.filter(({ isShared }) => isShared)) {
      const one = await needing(dataSource.store, () => search(runId, dataSource))
      found += one.found
      left += one.left
    }
    interrupt('recheck.searched')
    // The stores' own data about the pages is deleted before the ids that identify it.
    if (found === 0)
      for (const dataSource of dataSources) await needing(dataSource.store, async () => dataSource.forget?.(runId))
    await db.transaction(async (tx) => {
      if (!(await due(tx, runId))) return
      const recheckAt = left > 0 ? later(recheckAgainAfter) : found > 0 ? later(recheckAfter) : null
      await tx.erasureRun.update({
        where: { id: runId },
        data: { recheckAt, recheckedAt: now(), ...(recheckAt === null && { projects: [] }) },
      })
      await endWaits(tx, runId)
      if (recheckAt !== null) return
      await tx.erasurePage.deleteMany({ where: { runId } })
      await deps.words.forget(tx, runId)
    })
    interrupt('recheck.after')
  }

  /** Idempotent. While a store does not answer, a later job is enqueued. */
  return async function recheck(runId: string): Promise<void> {
    try {
      await searchAll(runId)
    } catch (error) {
      const store = unavailableStore(error, 'postgresql')
      if (store === undefined) {
        await noteRefusal(runId, error).catch(() => undefined)
        throw error
      }
      await wait(runId, store).catch(() => {
        throw error
      })
    }
  }
}
