import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { type ErasureProgress, readErasureProgress, watchErasureProgress } from '#lib/domains/erasure/contract.ts'
import { endWaits } from '#lib/domains/erasure/engine/waits.ts'
import type { RetainedErasure } from '#lib/domains/erasure/ledger/ledger-history.ts'
import { type EnqueueOptions, enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { BeginRun, RunChange, RunState, RunView, StepState } from '#lib/kernel/erasure-run.ts'
import { type ProjectPart, partKinds, type Subject } from '#lib/kernel/erasure-scope.ts'
import { newId, newUuid } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read, stream } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { EngineDeps, RunFingerprints } from '../engine/dependencies.ts'
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
type StepTurn = Pick<StepRow, 'holder' | 'store' | 'position' | 'state'>
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

interface Begun {
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
 * Stores the run of an erasure that a restored database lost, so that complete readings cover it again. Only the ledger describes it: its
 * steps, its request and its entry in the deletion log are not known, and it was not planned here. `readAt`: when the ledger says that a
 * complete reading ended; null if it does not, so that the run waits for one. Does nothing if the run exists.
 */
export async function reinstateRun(
  tx: Transaction,
  receiptId: string,
  { scope, redacts, startedAt, erasedAt, projects, fingerprints, wordsSince }: RetainedErasure,
  { requestedBy, reason, readAt }: { requestedBy: string; reason: string; readAt: Date | null },
  { words }: { words: Pick<RunFingerprints, 'restore'> },
): Promise<void> {
  const id = newId('run')
  const part = 'part' in scope ? scope.part : undefined
  const run = {
    id,
    receiptId,
    // As in every run that is done: only the ledger and the receipt still name the subject.
    accountId: null,
    agents: [],
    participants: [],
    partKind: part?.kind ?? null,
    partId: part?.id ?? null,
    projectId: part?.project ?? null,
    conversationId: part?.conversation ?? null,
    redacts,
    projects: readAt === null ? [...projects] : [],
    requestedBy,
    reason,
    state: 'done' as const,
    createdAt: startedAt,
    erasedAt,
    finishedAt: erasedAt,
    readAt,
    wordsSince,
  }
  const { count } = await tx.erasureRun.createMany({ data: [run], skipDuplicates: true })
  if (count > 0 && readAt === null) await words.restore(tx, id, { projects, fingerprints })
}
/** True for the run of {@link reinstateRun}. */
export const isReinstated = ({ plannedAt }: { plannedAt: Date | null }): boolean => plannedAt === null

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
interface StoreWait {
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

/** Milliseconds between two reads of a followed erasure. */
const pause = 250
/** The same while no erasure has started for longer than {@link soon}: the id may be unknown. */
const longPause = 2_000
const soon = 60_000
/** Milliseconds after which a comment keeps the connection open through proxies. */
const silence = 15_000
/** Milliseconds. A browser connects again. */
const longest = 600_000
/** Streams of erasures at the same time in a process. Each reads two rows of an index four times a second. */
const maxStreams = 50
/**
 * The same for ids without an erasure. They have their own limit, because anybody can invent an id: a flood of them must not take the
 * places of people who watch their erasure.
 */
const maxUnknown = 25
/** Milliseconds after which a stream of an id without an erasure ends. A browser connects again. */
const longestUnknown = 120_000

const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0)

/** Whether nothing is being deleted until somebody retries the run: a step is stuck and blocks all others. */
const hasStopped = (state: RunState, steps: readonly Pick<StepRow, 'store' | 'position' | 'state'>[]): boolean =>
  state === 'erasing' && steps.some((step) => step.state === 'stuck') && dueSteps(steps).length === 0

/** The progress of the run that will sign, or has signed, a receipt. Undefined if no run has this receipt. */
async function progressOf(
  { prisma }: Pick<Database, 'prisma'>,
  receiptId: string,
): Promise<ErasureProgress | undefined> {
  const run = await prisma.erasureRun.findUnique({
    where: { receiptId },
    select: { state: true, steps: { orderBy: { position: 'asc' } }, waits: true },
  })
  if (!run) return undefined
  const waits = new Map(run.waits.map(({ store, since }) => [store, since.toISOString()]))
  const places = [...Map.groupBy(run.steps, ({ store }) => store)].map(([store, steps]) => {
    const held = sum(steps.flatMap((step) => Object.values(Counts.parse(step.held))))
    const planned = sum(steps.map((step) => step.planned))
    const isSearched = steps.every(({ verifiedAt }) => verifiedAt !== null)
    return {
      store,
      records: planned + held,
      remaining: Math.max(0, planned - sum(steps.map(({ erased }) => erased))) + held,
      held,
      found_again: isSearched ? sum(steps.map(({ residue }) => residue ?? 0)) : null,
      waiting_since: waits.get(store) ?? null,
    }
  })
  // A store that does not answer while the run plans has no steps yet.
  const unplanned = [...waits]
    .filter(([store]) => !run.steps.some((step) => step.store === store))
    .map(([store, since]) => ({ store, records: 0, remaining: 0, held: 0, found_again: null, waiting_since: since }))
  return {
    state: hasStopped(run.state, run.steps) ? 'failed' : run.state,
    places: [...places.filter(({ records, waiting_since }) => records > 0 || waiting_since !== null), ...unplanned],
  }
}

const notStarted: ErasureProgress = { state: 'waiting', places: [] }
const isLive = ({ state }: ErasureProgress): boolean =>
  state === 'waiting' || state === 'planning' || state === 'erasing' || state === 'verifying'

/** The progress of erasures for those who know the id of the receipt: read once, or followed as server-sent events. */
export function erasureProgress(db: Pick<Database, 'prisma'>) {
  const open = { known: 0, unknown: 0 }
  const max = { known: maxStreams, unknown: maxUnknown }
  const kindOf = ({ state }: ErasureProgress): 'known' | 'unknown' => (state === 'waiting' ? 'unknown' : 'known')
  const statusOf = async (receiptId: string) => (await progressOf(db, receiptId)) ?? notStarted

  async function* events(receiptId: string, first: ErasureProgress, closed: AbortSignal): AsyncGenerator<string> {
    const started = performance.now()
    const elapsed = () => performance.now() - started
    let progress = first
    let kind = kindOf(first)
    // Other streams may have opened between the check and the first read of this one. A browser connects again.
    if (open[kind] >= max[kind]) return
    let sent = ''
    let sentAt = started
    open[kind] += 1
    try {
      while (elapsed() < (kind === 'unknown' ? longestUnknown : longest)) {
        const text = JSON.stringify(progress)
        if (text !== sent) {
          yield `data: ${text}\n\n`
          sent = text
          sentAt = performance.now()
        } else if (performance.now() - sentAt > silence) {
          yield ': no change\n\n'
          sentAt = performance.now()
        }
        if (!isLive(progress)) return
        const between = kind === 'unknown' && elapsed() > soon ? longPause : pause
        await delay(between, undefined, { ref: false, signal: closed }).catch(() => undefined)
        if (closed.aborted) return
        progress = await statusOf(receiptId)
        open[kind] -= 1
        kind = kindOf(progress)
        open[kind] += 1
      }
    } finally {
      open[kind] -= 1
    }
  }

  /** A generator alone would notice only at its next event that nobody reads it any more, and keep its place until then. */
  function followed(receiptId: string, first: ErasureProgress): AsyncIterable<string> {
    const closing = new AbortController()
    const generator = events(receiptId, first, closing.signal)
    const iterator: AsyncIterator<string> = {
      next: () => generator.next(),
      return: () => {
        closing.abort()
        return generator.return(undefined)
      },
    }
    return { [Symbol.asyncIterator]: () => iterator }
  }

  return {
    progress: read(readErasureProgress, async (_ctx, { params }) => {
      const data = await progressOf(db, params.id)
      if (!data) throw new Problem('not_found', 'No erasure with this receipt has started.')
      return { body: { data }, resourceId: params.id }
    }),
    watchProgress: stream(watchErasureProgress, async (_ctx, { params }) => {
      const first = await statusOf(params.id)
      const kind = kindOf(first)
      if (open[kind] >= max[kind])
        throw new Problem('unavailable', {
          detail: 'Too many erasures are being followed. Read the progress instead.',
          headers: { 'Retry-After': '5' },
        })
      return {
        body: followed(params.id, first),
        resourceId: params.id,
        headers: {
          'Content-Type': 'text/event-stream; charset=utf-8',
          'Cache-Control': 'no-store',
          'X-Accel-Buffering': 'no',
        },
      }
    }),
  }
}
