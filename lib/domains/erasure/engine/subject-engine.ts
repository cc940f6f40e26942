import { setTimeout as delay } from 'node:timers/promises'
import { dueSteps, nobody, participating } from '#lib/domains/erasure/runs/run-rules.ts'
import {
  beginRun,
  cancelRun,
  enqueueNext,
  enqueueStart,
  lockedRun,
  planAgain,
  type RunRow,
  runViewOf,
  startJob,
  stepJob,
  stepOrderOf,
  verifyJob,
} from '#lib/domains/erasure/runs/runs.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type Explained, type PlannedRecord, timeFor } from '#lib/kernel/data-source.ts'
import type { RunState, SubjectErasures } from '#lib/kernel/erasure-run.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { planLateWrites } from './late-writes.ts'
import type { StartDeps } from './planning.ts'
import { dryRun, planTargetOf } from './plans.ts'
import { enqueueRechecks, runRecheck } from './recheck.ts'
import { openRunCounts, queuedJobKeys } from './repository.ts'
import { runStart } from './start.ts'
import { runStep } from './steps.ts'
import { runVerification, type VerificationDeps } from './verification.ts'
import { alertOfWaits } from './waits.ts'

/** Operations of the worker on runs. */
export interface SubjectEngine extends SubjectErasures {
  /** `start`, `step` and `verify` return true while they wait for a store that does not answer; a later job is then enqueued. */
  start(runId: string): Promise<boolean>
  step(runId: string, holder: string): Promise<boolean>
  verify(runId: string): Promise<boolean>
  /**
   * Executes a run as far as possible without waiting: until it is done, held or failed, a step is stuck, or a store
   * does not answer.
   */
  complete(runId: string): Promise<RunState>
  /** Runs the second search of shared stores, if it is due. */
  recheck(runId: string): Promise<void>
  /** Enqueues {@link recheck} for every run that is due. */
  recheckAll(): Promise<void>
  /** Plans a failing run again that a larger run has made redundant. */
  overtaken(runId: string): Promise<void>
  /** Continues runs that have no job in the queue, and held runs whose hold has expired. */
  watch(): Promise<void>
}

const unfinished: RunState[] = ['planning', 'erasing', 'verifying']
/** Number of runs per query. */
const batch = 100

