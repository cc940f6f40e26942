import { enqueue } from '#lib/jobs/queue.ts'
import { limitConcurrency } from '#lib/kernel/concurrency.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type Explained, longestSearch, needsWords, type PlannedRecord, timeFor } from '#lib/kernel/data-source.ts'
import type { ExplainedPart, PlannedHolding } from '#lib/kernel/erasure-run.ts'
import type { ProjectPart, Subject } from '#lib/kernel/erasure-scope.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { dataSourcesInOrder, participating, type RunScope } from '../runs/run-rules.ts'
import { enqueueStart, lockedRun, planAgain, type RunRow, runPartOf, runSubjectOf, scopeOf } from '../runs/runs.ts'
import { memberKey, type Suppressions } from '../suppression/suppressions.ts'
import type { EngineDeps } from './dependencies.ts'
import { lowerFence, raiseFence } from './lock.ts'
import { dryRun, type PlanTarget, planOf, planTargetOf, type StepPlan, writeSteps } from './plan.ts'
import { failingRuns, handOverFences } from './repository.ts'
import { withStore } from './waits.ts'

/** A plan of a run. Workers on an older plan stop. */
export interface RunPlan extends PlanTarget {
  runId: string
  planId: string
  isRetainedWhole: boolean
}

/** Milliseconds of system time after which a transaction plans no further data source. It locks the run and the holds. */
const planningTurn = 250

/**
 * Returns the scope of a run. Before the fence is raised, it contains the subject's current agents. A replay uses the
 * given subject unchanged.
 */
async function wholeSubjectOf(
  tx: Transaction,
  run: RunRow,
  subjects: Pick<EngineDeps['subjects'], 'agentsOf' | 'participantsOf'>,
): Promise<RunScope> {
  const scope = scopeOf(run)
  if ('part' in scope || run.fencedAt !== null || run.reason === 'replay') return scope
  return {
    subject: {
      account: run.accountId,
      agents: await subjects.agentsOf(tx, scope.subject),
      ...participating(await subjects.participantsOf(tx, scope.subject)),
    },
  }
}

/** Returns true when holds cover the whole subject and nothing was erased before they were set. */
async function isFullyRetained(tx: Transaction, runId: string, { free, retained }: PlanTarget): Promise<boolean> {
  if (free !== null || retained.length === 0) return false
  return (await tx.erasureStep.count({ where: { runId, erased: { gt: 0 } } })) === 0
}

/**
 * Lowers the fence because legal holds cover the whole subject: it can write, sign in and be imported again. What
 * another run has fenced remains fenced. A part of a project becomes readable and writable again.
 * The caller holds the lock of the run. When the hold ends, the agents of the run are determined again.
 */
export async function letGo(
  tx: Transaction,
  run: RunRow,
  { subjects, parts, suppressions }: Pick<EngineDeps, 'subjects' | 'parts'> & { suppressions: Suppressions },
  now: Date,
): Promise<void> {
  const part = runPartOf(run)
  // The request for the erasure marked the part before there was a fence.
  if (part) return parts.release(tx, part)
  if (run.fencedAt === null) return
  const left = await handOverFences(tx, { runId: run.id })
  const keys = await subjects.participantKeys(
    tx,
    left.flatMap(({ kind, id }) => (kind === 'participant' ? [id] : [])),
  )
  for (const { kind, id, organisationId, runId, since } of left) {
    const value = kind === 'participant' ? keys.get(id) : id
    if (value !== undefined) await suppressions.add(tx, [{ kind, value }], { runId, since })
    if (kind === 'agent' && organisationId !== null)
      await suppressions.add(tx, [{ kind: 'member', value: memberKey(organisationId, id) }], { runId, since })
  }
  await suppressions.forget(tx, run.id)
  await lowerFence(tx, run.id)
  const isLeft = (wanted: string, value: string) => left.some(({ kind, id }) => kind === wanted && id === value)
  const { account, agents } = runSubjectOf(run)
  await subjects.release(
    tx,
    {
      account: account === null || isLeft('account', account) ? null : account,
      agents: agents.filter((agent) => !isLeft('agent', agent)),
    },
    now,
  )
}

export const targetOfRun = async (
  tx: Transaction,
  run: RunRow,
  { subjects, holds, now }: EngineDeps,
): Promise<PlanTarget> => planTargetOf(tx, await wholeSubjectOf(tx, run, subjects), holds, now())

/** A subject that holds cover completely is not fenced, because nothing will be erased yet. */
export const fenceRun = (runId: string, deps: EngineDeps): Promise<boolean> =>
  deps.db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId)
    if (run?.state !== 'planning') return false
    if (!(await isFullyRetained(tx, runId, await targetOfRun(tx, run, deps))))
      await raiseFence(tx, run, deps, deps.now())
    return true
  })

