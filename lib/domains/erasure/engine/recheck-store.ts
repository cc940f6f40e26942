import { logRepeatedDeletion } from '#lib/domains/erasure/runs/repeated-deletions.ts'
import { nobody, type RunScope, recheckAgainAfter } from '#lib/domains/erasure/runs/run-rules.ts'
import { lockedRun, type RunRow, scopeOf } from '#lib/domains/erasure/runs/runs.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, type ErasureOptions, timeFor } from '#lib/kernel/data-source.ts'
import { erasedOf } from '#lib/kernel/erased.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { noteMentions } from './mentions.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'
import { faultOf } from './waits.ts'

export interface RecheckDeps extends SubjectErasurePorts {
  db: Database
  dataSources: readonly DataSource[]
  now(): Date
}

const nobodys: RunScope = { subject: nobody }

/** Returns the locked run if its second search is due. A search under a legal hold is postponed until the hold ends. */
export async function lockDueRun(
  { holds, now }: RecheckDeps,
  tx: Transaction,
  runId: string,
): Promise<RunRow | undefined> {
  const run = await lockedRun(tx, runId)
  if (run?.state !== 'done' || run.recheckAt === null || run.recheckAt > now()) return undefined
  const scope = scopeOf(run)
  // Of an erased subject, only the projects are still known.
  await holds.lock(tx)
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
  deps: RecheckDeps,
  runId: string,
  dataSource: DataSource,
  page: { page: number; items: string[] },
): Promise<readonly string[]> =>
  deps.db.transaction(async (tx) => {
    const run = await lockDueRun(deps, tx, runId)
    if (!run) return []
    const now = deps.now()
    // The key differs for each search but stays the same until this commits, so that the store neither skips nor
    // counts a deletion twice.
    const key = `${runId}:${dataSource.name}:${page.page}:late:${run.recheckAt?.getTime()}:${run.lateFound}`
    const words = await deps.words.of(tx, runId)
    const options: ErasureOptions = { key, redacts: run.redacts, round: 1, now, ...(words && { words }) }
    const items = await withoutReused(tx, dataSource, page.items, now)
    const { count, results, mentions, unreadable = [] } = erasedOf(await dataSource.erase(nobodys, items, tx, options))
    await noteMentions(tx, runId, mentions)
    if (count === 0) return unreadable
    await tx.erasureRun.update({ where: { id: runId }, data: { lateFound: { increment: count } } })
    await logRepeatedDeletion(tx, deps.audit, {
      ...{ scope: scopeOf(run), receiptId: run.receiptId, actorId: 'system:erasure.recheck', reason: run.reason },
      ...{ holder: dataSource.name, count, countedAs: 'late', results, at: now },
    })
    deps.interrupt(`recheck.${dataSource.name}.inside`)
    return unreadable
  }, timeFor(dataSource))

/**
 * Searches one store for the erased items of a run, and erases what it finds. Returns the number of records before and
 * after the deletion.
 */
export async function searchStoreAgain(
  deps: RecheckDeps,
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
    if (found > 0) for (const page of pages) unreadable.push(...(await erasePageAgain(deps, runId, dataSource, page)))
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
