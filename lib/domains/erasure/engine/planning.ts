import { dataSourcesInOrder, type RunScope } from '#lib/domains/erasure/runs/run-rules.ts'
import { lockedRun, type RunRow, runPartOf, runSubjectOf, scopeOf } from '#lib/domains/erasure/runs/runs.ts'
import type { Suppressions } from '#lib/domains/erasure/suppression/suppressions.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, longestSearch, timeFor } from '#lib/kernel/data-source.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { raiseFence } from './fence.ts'
import { isFullyRetained, wholeSubjectOf } from './full-retention.ts'
import { type PlanTarget, planOf, planTargetOf, type StepPlan, writeSteps } from './plans.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'
import { needing } from './waits.ts'

export interface StartDeps extends SubjectErasurePorts {
  db: Database
  ledger: Ledger
  dataSources: readonly DataSource[]
  suppressions: Suppressions
  now(): Date
}

/** A plan of a run. Workers on an older plan stop. */
export interface RunPlan extends PlanTarget {
  runId: string
  planId: string
  isKeptWhole: boolean
}

/** Milliseconds of system time after which a transaction plans no further data source. It locks the run and the holds. */
const planningTurn = 250

export const targetOfRun = async (
  tx: Transaction,
  run: RunRow,
  { subjects, holds, now }: StartDeps,
): Promise<PlanTarget> => planTargetOf(tx, await wholeSubjectOf(tx, run, subjects), holds, now())

/** A subject that holds cover completely is not fenced, because nothing will be erased yet. */
export const fenceRun = (runId: string, deps: StartDeps): Promise<boolean> =>
  deps.db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId)
    if (run?.state !== 'planning') return false
    if (!(await isFullyRetained(tx, runId, await targetOfRun(tx, run, deps))))
      await raiseFence(tx, run, deps, deps.now())
    return true
  })

/** Creates a new plan under the current holds. */
export const newPlan = (runId: string, deps: StartDeps): Promise<RunPlan | 'outdated' | undefined> =>
  deps.db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId)
    if (run?.state !== 'planning') return undefined
    const target = await targetOfRun(tx, run, deps)
    const keptWhole = await isFullyRetained(tx, runId, target)
    // The hold ended after the fence was skipped.
    if (!keptWhole && run.fencedAt === null) return 'outdated'
    const planId = newId('plan')
    // Must be read while the rows that identify the projects still exist.
    const theirs = runPartOf(run) ? [] : await deps.parts.projectsOf(tx, runSubjectOf(run))
    const projects = [...new Set([...run.projects, ...theirs])]
    await tx.erasureRun.update({ where: { id: runId }, data: { planId, holdsSeen: target.fingerprint, projects } })
    return { ...target, runId, planId, isKeptWhole: keptWhole }
  })

/** Runs while the texts are stored: verification needs their words after the deletion. */
export const gatherWords = (runId: string, free: RunScope, { db, words, now }: StartDeps): Promise<void> =>
  db.transaction((tx) => words.gather(tx, runId, free, now()), { longest: longestSearch })

/** Locks and returns the run while this plan is current; `outdated` when a hold was set or ended since then. */
export async function lockPlannedRun(
  tx: Transaction,
  plan: RunPlan,
  { holds, now }: StartDeps,
): Promise<RunRow | 'outdated' | undefined> {
  const run = await lockedRun(tx, plan.runId)
  if (run?.state !== 'planning' || run.planId !== plan.planId) return undefined
  const { fingerprint } = await planTargetOf(tx, scopeOf(run), holds, now())
  return fingerprint === plan.fingerprint ? run : 'outdated'
}

type Ordered = ReturnType<typeof dataSourcesInOrder>

/** Plans the first of these data sources, and those after it that may share its transaction. Returns their number. */
async function planSome(ordered: Ordered, plan: RunPlan, deps: StartDeps): Promise<number | 'outdated' | undefined> {
  const { db, now } = deps
  const first = ordered[0]?.dataSource
  if (!first) return 0
  const gathered = first.isShared
    ? await needing(first.store, () => db.transaction((tx) => planOf(first, plan, tx, now()), timeFor(first)))
    : undefined
  const write = async (tx: Transaction) => {
    const run = await lockPlannedRun(tx, plan, deps)
    if (!run || run === 'outdated') return run
    const until = performance.now() + planningTurn
    const plans: StepPlan[] = []
    for (const { dataSource, position } of ordered) {
      const isFirst = plans.length === 0
      if (!isFirst && (first.isShared || dataSource.isShared || dataSource.store !== first.store)) break
      plans.push({ dataSource, position, planned: gathered ?? (await planOf(dataSource, plan, tx, now())) })
      if (performance.now() > until) break
    }
    await writeSteps(tx, run.id, plans, { keptBy: plan.free === null ? plan.kept[0]?.hold : undefined, now: now() })
    return plans.length
  }
  return needing(first.store, () => db.transaction(write))
}

/**
 * Plans the data sources in order. External stores, whose search may take minutes, are each searched before the
 * transaction that writes the plan: holds can change meanwhile, and the plan is then created again. Data sources of our
 * own database share transactions of limited duration: most of them have nothing to erase.
 */
export async function planAll(plan: RunPlan, deps: StartDeps): Promise<'planned' | 'outdated' | undefined> {
  const ordered = dataSourcesInOrder(deps.dataSources)
  for (let at = 0; at < ordered.length; ) {
    const count = await planSome(ordered.slice(at), plan, deps)
    if (count === undefined || count === 'outdated') return count
    at += count
  }
  return 'planned'
}
