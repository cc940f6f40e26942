import { setTimeout as delay } from 'node:timers/promises'
import { dueSteps } from '#lib/domains/erasure/runs/run-rules.ts'
import { beginRun, cancelRun, lockedRun, runViewOf, stepOrderOf } from '#lib/domains/erasure/runs/runs.ts'
import type { RunState, SubjectErasures } from '#lib/kernel/erasure-run.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { dryRunOf, explainPart } from './dry-runs.ts'
import { planLateWrites } from './late-writes.ts'
import { runsIn } from './listed-runs.ts'
import type { StartDeps } from './planning.ts'
import { enqueueRechecks, recheckRun } from './recheck.ts'
import { openRunCounts } from './repository.ts'
import { runStart } from './start.ts'
import { runStep } from './steps.ts'
import { continueUnattended, retryRun, startHeldRuns } from './unattended-runs.ts'
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

async function completeRun(
  db: Database,
  { start, step, verify }: Pick<SubjectEngine, 'start' | 'step' | 'verify'>,
  runId: string,
): Promise<RunState> {
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

/** Erases people and agents: executes runs from the fence to the receipt. */
export function subjectEngine(deps: StartDeps & VerificationDeps): SubjectEngine {
  const { db, now } = deps
  const start = runStart(deps)
  const step = (runId: string, holder: string) => runStep(deps, runId, holder)
  const verify = runVerification(deps)
  return {
    async byAudit(auditId, tx = db.prisma) {
      const run = await tx.erasureRun.findUnique({ where: { auditId } })
      return run ? runViewOf(tx, run) : undefined
    },
    explain: (part, now) => explainPart(deps, part, now),
    start,
    step,
    verify,
    recheck: (runId) => recheckRun(deps, runId),
    recheckAll: () => enqueueRechecks(db, now()),
    complete: (runId) => completeRun(db, { start, step, verify }, runId),
    begin: beginRun,
    lock: (tx, runId) => lockedRun(tx, runId),
    resumeHeld: (tx) => startHeldRuns(deps, tx),
    overtaken: (runId) => planLateWrites(db, runId),
    cancel: (tx, runId) => cancelRun(tx, runId, deps),

    dryRun: (subject, now) => dryRunOf(deps, subject, now),

    async run(runId, tx = db.prisma) {
      const run = await tx.erasureRun.findUnique({ where: { id: runId } })
      return run ? runViewOf(tx, run) : undefined
    },

    async runs({ limit, ...filter }) {
      const records = await db.prisma.erasureRun.findMany({
        where: runsIn(filter),
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        take: limit,
      })
      return Promise.all(records.map((run) => runViewOf(db.prisma, run)))
    },

    async open() {
      const [row] = await openRunCounts(db, {})
      return row ?? { planning: 0, erasing: 0, verifying: 0, held: 0, failed: 0, stuck: 0 }
    },

    retry: retryRun,
    resume: (runId) => db.transaction((tx) => retryRun(tx, runId)),

    async watch() {
      await continueUnattended(db)
      await alertOfWaits(db, deps.notifyAdmins, now())
      await db.transaction((tx) => startHeldRuns(deps, tx))
    },
  }
}
