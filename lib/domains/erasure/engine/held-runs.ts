import { lockedRun, planAgain, type RunRow, runChangeOf, stepsOf } from '#lib/domains/erasure/runs/runs.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, timeFor } from '#lib/kernel/data-source.ts'
import { letGo } from './full-retention.ts'
import { lockPlannedRun, type RunPlan, type StartDeps, targetOfRun } from './planning.ts'
import { planOf } from './plans.ts'
import { endWaits, needing } from './waits.ts'

/** Sets the run to held without erasing anything. It is planned again when the holds end. */
export const setAside = (plan: RunPlan, deps: StartDeps): Promise<'aside' | 'outdated' | undefined> =>
  deps.db.transaction(async (tx) => {
    const run = await lockPlannedRun(tx, plan, deps)
    if (!run || run === 'outdated') return run
    const at = deps.now()
    await letGo(tx, run, deps, at)
    await endWaits(tx, run.id)
    await tx.erasureRun.update({
      where: { id: run.id },
      data: { state: 'held', fencedAt: null, plannedAt: at, finishedAt: at, fault: null },
    })
    await deps.onChange(tx, { ...runChangeOf(run, await stepsOf(tx, run.id), 'held', at), isKeptWhole: true })
    return 'aside'
  })

/** Returns a held run whose holds have changed since its plan. */
async function changedHolds(tx: Transaction, runId: string, deps: StartDeps) {
  const run: RunRow | undefined = await lockedRun(tx, runId)
  if (run?.state !== 'held') return undefined
  const target = await targetOfRun(tx, run, deps)
  return target.fingerprint === run.holdsSeen ? undefined : { target, steps: await stepsOf(tx, runId) }
}

/** Returns true when a held run has something to erase under the current holds. Otherwise records the holds that it saw. */
export async function continuesUnderHolds(runId: string, deps: StartDeps): Promise<boolean> {
  const { db, dataSources, now } = deps
  const found = await db.transaction((tx) => changedHolds(tx, runId, deps))
  if (!found) return false
  const { target, steps } = found
  const isAsBefore = async (tx: Transaction, dataSource: DataSource): Promise<boolean> => {
    const { items, held } = await planOf(dataSource, target, tx, now())
    const before = steps.find((step) => step.holder === dataSource.name)?.held ?? {}
    return items.length === 0 && isSame(held, before)
  }
  let changed = false
  for (const dataSource of dataSources)
    changed ||= !(await needing(dataSource.store, () =>
      db.transaction((tx) => isAsBefore(tx, dataSource), timeFor(dataSource)),
    ))
  await db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId)
    if (run?.state !== 'held') return
    if (changed) await planAgain(tx, runId)
    else {
      await tx.erasureRun.update({ where: { id: runId }, data: { holdsSeen: target.fingerprint } })
      await endWaits(tx, runId)
    }
  })
  return changed
}

const isSame = (one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>): boolean =>
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([hold, count]) => other[hold] === count)
