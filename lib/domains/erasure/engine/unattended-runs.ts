import { nobody } from '#lib/domains/erasure/runs/run-rules.ts'
import {
  enqueueNext,
  enqueueStart,
  lockedRun,
  planAgain,
  type RunRow,
  startJob,
  stepJob,
  verifyJob,
} from '#lib/domains/erasure/runs/runs.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { RunState } from '#lib/kernel/erasure-run.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { queuedJobKeys } from './repository.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'

const unfinished: RunState[] = ['planning', 'erasing', 'verifying']
/** Number of runs per query. */
const batch = 100

/** Returns a batch of unfinished runs in the order of their ids, after the given id. */
const someUnfinished = (db: Database, after: string): Promise<Pick<RunRow, 'id'>[]> =>
  db.prisma.erasureRun.findMany({
    where: { state: { in: unfinished }, id: { gt: after } },
    select: { id: true },
    orderBy: { id: 'asc' },
    take: batch,
  })

/**
 * Returns the runs that have a job in the queue, waiting or locked by a worker. The queue itself retries the jobs of
 * a dead worker.
 */
async function attended(db: Database): Promise<Set<string>> {
  const rows = await queuedJobKeys(db, { names: [startJob, stepJob, verifyJob] })
  return new Set(rows.map(({ key }) => key.split(':')[1] ?? ''))
}

/** Enqueues the next job of each unfinished run that has none. */
export async function continueUnattended(db: Database): Promise<void> {
  const busy = await attended(db)
  for (let after = ''; ; ) {
    const runs = await someUnfinished(db, after)
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

/** Enqueues the start of each held run that was planned under other holds than the current ones. */
export async function startHeldRuns(
  { holds, now }: Pick<SubjectErasurePorts, 'holds'> & { now(): Date },
  tx: Transaction,
): Promise<void> {
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
export async function retryRun(tx: Transaction, runId: string, holder?: string): Promise<boolean> {
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
