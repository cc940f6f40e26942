import { type RunScope, stageAt } from '#lib/domains/erasure/runs/run-rules.ts'
import { enqueueNext, lockedRun, type RunRow, scopeOf, stepsOf } from '#lib/domains/erasure/runs/runs.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, type ItemId, timeFor } from '#lib/kernel/data-source.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { erasedItems, insertItems, type PlanTarget, planTargetOf } from './plans.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'
import { needing } from './waits.ts'

export interface LateWriteDeps extends Pick<SubjectErasurePorts, 'holds' | 'interrupt'> {
  db: Database
  ledger: Ledger
  dataSources: readonly DataSource[]
  now(): Date
}
interface LateWrites {
  dataSource: DataSource
  items: ItemId[]
}

/** Maximum number of times the search sends a run back. Verification finds continuous writers by their ids. */
const mostLooks = 2

/** Returns the run, and the scope that it may erase, if none of its rows has been deleted yet. */
async function lockErasingRun(
  { holds, now }: LateWriteDeps,
  tx: Transaction,
  runId: string,
): Promise<{ run: RunRow; free: RunScope } | undefined> {
  const run = await lockedRun(tx, runId, { shared: true })
  if (run?.state !== 'erasing' || run.rounds >= mostLooks) return undefined
  const rows = (await stepsOf(tx, runId)).filter(({ position }) => stageAt(position) !== 'derived')
  if (rows.some(({ startedAt }) => startedAt !== null)) return undefined
  const { fingerprint, free }: PlanTarget = await planTargetOf(tx, scopeOf(run), holds, now())
  return free === null || fingerprint !== run.holdsSeen ? undefined : { run, free }
}

async function search({ db, dataSources, now }: LateWriteDeps, free: RunScope): Promise<LateWrites[]> {
  const found: LateWrites[] = []
  for (const dataSource of dataSources.filter(({ late }) => late)) {
    const search = async (tx: Transaction) => (await dataSource.late?.(free, tx, now())) ?? []
    const items = await needing(dataSource.store, () => db.transaction(search, timeFor(dataSource)))
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
export async function findLateWrites(deps: LateWriteDeps, runId: string): Promise<boolean> {
  const { db, ledger, interrupt } = deps
  const record = await db.transaction((tx) => lockErasingRun(deps, tx, runId))
  if (!record) return false
  interrupt('last-look.before')
  const late = await search(deps, record.free)
  if (late.length === 0) return false
  // The ledger must know an item before it is erased.
  for (const { dataSource, items } of late)
    await needing('ledger', () =>
      ledger.append({ kind: 'items', id: record.run.receiptId, holder: dataSource.name, items }),
    )
  await sendBack(db, record.run, late)
  interrupt('last-look.after')
  return true
}