/** Creates a new plan under the current holds. */
export const newPlan = (runId: string, deps: EngineDeps): Promise<RunPlan | 'outdated' | undefined> =>
  deps.db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId)
    if (run?.state !== 'planning') return undefined
    const target = await targetOfRun(tx, run, deps)
    const retainedWhole = await isFullyRetained(tx, runId, target)
    // The hold ended after the fence was skipped.
    if (!retainedWhole && run.fencedAt === null) return 'outdated'
    const planId = newId('plan')
    // Must be read while the rows that identify the projects still exist.
    const theirs = runPartOf(run) ? [] : await deps.parts.projectsOf(tx, runSubjectOf(run))
    const projects = [...new Set([...run.projects, ...theirs])]
    await tx.erasureRun.update({ where: { id: runId }, data: { planId, holdsSeen: target.fingerprint, projects } })
    return { ...target, runId, planId, isRetainedWhole: retainedWhole }
  })

/** Runs while the texts are stored: verification needs their words after the deletion. */
export const gatherWords = (runId: string, free: RunScope, { db, words, now }: EngineDeps): Promise<void> =>
  db.transaction(
    async (tx) => {
      const since = await words.gather(tx, runId, free, now())
      if (!since) return
      // A repeated plan may find fewer texts.
      const where = { id: runId, OR: [{ wordsSince: null }, { wordsSince: { gt: since } }] }
      await tx.erasureRun.updateMany({ where, data: { wordsSince: since } })
    },
    { longest: longestSearch },
  )

/** Locks and returns the run while this plan is current; `outdated` when a hold was set or ended since then. */
export async function lockPlannedRun(
  tx: Transaction,
  plan: RunPlan,
  { holds, now }: EngineDeps,
): Promise<RunRow | 'outdated' | undefined> {
  const run = await lockedRun(tx, plan.runId)
  if (run?.state !== 'planning' || run.planId !== plan.planId) return undefined
  const { fingerprint } = await planTargetOf(tx, scopeOf(run), holds, now())
  return fingerprint === plan.fingerprint ? run : 'outdated'
}

type Ordered = ReturnType<typeof dataSourcesInOrder>

/** Plans the first of these data sources, and those after it that may share its transaction. Returns their number. */
async function planSome(ordered: Ordered, plan: RunPlan, deps: EngineDeps): Promise<number | 'outdated' | undefined> {
  const { db, now } = deps
  const first = ordered[0]?.dataSource
  if (!first) return 0
  const isSeparate = needsWords(first)
  const gathered = isSeparate
    ? await withStore(first.store, () => db.transaction((tx) => planOf(first, plan, tx, now()), timeFor(first)))
    : undefined
  const write = async (tx: Transaction) => {
    const run = await lockPlannedRun(tx, plan, deps)
    if (!run || run === 'outdated') return run
    const until = performance.now() + planningTurn
    const plans: StepPlan[] = []
    for (const { dataSource, position } of ordered) {
      const isFirst = plans.length === 0
      if (!isFirst && (isSeparate || needsWords(dataSource) || dataSource.store !== first.store)) break
      plans.push({ dataSource, position, planned: gathered ?? (await planOf(dataSource, plan, tx, now())) })
      if (performance.now() > until) break
    }
    await writeSteps(tx, run.id, plans, {
      retainedBy: plan.free === null ? plan.retained[0]?.hold : undefined,
      now: now(),
    })
    return plans.length
  }
  return withStore(first.store, () => db.transaction(write))
}

/**
 * Plans the data sources in order. External stores, and data sources that read the texts of the subject, may take minutes. Each of them is
 * searched before the transaction that locks the subject and writes the plan: holds can change meanwhile, and the plan is then created
 * again. The other data sources of our own database share transactions of limited duration: most of them have nothing to erase.
 */
export async function planAll(plan: RunPlan, deps: EngineDeps): Promise<'planned' | 'outdated' | undefined> {
  const ordered = dataSourcesInOrder(deps.dataSources)
  for (let at = 0; at < ordered.length; ) {
    const count = await planSome(ordered.slice(at), plan, deps)
    if (count === undefined || count === 'outdated') return count
    at += count
  }
  return 'planned'
}

type DryRunDeps = Pick<EngineDeps, 'db' | 'dataSources' | 'holds' | 'subjects'>

