import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, type ErasedWords, type ItemId, longestSearch, needsWords } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { fingerprintsItems, receiptItems } from '../ledger/ledger-history.ts'
import {
  type Accounting,
  adminActLines,
  fingerprintRetention,
  receiptContent,
  storeReceipt,
  type VerifiedErasure,
} from '../receipts/receipt.ts'
import {
  dataSourcesInOrder,
  longestRetry,
  maxRounds,
  namedInLog,
  nobody,
  recheckAfter,
  scopeKindOf,
  scopeNameOf,
} from '../runs/run-rules.ts'
import {
  enqueueAgain,
  lockedRun,
  planAgain,
  type RunRow,
  runChangeOf,
  runSubjectOf,
  type StepRow,
  scopeOf,
  stepsOf,
} from '../runs/runs.ts'
import { recordDeletion } from '../writes.ts'
import type { EngineDeps } from './dependencies.ts'
import { lowerFence } from './lock.ts'
import { countMentions, noteMentions, type PlanTarget, planTargetOf, type RunMentions, withPages } from './plan.ts'
import { enqueueLateWrites } from './run-plan.ts'
import {
  endWaits,
  faultOf,
  forgetReadWords,
  isStillWaiting,
  recordRefusal,
  recordWait,
  refusalBy,
  unavailableStore,
  withStore,
} from './waits.ts'

/**
 * Locks and returns the run while the verified plan is current. Plans the run again when a hold was set or ended since
 * then.
 */
async function lockVerifiedRun(
  tx: Transaction,
  { id, planId }: RunRow,
  { holds, now }: EngineDeps,
): Promise<{ run: RunRow; target: PlanTarget } | undefined> {
  const run = await lockedRun(tx, id)
  if (run?.state !== 'verifying' || run.planId !== planId) return undefined
  const target = await planTargetOf(tx, scopeOf(run), holds, now())
  if (target.fingerprint === run.holdsSeen) return { run, target }
  await planAgain(tx, id)
  return undefined
}

/** Clears fault and waits after all stores were searched. */
async function clearFault(tx: Transaction, { id, fault }: RunRow): Promise<void> {
  if (fault === null) return
  await tx.erasureRun.update({ where: { id }, data: { fault: null } })
  await endWaits(tx, id)
}

