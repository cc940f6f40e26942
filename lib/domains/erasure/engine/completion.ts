import { recordDeletion } from '#lib/domains/erasure/deletion-log.ts'
import { forgetReadWords } from '#lib/domains/erasure/reading/waiting.ts'
import { type Accounting, storeReceipt } from '#lib/domains/erasure/receipts/receipts.ts'
import { namedInLog, scopeKindOf, scopeNameOf } from '#lib/domains/erasure/runs/run-names.ts'
import { recheckAfter } from '#lib/domains/erasure/runs/run-rules.ts'
import {
  lockedRun,
  planAgain,
  type RunRow,
  runChangeOf,
  type StepRow,
  scopeOf,
  stepsOf,
} from '#lib/domains/erasure/runs/runs.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { lowerFence } from './fence.ts'
import { enqueueLateWrites } from './late-writes.ts'
import { type PlanTarget, planTargetOf } from './plans.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'
import { endWaits } from './waits.ts'

export interface CompletionDeps extends SubjectErasurePorts {
  db: Database
  dataSources: readonly DataSource[]
  now(): Date
}

/**
 * Locks and returns the run while the verified plan is current. Plans the run again when a hold was set or ended since
 * then.
 */
export async function lockVerifiedRun(
  tx: Transaction,
  { id, planId }: RunRow,
  { holds, now }: CompletionDeps,
): Promise<{ run: RunRow; target: PlanTarget } | undefined> {
  const run = await lockedRun(tx, id)
  if (run?.state !== 'verifying' || run.planId !== planId) return undefined
  const target = await planTargetOf(tx, scopeOf(run), holds, now())
  if (target.fingerprint === run.holdsSeen) return { run, target }
  await planAgain(tx, id)
  return undefined
}

/** Clears fault and waits after all stores were searched. */
export async function clearFault(tx: Transaction, { id, fault }: RunRow): Promise<void> {
  if (fault === null) return
  await tx.erasureRun.update({ where: { id }, data: { fault: null } })
  await endWaits(tx, id)
}

/** Returns the data sources of shared stores that had pages: others can write to these stores past every fence. */
export async function sharedSourcesOf(
  tx: Transaction,
  runId: string,
  dataSources: readonly DataSource[],
): Promise<string[]> {
  const shared = dataSources.filter(({ isShared }) => isShared).map(({ name }) => name)
  const where = { runId, holder: { in: shared } }
  const pages = await tx.erasurePage.findMany({ where, distinct: ['holder'], select: { holder: true } })
  return pages.map(({ holder }) => holder)
}

/** Stores the signed receipt, and the deletions that no earlier receipt of the run listed in the deletion log. */
const storeReceiptOf = (
  tx: Transaction,
  run: RunRow,
  steps: readonly StepRow[],
  receipt: Receipt,
): Promise<Accounting> =>
  storeReceipt(tx, receipt, {
    results: Object.fromEntries(steps.map(({ holder, results }) => [holder, results])),
    record: (fresh) =>
      recordDeletion(tx, {
        requestedBy: run.requestedBy,
        reason: run.reason,
        scope: namedInLog(scopeOf(run)),
        results: fresh,
        auditId: run.auditId,
        now: new Date(receipt.signed_at),
      }),
  })

/**
 * Completes a verified run in one transaction: receipt, deletion log, audit entry, fence and state. With records under
 * a legal hold, the run is held and continues when the hold ends.
 */
export const completeRun = (known: RunRow, receipt: Receipt, deps: CompletionDeps): Promise<void> =>
  deps.db.transaction(async (tx) => {
    const record = await lockVerifiedRun(tx, known, deps)
    if (!record) return
    const { run, target } = record
    await clearFault(tx, run)
    const at = new Date(receipt.signed_at)
    const scope = scopeOf(run)
    const steps = await stepsOf(tx, run.id)
    const isHeld = target.kept.length > 0 || steps.some(({ held }) => Object.keys(held).length > 0)
    const state = isHeld ? 'held' : 'done'
    const before = await storeReceiptOf(tx, run, steps, receipt)
    await tx.erasureStep.updateMany({ where: { runId: run.id }, data: { residue: 0, verifiedAt: at } })
    const erased = steps.reduce((sum, step) => sum + step.erased, 0)
    await deps.audit(tx, {
      action: 'delete',
      actorId: 'system:erasure.verify',
      resourceType: scopeKindOf(scope),
      resourceId: scopeNameOf(scope),
      at,
      ip: '',
      details: { receipt: run.receiptId, state, items: erased - before.total },
    })
    await tx.erasureRun.update({ where: { id: run.id }, data: { state, finishedAt: at, rounds: 0 } })
    if (state === 'done') {
      await enqueueLateWrites(tx, run, deps)
      await forget(tx, run, at, deps)
    }
    await deps.onChange(tx, runChangeOf(run, steps, state, at))
  })

/** Deletes the run's data that names the subject. The ledger, the receipt and the logs contain what must be retained. */
async function forget(tx: Transaction, run: RunRow, at: Date, deps: CompletionDeps): Promise<void> {
  const { dataSources } = deps
  await lowerFence(tx, run.id)
  const again = await sharedSourcesOf(tx, run.id, dataSources)
  await tx.erasurePage.deleteMany({ where: { runId: run.id, holder: { notIn: again } } })
  await tx.erasureTally.deleteMany({ where: { runId: run.id } })
  const recheckAt = again.length > 0 ? new Date(at.getTime() + recheckAfter) : null
  const isTheirs = run.requestedBy === `user:${run.accountId}` || run.agents.includes(run.requestedBy)
  await tx.erasureRun.update({
    where: { id: run.id },
    data: {
      accountId: null,
      agents: [],
      participants: [],
      recheckAt,
      ...(isTheirs && { requestedBy: 'subject' }),
    },
  })
  await forgetReadWords(tx, run.id, deps)
}

/**
 * Deletes the stores' own data about the pages of a finished run. If a store does not answer, that happens after the
 * second search.
 */
export async function forgetPages(runId: string, { db, dataSources }: CompletionDeps): Promise<void> {
  const run = await db.prisma.erasureRun.findUnique({ where: { id: runId }, select: { state: true } })
  if (run?.state !== 'done') return
  for (const dataSource of dataSources)
    await dataSource.forget?.(runId).catch((error: unknown) => logFault(error, { runId, holder: dataSource.name }))
}
