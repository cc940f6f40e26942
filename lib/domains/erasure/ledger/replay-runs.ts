import { planTargetOf } from '#lib/domains/erasure/engine/plans.ts'
import { scopeKindOf, scopeNameOf } from '#lib/domains/erasure/runs/run-names.ts'
import { isNobody, nobody, participating, type RunScope } from '#lib/domains/erasure/runs/run-rules.ts'
import { beginRun } from '#lib/domains/erasure/runs/runs.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import type { PartIntent, SubjectIntent } from '#lib/stores/ledger/ledger.ts'
import { reason, requestedBy } from './reinstatement.ts'
import type { Replay, ReplayDeps } from './replay-report.ts'

const without = (subject: Subject, gone: Subject): Subject => ({
  account: subject.account === gone.account ? null : subject.account,
  agents: subject.agents.filter((agent) => !gone.agents.includes(agent)),
  ...participating(subject.participants?.filter((id) => !gone.participants?.includes(id))),
})

/** Returns true when a data source finds records of the subject that no current hold covers. */
async function hasRecords(subject: Subject, { db, dataSources, holds, now }: ReplayDeps): Promise<boolean> {
  const { free } = await db.transaction((tx) => planTargetOf(tx, { subject }, holds, now()))
  if (free === null) return false
  for (const dataSource of dataSources) if ((await dataSource.residue(free, [], now())) > 0) return true
  return false
}

/** Returns the unfinished run that was in the backup, if any. */
async function caughtRun(receiptId: string, { db }: ReplayDeps): Promise<string | undefined> {
  const run = await db.prisma.erasureRun.findUnique({ where: { receiptId }, select: { id: true, state: true } })
  return run && run.state !== 'done' && run.state !== 'held' ? run.id : undefined
}

/** Returns the unfinished run that an earlier replay began for the same subject or part, if any. */
async function begunRun(scope: RunScope, { db }: ReplayDeps): Promise<string | undefined> {
  const subject = 'part' in scope ? nobody : scope.subject
  const part = 'part' in scope ? { partId: scope.part.id, projectId: scope.part.project } : { partId: null }
  const run = await db.prisma.erasureRun.findFirst({
    where: {
      ...{ requestedBy, state: { notIn: ['done', 'held'] }, accountId: subject.account, ...part },
      agents: { hasEvery: [...subject.agents] },
      participants: { hasEvery: [...(subject.participants ?? [])] },
    },
    select: { id: true },
  })
  return run?.id
}

const newRun = async (scope: RunScope, redacts: boolean, deps: ReplayDeps): Promise<string> =>
  (await begunRun(scope, deps)) ?? beginAgain(scope, redacts, deps)

const beginAgain = (scope: RunScope, redacts: boolean, { db, parts, audit, now }: ReplayDeps): Promise<string> =>
  db.transaction(async (tx) => {
    const part = 'part' in scope ? scope.part : undefined
    // Marked immediately, because erased data must not be readable.
    if (part) await parts.raiseFence(tx, part, now())
    const subject = 'part' in scope ? nobody : scope.subject
    const run = { requestId: null, subject, ...(part && { part }), redacts, requestedBy, reason, now: now() }
    const { runId, receiptId } = await beginRun(tx, run)
    await audit(tx, {
      ...{ action: 'delete', actorId: requestedBy, at: now(), ip: '', details: { receipt: receiptId } },
      ...{ resourceType: scopeKindOf(scope), resourceId: scopeNameOf(scope) },
    })
    return runId
  })

/**
 * Returns the run that erases the subject again: the unfinished run of the backup, or a new one. Undefined when no data
 * came back.
 */
const runFor = async (
  { id, redacts }: SubjectIntent,
  restored: Subject,
  deps: ReplayDeps,
): Promise<string | undefined> =>
  (await caughtRun(id, deps)) ??
  ((await hasRecords(restored, deps)) ? newRun({ subject: restored }, redacts ?? false, deps) : undefined)

/** Executes a run to its end. Returns true when it is done or held. */
async function executeRun(
  receipt: string,
  runId: string,
  report: Replay,
  counted: 'subjects' | 'parts',
  { db, complete }: ReplayDeps,
): Promise<boolean> {
  // A failing run must not stop the replay; its jobs stay in the queue.
  const state = await complete(runId).catch((error: unknown) => {
    logFault(error, { operationId: 'replayErasures', runId })
    return 'erasing' as const
  })
  if (state !== 'done' && state !== 'held') {
    report.unfinished.push({ receipt, run: runId, state })
    return false
  }
  const run = await db.prisma.erasureRun.findUniqueOrThrow({ where: { id: runId }, select: { receiptId: true } })
  if ((await db.prisma.erasure.count({ where: { receiptId: run.receiptId } })) > 0) {
    report.receipts.push(run.receiptId)
    report[counted]++
  }
  return true
}

/** Returns the holds that covered data at that time and that the restored database lacks. */
async function lostHolds(heldBy: readonly string[], { db, holds }: ReplayDeps): Promise<string[]> {
  const known = new Set(await holds.known(db.prisma, heldBy))
  return heldBy.filter((hold) => !known.has(hold))
}

/** Returns true when only held records of the subject remain, so that its receipt can be restored. */
export async function replaySubject(intent: SubjectIntent, report: Replay, deps: ReplayDeps): Promise<boolean> {
  const lost = await lostHolds(intent.heldBy, deps)
  const { subject } = intent.scope
  const { before, since } = await deps.subjects.stored(deps.db.prisma, subject, new Date(intent.at))
  if (lost.length > 0 && !isNobody(before)) {
    report.refused.push({ receipt: intent.id, holds: lost })
    return false
  }
  const runId = await runFor(intent, without(subject, since), deps)
  if (runId === undefined || (await executeRun(intent.id, runId, report, 'subjects', deps))) return true
  await deps.db.transaction((tx) => deps.restrict(tx, without(subject, since), deps.now()))
  return false
}

/** Like {@link replaySubject}, for a part of a project as it was at its erasure. Later content in it stays. */
export async function replayPart(intent: PartIntent, report: Replay, deps: ReplayDeps): Promise<boolean> {
  const restored = await deps.db.transaction((tx) => deps.parts.restored(tx, intent.scope.part, new Date(intent.at)))
  const lost = await lostHolds(intent.heldBy, deps)
  if (lost.length > 0 && restored.length > 0) {
    report.refused.push({ receipt: intent.id, holds: lost })
    return false
  }
  const caught = await caughtRun(intent.id, deps)
  if (caught !== undefined) return executeRun(intent.id, caught, report, 'parts', deps)
  let isWhole = true
  for (const part of restored) {
    const runId = await newRun({ part }, intent.redacts ?? false, deps)
    isWhole = (await executeRun(intent.id, runId, report, 'parts', deps)) && isWhole
  }
  return isWhole
}