/** Returns the data sources of shared stores that had pages: others can write to these stores past every fence. */
async function sharedSourcesOf(tx: Transaction, runId: string, dataSources: readonly DataSource[]): Promise<string[]> {
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
const completeRun = (known: RunRow, receipt: Receipt, deps: EngineDeps): Promise<void> =>
  deps.db.transaction(async (tx) => {
    const record = await lockVerifiedRun(tx, known, deps)
    if (!record) return
    const { run, target } = record
    await clearFault(tx, run)
    const at = new Date(receipt.signed_at)
    const scope = scopeOf(run)
    const steps = await stepsOf(tx, run.id)
    const isHeld = target.retained.length > 0 || steps.some(({ held }) => Object.keys(held).length > 0)
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
async function forget(tx: Transaction, run: RunRow, at: Date, deps: EngineDeps): Promise<void> {
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
async function forgetPages(runId: string, { db, dataSources }: EngineDeps): Promise<void> {
  const run = await db.prisma.erasureRun.findUnique({ where: { id: runId }, select: { state: true } })
  if (run?.state !== 'done') return
  for (const dataSource of dataSources)
    await dataSource.forget?.(runId).catch((error: unknown) => logFault(error, { runId, holder: dataSource.name }))
}

interface ResidueSearch {
  /** Null when legal holds cover the whole scope. Data sources then search for erased items only. */
  scope: ErasureScope | null
  /** The items that a data source erased. */
  itemsOf(dataSource: DataSource): readonly ItemId[] | Promise<readonly ItemId[]>
  /** The erased words, for data sources that compare texts with them. */
  words?: ErasedWords | undefined
  now(): Date
}

/**
 * Searches the data sources again, with other queries than those that erased. Returns the number of remaining records
 * by data source, without data sources in which nothing remains.
 * @throws StoreUnavailable or StoreRefused when a store cannot be searched
 */
export async function searchResidue(
  dataSources: readonly DataSource[],
  { scope, itemsOf, words, now }: ResidueSearch,
): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (const { dataSource } of dataSourcesInOrder(dataSources)) {
    const items = await itemsOf(dataSource)
    if (scope === null && items.length === 0) continue
    const search = () =>
      dataSource.residue(scope ?? { subject: nobody }, items, now(), needsWords(dataSource) ? words : undefined)
    const residue = await withStore(dataSource.store, search)
    if (residue > 0) found.set(dataSource.name, residue)
  }
  return found
}

/** Returns the residue of a run by data source. */
async function residueOf(run: RunRow, { free }: PlanTarget, deps: EngineDeps): Promise<Map<string, number>> {
  const { db, dataSources, now } = deps
  const erased = await withPages(db, run.id, { isErased: true })
  const itemsOf = async ({ name }: { name: string }): Promise<string[]> => {
    if (!erased.has(name)) return []
    const where = { runId: run.id, holder: name, erasedAt: { not: null } }
    return (await db.prisma.erasurePage.findMany({ where, select: { items: true } })).flatMap(({ items }) => items)
  }
  const words = await db.transaction((tx) => deps.words.of(tx, run.id))
  return searchResidue(dataSources, { scope: free, itemsOf, words, now })
}

/** Sends residue back to be erased. After too many rounds, the run fails. */
const sendBack = (known: RunRow, residues: ReadonlyMap<string, number>, deps: EngineDeps): Promise<void> =>
  deps.db.transaction(async (tx) => {
    const record = await lockVerifiedRun(tx, known, deps)
    if (!record) return
    const { run } = record
    await clearFault(tx, run)
    for (const [holder, residue] of residues)
      await tx.erasureStep.updateMany({ where: { runId: run.id, holder }, data: { residue } })
    if (run.rounds < maxRounds) {
      await tx.erasureRun.update({ where: { id: run.id }, data: { rounds: { increment: 1 } } })
      return planAgain(tx, run.id)
    }
    const at = deps.now()
    await tx.erasureRun.update({ where: { id: run.id }, data: { state: 'failed', finishedAt: at } })
    await deps.onChange(tx, runChangeOf(run, await stepsOf(tx, run.id), 'failed', at))
  })

/** Searches PostgreSQL for erased words in texts of other authors, and counts all places where words or names remain or were replaced. */
const findMentions = (runId: string, { db, words, now }: EngineDeps): Promise<RunMentions> =>
  db.transaction(
    async (tx) => {
      await noteMentions(tx, runId, await words.mentions(tx, runId, now()))
      return countMentions(tx, runId)
    },
    { longest: longestSearch },
  )

const hasHeld = (steps: readonly StepRow[]): boolean => steps.some(({ held }) => Object.keys(held).length > 0)

/** Returns how long emails about the erasure remain in the mail folder. */
function emailsOf({ requestId, accountId }: RunRow, steps: readonly StepRow[], { facts }: EngineDeps) {
  if (requestId === null || accountId === null || !facts.emailsInFolder) return 'none'
  return hasHeld(steps) ? 'all' : 'last'
}

/** Returns what the receipt says of a subject that is retained, in addition to what every receipt says. */
async function subjectRetention(
  run: RunRow,
  steps: readonly StepRow[],
  at: Date,
  deps: EngineDeps,
): Promise<NonNullable<VerifiedErasure['subject']>> {
  const whileHeld: { what: string; ground: string }[] = []
  if (hasHeld(steps))
    for (const dataSource of deps.dataSources)
      whileHeld.push(...((await dataSource.whileHeld?.(runSubjectOf(run))) ?? []))
  return {
    requestClosedAt: run.requestId === null ? undefined : hasHeld(steps) ? null : at,
    whileHeld: [...whileHeld, ...adminActLines(await deps.hasAdminActs(run.accountId, at))],
    letters: emailsOf(run, steps, deps),
  }
}

/** Signs the receipt of a run in which a search found no residue. */
async function signReceipt(
  run: RunRow,
  steps: readonly StepRow[],
  { hasWords }: { hasWords: boolean },
  deps: EngineDeps,
): Promise<Receipt> {
  const { db, dataSources, facts, now } = deps
  // `residueIn` only queries the object store.
  const inStores = await withStore('objects', () => deps.residueIn(storesOf(steps)))
  const isSearchedAgain = (await sharedSourcesOf(db.prisma, run.id, dataSources)).length > 0
  const { mentions, replaced } = await findMentions(run.id, deps)
  const at = now()
  const subject = await subjectRetention(run, steps, at, deps)
  const deletedAt = run.erasedAt ?? at
  const { receiptId, reason } = run
  return deps.signer.sign(
    receiptContent(deps, {
      receiptId,
      scope: scopeOf(run),
      deletedAt,
      reason,
      outcomes: steps,
      subject,
      inStores,
      isSearchedAgain,
      mentions,
      at,
      namesReplaced: run.redacts ? replaced : null,
      words: hasWords ? fingerprintRetention(deletedAt, facts) : [],
    }),
  )
}

/** Appends the commit row, after wordings that stores may have added since the plan: a replay reads what precedes it. */
async function appendCommit({ id: runId, receiptId: id }: RunRow, steps: readonly StepRow[], deps: EngineDeps) {
  const { db, ledger, words, now } = deps
  const erased = Object.fromEntries(steps.map((step) => [step.holder, step.erased]))
  const stored = await words.storedFingerprints(db.prisma, runId)
  const commit = { kind: 'commit', id, at: now().toISOString(), erased } as const
  const select = { wordsSince: true }
  const run = stored?.isChanged ? await db.prisma.erasureRun.findUnique({ where: { id: runId }, select }) : null
  await withStore('ledger', async () => {
    if (stored?.isChanged) await ledger.append(fingerprintsItems(id, stored.fingerprints, run?.wordsSince ?? null))
    await ledger.append(commit)
  })
  return { hasWords: stored !== undefined }
}

/** A restored database that lost the receipt gets every statement of it from the ledger, not only the counts. */
const appendReceipt = (receipt: Receipt, { ledger }: EngineDeps): Promise<void> =>
  withStore('ledger', () => ledger.append(receiptItems(receipt)))

/** Returns the run to verify, or `later` while enough other runs already try the store that it waits for. */
const verifiableRun = (runId: string, { db, holds, now }: EngineDeps) =>
  db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId)
    if (run?.state !== 'verifying') return undefined
    if (run.fault === 'unavailable' && (await isStillWaiting(tx, runId, null, now()))) {
      await enqueueAgain(tx, run, { wait: longestRetry })
      return 'later'
    }
    return { run, target: await planTargetOf(tx, scopeOf(run), holds, now()), steps: await stepsOf(tx, runId) }
  })