/** Returns what an erasure of the part would do with each record. It raises no fence and writes nothing. */
export async function explainPart(
  { db, dataSources, holds }: DryRunDeps,
  part: ProjectPart,
  now: Date,
): Promise<ExplainedPart> {
  const scope = { part }
  const target = await db.transaction((tx) => planTargetOf(tx, scope, holds, now))
  const planned = await dryRun(dataSources, target, db, now)
  const verdicts: PlannedRecord[] = []
  const unanswered = new Set<string>()
  for (const dataSource of dataSources) {
    const explained = await db
      .transaction(async (tx) => dataSource.explain?.(scope, tx, now), timeFor(dataSource))
      .catch((error: unknown): Explained => {
        if (!Problem.is(error, 'unavailable')) throw error
        return { verdicts: [], isPartial: true }
      })
    for (const one of explained?.verdicts ?? []) verdicts.push(one)
    if (explained?.isPartial) unanswered.add(dataSource.store)
  }
  return { planned, verdicts, unanswered: [...unanswered] }
}

/** The subject with all of its agents and participations. */
async function wholeSubject({ db, subjects }: Pick<DryRunDeps, 'db' | 'subjects'>, subject: Subject): Promise<Subject> {
  return db.transaction(async (tx) => {
    const agents = await subjects.agentsOf(tx, subject)
    return { account: subject.account, agents, ...participating(await subjects.participantsOf(tx, subject)) }
  })
}

/** Returns what an erasure of the subject would erase. It raises no fence and writes nothing. */
export async function dryRunOf(deps: DryRunDeps, subject: Subject, now: Date): Promise<PlannedHolding[]> {
  const { db, dataSources, holds } = deps
  const whole = await wholeSubject(deps, subject)
  const target = await db.transaction((tx) => planTargetOf(tx, { subject: whole }, holds, now))
  return dryRun(dataSources, target, db, now)
}

/** Previews read all texts of a project: few at once, each for a short time in milliseconds. */
const previewing = limitConcurrency({ atOnce: 1, waiting: 8, patience: 5_000 })
const longestPreview = 15_000

/**
 * Returns in how many places of texts of others an erasure of the subject would remove or leave a name. It writes nothing. Undefined if a
 * name is too new for a preview, or if the places cannot be read soon.
 */
export async function namesAheadOf(
  deps: DryRunDeps,
  subject: Subject,
  options: { redacts: boolean; now: Date },
): Promise<{ removed: number; kept: number } | undefined> {
  const result = await previewing(() => readNamesAhead(deps, subject, options)).catch((error: unknown) => {
    if (!Problem.is(error, 'unavailable')) throw error
    return { value: undefined }
  })
  return typeof result === 'string' ? undefined : result.value
}
async function readNamesAhead(
  deps: DryRunDeps,
  subject: Subject,
  options: { redacts: boolean; now: Date },
): Promise<{ removed: number; kept: number } | undefined> {
  const scope = { subject: await wholeSubject(deps, subject) }
  const all = { removed: 0, kept: 0 }
  for (const dataSource of deps.dataSources) {
    if (!dataSource.namesAhead) continue
    const { namesAhead } = dataSource
    const found = await deps.db.transaction((tx) => namesAhead(scope, tx, options), { longest: longestPreview })
    if (!found) return undefined
    all.removed += found.removed
    all.kept += found.kept
  }
  return all
}

export const lateWritesJob = 'erasure.overtaken'

type Candidate = Pick<RunRow, 'id' | 'partKind' | 'partId' | 'projectId' | 'conversationId'>
/**
 * Plans redundant smaller runs again once `run` is done, such as the run of a message whose author, conversation or
 * project is now erased. Only runs that failed or keep failing are planned again: they find the remaining records,
 * verify them and sign their own receipt.
 * `run` must still record its subject.
 */
export async function enqueueLateWrites(
  tx: Transaction,
  run: RunRow,
  { parts }: Pick<EngineDeps, 'parts'>,
): Promise<void> {
  const projects = run.projectId === null ? run.projects : [run.projectId]
  const found = await failingRuns(tx, { except: run.id, projects, account: run.accountId, agents: run.agents })
  if (found.length === 0) return
  const ofParts = found.flatMap((one) => runPartOf(one) ?? [])
  const missing = new Set(await parts.missing(tx, ofParts))
  const deleted = ofParts.filter((part) => missing.has(part))
  const isOvertaken = (one: Candidate): boolean => {
    const part = runPartOf(one)
    return (
      part === null ||
      deleted.some(({ kind, id, project }) => kind === part.kind && id === part.id && project === part.project)
    )
  }
  // One job for each run: the lock of a run must be the first lock of a transaction.
  for (const { id } of found.filter(isOvertaken))
    await enqueue(tx, lateWritesJob, { runId: id }, { key: `${lateWritesJob}:${id}` })
}

/** Plans an overtaken run again, unless it continues without help. */
export const planLateWrites = (db: Pick<Database, 'transaction'>, runId: string): Promise<void> =>
  db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId)
    if (run?.state === 'planning') return enqueueStart(tx, runId)
    if (run?.state !== 'erasing' && run?.state !== 'failed') return
    await tx.erasureRun.update({ where: { id: runId }, data: { rounds: 0, finishedAt: null } })
    await planAgain(tx, runId)
  })
