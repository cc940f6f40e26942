import { z } from 'zod'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { BeginRun, RunChange, RunState, RunView, StepState } from '#lib/kernel/erasure-run.ts'
import type { Subject } from '#lib/kernel/holder.ts'
import { newId } from '#lib/kernel/ids.ts'
import { dueSteps, heldCounts, heldTogether, stageAt } from './run-rules.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'

export const startJob = 'erasure.start'
export const stepJob = 'erasure.step'
export const verifyJob = 'erasure.verify'

export interface RunRow {
  id: string
  requestId: string | null
  receiptId: string
  accountId: string | null
  agents: string[]
  requestedBy: string
  reason: string
  state: RunState
  holdsSeen: string
  planId: string
  rounds: number
  createdAt: Date
  fencedAt: Date | null
  plannedAt: Date | null
  erasedAt: Date | null
  finishedAt: Date | null
}
export interface StepRow {
  holder: string
  store: string
  position: number
  state: StepState
  attempts: number
  planned: number
  erased: number
  held: Record<string, number>
  residue: number | null
  fault: string | null
  startedAt: Date | null
  finishedAt: Date | null
  verifiedAt: Date | null
}
const Held = z.record(z.string(), z.number().int())

export const subjectOf = ({ accountId, agents }: Pick<RunRow, 'accountId' | 'agents'>): Subject => ({
  account: accountId,
  agents,
})

/**
 * The run, which stays as it is until the transaction ends. Whoever changes it or its plan takes it for themselves; whoever erases a page
 * only needs it to stay. Always the first lock of a transaction of the engine.
 */
export async function lockedRun(tx: Transaction, runId: string, { shared = false } = {}): Promise<RunRow | undefined> {
  if (shared) await tx.$queryRaw`SELECT 1 FROM erasure_runs WHERE id = ${runId} FOR SHARE`
  else await tx.$queryRaw`SELECT 1 FROM erasure_runs WHERE id = ${runId} FOR UPDATE`
  return (await tx.erasureRun.findUnique({ where: { id: runId } })) ?? undefined
}

/** The steps in their order. */
export const stepsOf = async (tx: Transaction, runId: string): Promise<StepRow[]> =>
  (await tx.erasureStep.findMany({ where: { runId }, orderBy: { position: 'asc' } })).map(({ runId: _, ...row }) => ({
    ...row,
    held: Held.parse(row.held),
  }))

const isFree = async (tx: Transaction, receiptId: string): Promise<boolean> =>
  (await tx.erasure.count({ where: { receiptId } })) + (await tx.erasureRun.count({ where: { receiptId } })) === 0

/** Reserves the run and the id of its receipt, unless it is reserved already, and enqueues its start; the same request gets the same run. */
export async function beginRun(
  tx: Transaction,
  { requestId, subject, requestedBy, reason, receiptId: reserved, now }: BeginRun,
): Promise<{ runId: string; receiptId: string }> {
  const begun = requestId === null ? null : await tx.erasureRun.findUnique({ where: { requestId } })
  if (begun) return { runId: begun.id, receiptId: begun.receiptId }
  const runId = newId('run')
  const receiptId = reserved !== undefined && (await isFree(tx, reserved)) ? reserved : newId('rcpt')
  await tx.erasureRun.create({
    data: {
      id: runId,
      requestId,
      receiptId,
      accountId: subject.account,
      agents: [...new Set(subject.agents)].sort(),
      requestedBy,
      reason,
      createdAt: now,
    },
  })
  await enqueueStart(tx, runId)
  return { runId, receiptId }
}

export const enqueueStart = (tx: Transaction, runId: string): Promise<void> =>
  enqueue(tx, startJob, { runId }, { key: `${startJob}:${runId}` })
export const enqueueStep = (tx: Transaction, runId: string, holder: string): Promise<void> =>
  enqueue(tx, stepJob, { runId, holder }, { key: `${stepJob}:${runId}:${holder}` })
export const enqueueVerify = (tx: Transaction, runId: string): Promise<void> =>
  enqueue(tx, verifyJob, { runId }, { key: `${verifyJob}:${runId}` })

/** Enqueues what comes next for a run that is not finished; a job that waits already is not doubled. */
export async function enqueueNext(tx: Transaction, run: Pick<RunRow, 'id' | 'state'>): Promise<void> {
  if (run.state === 'planning') await enqueueStart(tx, run.id)
  if (run.state === 'verifying') await enqueueVerify(tx, run.id)
  if (run.state === 'erasing')
    for (const { holder } of dueSteps(await stepsOf(tx, run.id))) await enqueueStep(tx, run.id, holder)
}

/** What a run tells of itself in a state. */
export function changeOf(run: RunRow, steps: readonly StepRow[], state: RunChange['state'], now: Date): RunChange {
  return {
    runId: run.id,
    requestId: run.requestId,
    receiptId: run.receiptId,
    state,
    erased: Object.fromEntries(
      steps.filter(({ planned }) => planned > 0).map(({ holder, erased }) => [holder, erased]),
    ),
    held: heldCounts(heldTogether(steps.map(({ held }) => held))),
    isKeptWhole: false,
    now,
  }
}

/**
 * After a plan, or a step of it that is `finished` now: on to the steps whose turn has come by it, or to verification when all are done. The
 * run is locked, and erasing. Steps that had their turn before keep their job, and its back-off.
 */
export async function goOn(
  tx: Transaction,
  run: RunRow,
  { onChange }: Pick<SubjectErasurePorts, 'onChange'>,
  now: Date,
  finished?: string,
): Promise<void> {
  const steps = await stepsOf(tx, run.id)
  if (steps.every(({ state }) => state === 'done')) {
    await tx.erasureRun.update({ where: { id: run.id }, data: { state: 'verifying', erasedAt: now } })
    await enqueueVerify(tx, run.id)
    return onChange(tx, changeOf(run, steps, 'verifying', now))
  }
  const before = steps.map((step) => (step.holder === finished ? { ...step, state: 'running' as const } : step))
  const had = finished === undefined ? [] : dueSteps(before).map(({ holder }) => holder)
  for (const { holder } of dueSteps(steps)) if (!had.includes(holder)) await enqueueStep(tx, run.id, holder)
}

/** It must look again at what there is: a hold was set or ended, or something was left. The run is locked. */
export async function planAgain(tx: Transaction, runId: string): Promise<void> {
  await tx.erasureRun.update({ where: { id: runId }, data: { state: 'planning' } })
  await enqueueStart(tx, runId)
}

export async function viewOf(tx: Transaction, run: RunRow): Promise<RunView> {
  const { holdsSeen: _seen, planId: _plan, ...shown } = run
  return {
    ...shown,
    steps: (await stepsOf(tx, run.id)).map(({ position, held, ...step }) => ({
      ...step,
      stage: stageAt(position),
      held: heldCounts(held),
    })),
  }
}
