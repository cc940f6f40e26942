import { z } from 'zod'
import { endWaits } from '#lib/domains/erasure/engine/waits.ts'
import { type EnqueueOptions, enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { BeginRun, RunChange, RunState, RunView, StepState } from '#lib/kernel/erasure-run.ts'
import { type ProjectPart, partKinds, type Subject } from '#lib/kernel/erasure-scope.ts'
import { newId, newUuid } from '#lib/kernel/ids.ts'
import type { EngineDeps } from '../engine/subject-erasures.ts'
import { lockPart, lockRunRow, stepTurns } from './repository.ts'
import { addLegalHoldCounts, dueSteps, legalHoldCounts, participating, type RunScope, stageAt } from './run-rules.ts'

export const startJob = 'erasure.start'
export const stepJob = 'erasure.step'
export const verifyJob = 'erasure.verify'

export type RunRow = Awaited<ReturnType<typeof lockRunRow>>[number]
export interface StepRow {
  holder: string
  store: string
  position: number
  state: StepState
  attempts: number
  planned: number
  erased: number
  held: Record<string, number>
  /** Additional counts by name. */
  results: Record<string, number>
  residue: number | null
  fault: string | null
  startedAt: Date | null
  finishedAt: Date | null
  verifiedAt: Date | null
}
const Counts = z.record(z.string(), z.number().int())
const PartKind = z.enum(partKinds)

export const runSubjectOf = ({
  accountId,
  agents,
  participants,
}: Pick<RunRow, 'accountId' | 'agents' | 'participants'>): Subject => ({
  account: accountId,
  agents,
  ...participating(participants),
})
/** Returns the project part of a run; null when the run erases a subject. */
export const runPartOf = ({
  partKind,
  partId,
  projectId,
  conversationId,
}: Pick<RunRow, 'partKind' | 'partId' | 'projectId' | 'conversationId'>): ProjectPart | null =>
  partKind === null || partId === null || projectId === null
    ? null
    : { kind: PartKind.parse(partKind), id: partId, project: projectId, conversation: conversationId }
export function scopeOf(run: RunRow): RunScope {
  const part = runPartOf(run)
  return part ? { part } : { subject: runSubjectOf(run) }
}

/**
 * Locks the run until the transaction ends: exclusively to change it or its plan, `shared` to erase a page. Always the
 * first lock of an erasure transaction.
 */
export async function lockedRun(tx: Transaction, runId: string, { shared = false } = {}): Promise<RunRow | undefined> {
  const [run] = await lockRunRow(tx, { id: runId }, shared ? 'SHARE' : 'UPDATE')
  return run
}

/** The columns that {@link dueSteps} needs. */
export type StepTurn = Pick<StepRow, 'holder' | 'store' | 'position' | 'state'>
/** Returns the steps in order, without counts: every page of an erasure calls this. */
export const stepOrderOf = (tx: Transaction, runId: string): Promise<StepTurn[]> => stepTurns(tx, { runId })

/** Returns the steps in order. */
export const stepsOf = async (tx: Transaction, runId: string): Promise<StepRow[]> =>
  (await tx.erasureStep.findMany({ where: { runId }, orderBy: { position: 'asc' } })).map(({ runId: _, ...row }) => ({
    ...row,
    held: Counts.parse(row.held),
    results: Counts.parse(row.results),
  }))

const isFree = async (tx: Transaction, receiptId: string): Promise<boolean> =>
  (await tx.erasure.count({ where: { receiptId } })) + (await tx.erasureRun.count({ where: { receiptId } })) === 0

export interface Begun {
  runId: string
  receiptId: string
  auditId: string
}
/** Returns the newest run of a part. Kind, project and id together identify a part, because clients choose the ids. */
async function runOfPart(
  tx: Transaction,
  { kind, id, project }: ProjectPart,
): Promise<(Begun & { state: RunState }) | undefined> {
  const run = await tx.erasureRun.findFirst({
    where: { partKind: kind, partId: id, projectId: project },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    select: { id: true, receiptId: true, auditId: true, state: true },
  })
  return run?.auditId ? { runId: run.id, receiptId: run.receiptId, auditId: run.auditId, state: run.state } : undefined
}

/** Returns the existing run of the same request or part. Data that came back after a finished run needs a new run. */
async function begunBefore(tx: Transaction, { requestId, part }: BeginRun): Promise<Begun | undefined> {
  if (requestId !== null) {
    const begun = await tx.erasureRun.findUnique({ where: { requestId } })
    if (!begun) return undefined
    // Runs of old versions have no audit id.
    const auditId = begun.auditId ?? newUuid()
    if (begun.auditId === null) await tx.erasureRun.update({ where: { id: begun.id }, data: { auditId } })
    return { runId: begun.id, receiptId: begun.receiptId, auditId }
  }
  if (!part) return undefined
  // Serializes concurrent requests: the second one finds the run of the first.
  await lockPart(tx, part)
  const begun = await runOfPart(tx, part)
  return begun?.state === 'done' ? undefined : begun
}

/** Creates the run, reserves its receipt id and enqueues its start. The same request returns the same run. */
export async function beginRun(tx: Transaction, run: BeginRun): Promise<Begun> {
  const { requestId, subject, part, redacts = false, requestedBy, reason, receiptId: reserved, now } = run
  const begun = await begunBefore(tx, run)
  if (begun) return { runId: begun.runId, receiptId: begun.receiptId, auditId: begun.auditId }
  const runId = newId('run')
  const auditId = newUuid()
  const receiptId = reserved !== undefined && (await isFree(tx, reserved)) ? reserved : newId('rcpt')
  await tx.erasureRun.create({
    data: {
      id: runId,
      requestId,
      receiptId,
      auditId,
      accountId: subject.account,
      agents: [...new Set(subject.agents)].sort(),
      participants: [...new Set(subject.participants)].sort(),
      partKind: part?.kind ?? null,
      partId: part?.id ?? null,
      projectId: part?.project ?? null,
      conversationId: part?.conversation ?? null,
      redacts,
      requestedBy,
      reason,
      createdAt: now,
    },
  })
  // The request that creates the run of a part executes it after the commit; the queue takes over after a crash.
  await enqueueStart(tx, runId, part ? handOver : 0)
  return { runId, receiptId, auditId }
}

/**
 * Deletes the run of a part before its first step, so that the part can be read and written again. Nothing of the part
 * is erased yet.
 * Returns false when a step may have begun, or when the run closes a project. The run must be the first lock of the
 * transaction.
 */
export async function cancelRun(
  tx: Transaction,
  runId: string,
  { parts }: Pick<EngineDeps, 'parts'>,
): Promise<boolean> {
  const run = await lockedRun(tx, runId)
  const part = run && runPartOf(run)
  // A replay ignores intents in the ledger without a commit.
  if (!part || part.kind === 'project' || run.state !== 'planning' || run.plannedAt !== null) return false
  await parts.release(tx, part)
  await tx.erasureRun.delete({ where: { id: runId } })
  return true
}

/** Milliseconds of system time before the queue takes over a run from the request that created it. */
const handOver = 30_000
/** `wait`: milliseconds of system time until the job is due. */
export const enqueueStart = (tx: Transaction, runId: string, wait = 0): Promise<void> =>
  enqueue(
    tx,
    startJob,
    { runId },
    { key: `${startJob}:${runId}`, ...(wait > 0 && { runAt: new Date(Date.now() + wait) }) },
  )
/** `wait`: milliseconds of system time until the next try of the store. */
export interface StoreWait {
  wait: number
}
export const waitingJob = (store: StoreWait | undefined): EnqueueOptions =>
  store ? { runAt: new Date(Date.now() + store.wait), isWaiting: true } : {}
export const enqueueStep = (tx: Transaction, runId: string, holder: string, store?: StoreWait): Promise<void> =>
  enqueue(tx, stepJob, { runId, holder }, { key: `${stepJob}:${runId}:${holder}`, ...waitingJob(store) })
const enqueueVerify = (tx: Transaction, runId: string): Promise<void> =>
  enqueue(tx, verifyJob, { runId }, { key: `${verifyJob}:${runId}` })
/** Enqueues the start or the verification of a run that waits for a store, depending on its state. */
export const enqueueAgain = (tx: Transaction, { id, state }: Pick<RunRow, 'id' | 'state'>, store: StoreWait) => {
  const name = state === 'verifying' ? verifyJob : startJob
  return enqueue(tx, name, { runId: id }, { key: `${name}:${id}`, ...waitingJob(store) })
}

/** Enqueues the next job of an unfinished run; a job that already waits is not duplicated. */
export async function enqueueNext(tx: Transaction, run: Pick<RunRow, 'id' | 'state'>): Promise<void> {
  if (run.state === 'planning') await enqueueStart(tx, run.id)
  if (run.state === 'verifying') await enqueueVerify(tx, run.id)
  if (run.state === 'erasing')
    for (const { holder } of dueSteps(await stepOrderOf(tx, run.id))) await enqueueStep(tx, run.id, holder)
}

/** Builds the change event of a run for a new state. */
export function runChangeOf(run: RunRow, steps: readonly StepRow[], state: RunChange['state'], now: Date): RunChange {
  return {
    runId: run.id,
    requestId: run.requestId,
    part: runPartOf(run),
    receiptId: run.receiptId,
    state,
    erased: Object.fromEntries(
      steps.filter(({ planned }) => planned > 0).map(({ holder, erased }) => [holder, erased]),
    ),
    held: legalHoldCounts(addLegalHoldCounts(steps.map(({ held }) => held))),
    isRetainedWhole: false,
    now,
  }
}

/**
 * Continues a locked, erasing run after a plan, or after the step `finished`: enqueues the steps that are now due, or
 * the verification when all are done. Steps that were due before keep their job and its back-off.
 */
export async function advanceRun(
  tx: Transaction,
  run: RunRow,
  { onChange }: Pick<EngineDeps, 'onChange'>,
  now: Date,
  finished?: string,
): Promise<void> {
  const steps = await stepOrderOf(tx, run.id)
  if (steps.every(({ state }) => state === 'done')) {
    await tx.erasureRun.update({ where: { id: run.id }, data: { state: 'verifying', erasedAt: now } })
    await endWaits(tx, run.id)
    await enqueueVerify(tx, run.id)
    return onChange(tx, runChangeOf(run, await stepsOf(tx, run.id), 'verifying', now))
  }
  const before = steps.map((step) => (step.holder === finished ? { ...step, state: 'running' as const } : step))
  const had = finished === undefined ? [] : dueSteps(before).map(({ holder }) => holder)
  for (const { holder } of dueSteps(steps)) if (!had.includes(holder)) await enqueueStep(tx, run.id, holder)
}

/** Plans a locked run again, because a hold was set or ended, or because residue was found. */
export async function planAgain(tx: Transaction, runId: string): Promise<void> {
  await tx.erasureRun.update({ where: { id: runId }, data: { state: 'planning' } })
  await enqueueStart(tx, runId)
}

export async function runViewOf(tx: Transaction, run: RunRow): Promise<RunView> {
  const { holdsSeen: _seen, planId: _plan, partKind: _kind, partId: _id, redacts: _redacts, ...rest } = run
  const { projectId: _project, conversationId: _conversation, projects: _projects, ...shown } = rest
  const mentions = await tx.remainingMention.findMany({
    where: { runId: run.id },
    omit: { runId: true },
    orderBy: [{ store: 'asc' }, { kind: 'asc' }, { id: 'asc' }, { field: 'asc' }],
  })
  const steps = await stepsOf(tx, run.id)
  const isRefused = run.fault?.startsWith('store_refuses:') === true
  const mayWait = run.fault === 'unavailable' || steps.some(({ fault }) => fault === 'unavailable')
  const waiting =
    mayWait || isRefused
      ? await tx.erasureWait.findMany({
          where: { runId: run.id },
          select: { store: true, since: true, refusal: true },
          orderBy: [{ since: 'asc' }, { store: 'asc' }],
        })
      : []
  return {
    ...shown,
    part: runPartOf(run),
    mentions,
    waits: waiting.filter(({ refusal }) => mayWait && refusal === null).map(({ store, since }) => ({ store, since })),
    refusedBy: waiting.filter(({ refusal }) => isRefused && refusal !== null).map(({ store }) => store),
    steps: steps.map(({ position, held, ...step }) => ({
      ...step,
      stage: stageAt(position),
      held: legalHoldCounts(held),
    })),
  }
}