/** Erases people and agents: executes runs from the fence to the receipt. */
export function subjectEngine(deps: StartDeps & VerificationDeps): SubjectEngine {
  const { db, dataSources, holds, subjects, now } = deps
  const start = runStart(deps)
  const step = runStep(deps)
  const verify = runVerification(deps)
  const recheck = runRecheck(deps)

  async function complete(runId: string): Promise<RunState> {
    /** Steps that wait for a store; each is tried once. */
    const waiting = new Set<string>()
    for (let tries = 0; ; tries++) {
      const run = await db.prisma.erasureRun.findUniqueOrThrow({ where: { id: runId }, select: { state: true } })
      if (run.state === 'planning') {
        // A newer plan stops an older one: a random delay lets one of several concurrent planners finish.
        if (tries > 0) await delay(Math.random() * Math.min(250 * 2 ** tries, 4_000))
        if (await start(runId)) return run.state
      } else if (run.state === 'verifying') {
        if (await verify(runId)) return run.state
      } else if (run.state === 'erasing') {
        const turns = dueSteps(await db.transaction((tx) => stepOrderOf(tx, runId)))
        const due = turns.filter(({ holder }) => !waiting.has(holder))
        if (due.length === 0) return run.state
        for (const { holder } of due) if (await step(runId, holder)) waiting.add(holder)
      } else return run.state
    }
  }

  /** Returns a batch of unfinished runs in the order of their ids, after the given id. */
  const someUnfinished = (after: string): Promise<Pick<RunRow, 'id'>[]> =>
    db.prisma.erasureRun.findMany({
      where: { state: { in: unfinished }, id: { gt: after } },
      select: { id: true },
      orderBy: { id: 'asc' },
      take: batch,
    })

  async function takeUpForgotten(): Promise<void> {
    const busy = await attended()
    for (let after = ''; ; ) {
      const runs = await someUnfinished(after)
      for (const { id } of runs)
        if (!busy.has(id))
          await db.transaction(async (tx) => {
            const run = await lockedRun(tx, id, { shared: true })
            if (run) await enqueueNext(tx, run)
          })
      const last = runs.at(-1)
      if (!last || runs.length < batch) return
      after = last.id
    }
  }

  /**
   * Returns the runs that have a job in the queue, waiting or locked by a worker. The queue itself retries the jobs of
   * a dead worker.
   */
  async function attended(): Promise<Set<string>> {
    const rows = await queuedJobKeys(db, { names: [startJob, stepJob, verifyJob] })
    return new Set(rows.map(({ key }) => key.split(':')[1] ?? ''))
  }

  /** Enqueues the start of each held run that was planned under other holds than the current ones. */
  async function lookAtHeld(tx: Transaction): Promise<void> {
    const { fingerprint } = await holds.inForce(tx, nobody, now())
    const held = await tx.erasureRun.findMany({
      where: { state: 'held', holdsSeen: { not: fingerprint } },
      select: { id: true },
    })
    for (const { id } of held) await enqueueStart(tx, id)
  }

  /**
   * Retries a failed run, a run that could not be planned, and stuck steps, or only the given step. Returns false when
   * nothing can be retried.
   */
  async function retry(tx: Transaction, runId: string, holder?: string): Promise<boolean> {
    const run = await lockedRun(tx, runId)
    if (run?.state === 'failed' && holder === undefined) {
      await tx.erasureRun.update({ where: { id: runId }, data: { rounds: 0, finishedAt: null } })
      await planAgain(tx, runId)
      return true
    }
    if (run?.state === 'planning' && run.fault !== null && holder === undefined) {
      await enqueueStart(tx, runId)
      return true
    }
    // A run that waits for a store retries immediately instead of after half a minute.
    if (run?.state === 'verifying' && run.fault !== null && holder === undefined) {
      await enqueueNext(tx, run)
      return true
    }
    if (run?.state !== 'erasing') return false
    const { count } = await tx.erasureStep.updateMany({
      where: { runId, state: 'stuck', ...(holder !== undefined && { holder }) },
      data: { state: 'waiting', attempts: 0 },
    })
    const isWaiting = holder === undefined && (await tx.erasureWait.count({ where: { runId } })) > 0
    if (count > 0 || isWaiting) await enqueueNext(tx, run)
    return count > 0 || isWaiting
  }

  return {
    async byAudit(auditId, tx = db.prisma) {
      const run = await tx.erasureRun.findUnique({ where: { auditId } })
      return run ? runViewOf(tx, run) : undefined
    },
    async explain(part, now) {
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
        verdicts.push(...(explained?.verdicts ?? []))
        if (explained?.isPartial) unanswered.add(dataSource.store)
      }
      return { planned, verdicts, unanswered: [...unanswered] }
    },
    start,
    step,
    verify,
    recheck,
    recheckAll: () => enqueueRechecks(db, now()),
    complete,
    begin: beginRun,
    lock: (tx, runId) => lockedRun(tx, runId),
    resumeHeld: lookAtHeld,
    overtaken: (runId) => planLateWrites(db, runId),
    cancel: (tx, runId) => cancelRun(tx, runId, deps),

    async dryRun(subject, now) {
      const target = await db.transaction(async (tx) => {
        const agents = await subjects.agentsOf(tx, subject)
        const participants = await subjects.participantsOf(tx, subject)
        const whole = { account: subject.account, agents, ...participating(participants) }
        return planTargetOf(tx, { subject: whole }, holds, now)
      })
      return dryRun(dataSources, target, db, now)
    },

    async run(runId, tx = db.prisma) {
      const run = await tx.erasureRun.findUnique({ where: { id: runId } })
      return run ? runViewOf(tx, run) : undefined
    },

    async runs({ state, after, limit }) {
      const older = after && {
        OR: [{ createdAt: { lt: after.at } }, { createdAt: after.at, id: { lt: after.id } }],
      }
      const records = await db.prisma.erasureRun.findMany({
        where: { AND: [state ? { state } : {}, older ?? {}] },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        take: limit,
      })
      return Promise.all(records.map((run) => runViewOf(db.prisma, run)))
    },

    async open() {
      const [row] = await openRunCounts(db, {})
      return row ?? { planning: 0, erasing: 0, verifying: 0, held: 0, failed: 0, stuck: 0 }
    },

    retry: (tx, runId, holder) => retry(tx, runId, holder),
    resume: (runId) => db.transaction((tx) => retry(tx, runId)),

    async watch() {
      await takeUpForgotten()
      await alertOfWaits(db, deps.notifyAdmins, now())
      await db.transaction(lookAtHeld)
    },
  }
}