/** Returns true while the run waits for a store. */
async function verifyRun(runId: string, deps: EngineDeps): Promise<boolean> {
  const { interrupt } = deps
  const found = await verifiableRun(runId, deps)
  if (found === undefined || found === 'later') return found === 'later'
  interrupt('verify.before')
  const { run, target, steps } = found
  const committed = await appendCommit(run, steps, deps)
  interrupt('verify.committed')
  const residue = await residueOf(run, target, deps)
  if (residue.size > 0) await sendBack(run, residue, deps)
  else {
    const receipt = await signReceipt(run, steps, committed, deps)
    await appendReceipt(receipt, deps)
    interrupt('verify.signed')
    await completeRun(run, receipt, deps)
    await forgetPages(run.id, deps)
  }
  interrupt('verify.after')
  return false
}

/** A store that rejects requests needs an admin: the run records it, and the queue retries with growing intervals. */
const noteRefusal = (runId: string, error: unknown, { db, now }: EngineDeps): Promise<void> =>
  db.transaction(async (tx) => {
    const refused = refusalBy(error, 'postgresql')
    const run = await lockedRun(tx, runId)
    if (!refused || run?.state !== 'verifying') return
    await tx.erasureRun.update({ where: { id: runId }, data: { fault: faultOf(error) } })
    await recordRefusal(tx, runId, refused, now())
  })

/**
 * An unavailable store is no failure: the search is retried however long it takes, and nothing is signed before.
 * Returns false when the run is over.
 */
const wait = (runId: string, store: string, { db, now }: EngineDeps): Promise<boolean> =>
  db.transaction(async (tx) => {
    const run = await lockedRun(tx, runId)
    if (run?.state !== 'verifying') return false
    await tx.erasureRun.update({ where: { id: runId }, data: { fault: 'unavailable' } })
    await enqueueAgain(tx, run, { wait: await recordWait(tx, runId, store, now()) })
    return true
  })

/**
 * The end of a run. Searches every data source again, with other queries than those that erased. Residue is sent back
 * to be erased. Without residue, the receipt is signed, and one transaction completes the run. Shared stores, to which
 * others also write, are searched again a day later.
 *
 * Idempotent and safe to run concurrently. Returns true while a store does not answer: nothing is signed then, and a
 * later job is enqueued.
 */
export const runVerification =
  (deps: EngineDeps) =>
  async (runId: string): Promise<boolean> => {
    try {
      return await verifyRun(runId, deps)
    } catch (error) {
      const store = unavailableStore(error, 'postgresql')
      if (store === undefined) {
        await noteRefusal(runId, error, deps).catch(() => undefined)
        throw error
      }
      return wait(runId, store, deps).catch(() => {
        throw error
      })
    }
  }

/** Stores from which records were erased. */
const storesOf = (steps: readonly StepRow[]): string[] => [
  ...new Set(steps.flatMap(({ store, planned }) => (planned > 0 ? [store] : []))),
]
