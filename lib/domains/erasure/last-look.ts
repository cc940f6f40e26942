import type { Transaction } from '#lib/kernel/context.ts'
import { type DataHolder, type ItemId, timeFor } from '#lib/kernel/holder.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type Aim, aimAt, erasedItems, insertItems } from './plans.ts'
import { type RunScope, stageAt } from './run-rules.ts'
import { enqueueNext, lockedRun, type RunRow, scopeOf, stepsOf } from './runs.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'
import { needing } from './waits.ts'

export interface LastLookParts extends Pick<SubjectErasurePorts, 'holds' | 'interrupt'> {
  db: Database
  ledger: Ledger
  holders: readonly DataHolder[]
  now(): Date
}
interface Found {
  holder: DataHolder
  items: ItemId[]
}

/** Maximum number of times the search sends a run back. Verification finds continuous writers by their ids. */
const mostLooks = 2

/**
 * Searches again for derived data and late writes just before the first rows are deleted. The search needs the erased
 * words, which are unknown after the deletion.
 * Found items are added to the plan and erased first. Steps may have waited for hours since the plan was made.
 */
export function lastLook({ db, ledger, holders, holds, interrupt, now }: LastLookParts) {
  /** Returns the run, and the scope that it may erase, if none of its rows has been deleted yet. */
  async function due(tx: Transaction, runId: string): Promise<{ run: RunRow; free: RunScope } | undefined> {
    const run = await lockedRun(tx, runId, { shared: true })
    if (run?.state !== 'erasing' || run.rounds >= mostLooks) return undefined
    const rows = (await stepsOf(tx, runId)).filter(({ position }) => stageAt(position) !== 'derived')
    if (rows.some(({ startedAt }) => startedAt !== null)) return undefined
    const { fingerprint, free }: Aim = await aimAt(tx, scopeOf(run), holds, now())
    return free === null || fingerprint !== run.holdsSeen ? undefined : { run, free }
  }

  async function search(free: RunScope): Promise<Found[]> {
    const found: Found[] = []
    for (const holder of holders.filter(({ late }) => late)) {
      const search = async (tx: Transaction) => (await holder.late?.(free, tx, now())) ?? []
      const items = await needing(holder.store, () => db.transaction(search, timeFor(holder)))
      if (items.length > 0) found.push({ holder, items })
    }
    return found
  }

  const sendBack = (known: RunRow, found: readonly Found[]): Promise<void> =>
    db.transaction(async (tx) => {
      const run = await lockedRun(tx, known.id)
      if (run?.state !== 'erasing' || run.planId !== known.planId) return
      for (const { holder, items } of found) {
        const before = await erasedItems(tx, run.id, holder.name)
        // Items that were erased before and exist again are already counted.
        await insertItems(tx, run.id, holder, {
          items: items.filter((item) => !before.has(item)),
          watched: items.filter((item) => before.has(item)),
        })
      }
      await tx.erasureRun.update({ where: { id: run.id }, data: { rounds: { increment: 1 } } })
      await enqueueNext(tx, run)
    })

  /**
   * Returns true when items were found and the run continues with them.
   * @throws StoreUnavailable when a store does not answer
   */
  return async function look(runId: string): Promise<boolean> {
    const found = await db.transaction((tx) => due(tx, runId))
    if (!found) return false
    interrupt('last-look.before')
    const late = await search(found.free)
    if (late.length === 0) return false
    // The ledger must know an item before it is erased.
    for (const { holder, items } of late)
      await needing('ledger', () =>
        ledger.append({ kind: 'items', id: found.run.receiptId, holder: holder.name, items }),
      )
    await sendBack(found.run, late)
    interrupt('last-look.after')
    return true
  }
}
