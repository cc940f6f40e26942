import { recordDeletion } from '#lib/domains/erasure/deletion-log.ts'
import { fingerprintsRow } from '#lib/domains/erasure/ledger/ledger-history.ts'
import { derivedOf, notSearchedOf } from '#lib/domains/erasure/receipts/receipt-counts.ts'
import { type Accounting, storeReceipt } from '#lib/domains/erasure/receipts/receipts.ts'
import type { Signer } from '#lib/domains/erasure/receipts/signing.ts'
import {
  fingerprintRetention,
  type Residue,
  type RetentionFacts,
  residueAfter,
  retainedOfPart,
  retainedOfSubject,
} from '#lib/domains/erasure/rules.ts'
import { namedInLog, namedOnReceipt, scopeKindOf, scopeNameOf } from '#lib/domains/erasure/runs/run-names.ts'
import {
  addLegalHoldCounts,
  dataSourcesInOrder,
  legalHoldCounts,
  longestRetry,
  mostRounds,
  nobody,
  recheckAfter,
} from '#lib/domains/erasure/runs/run-rules.ts'
import {
  enqueueAgain,
  lockedRun,
  planAgain,
  type RunRow,
  runChangeOf,
  runPartOf,
  runSubjectOf,
  type StepRow,
  scopeOf,
  stepsOf,
} from '#lib/domains/erasure/runs/runs.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, longestSearch } from '#lib/kernel/data-source.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { lowerFence } from './fence.ts'
import { enqueueLateWrites } from './late-writes.ts'
import { countMentions, type MentionCount, noteMentions } from './mentions.ts'
import { type PlanTarget, planTargetOf, withPages } from './plans.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'
import {
  endWaits,
  faultOf,
  isStillWaiting,
  needing,
  recordRefusal,
  recordWait,
  refusalBy,
  unavailableStore,
} from './waits.ts'

export interface VerificationDeps extends SubjectErasurePorts {
  db: Database
  ledger: Ledger
  signer: Signer
  dataSources: readonly DataSource[]
  issuer: string
  facts: RetentionFacts
  now(): Date
}

/**
 * The end of a run. Searches every data source again, with other queries than those that erased. Residue is sent back
 * to be erased.
 * Without residue, the receipt is signed; the receipt, the deletion log, the fence and the run's state change in one
 * transaction. Shared stores, to which others also write, are searched again a day later.
 */
export function runVerification(deps: VerificationDeps) {
  const { db, ledger, signer, dataSources, holds, issuer, facts, now, interrupt } = deps

  /** Returns the residue by data source. */
  async function searchAll(run: RunRow, { free }: PlanTarget): Promise<Map<string, number>> {
    const found = new Map<string, number>()
    const erased = await withPages(db, run.id, { isErased: true })
    const runWords = await db.transaction((tx) => deps.words.of(tx, run.id))
    for (const { dataSource } of dataSourcesInOrder(dataSources)) {
      const pages = erased.has(dataSource.name)
        ? await db.prisma.erasurePage.findMany({
            where: { runId: run.id, holder: dataSource.name, erasedAt: { not: null } },
            select: { items: true },
          })
        : []
      const items = pages.flatMap((page) => page.items)
      const isAsked = free !== null || items.length > 0
      const words = dataSource.isShared ? runWords : undefined
      const search = () => dataSource.residue(free ?? { subject: nobody }, items, now(), words)
      found.set(dataSource.name, isAsked ? await needing(dataSource.store, search) : 0)
    }
    return found
  }

  /**
   * Locks and returns the run while the verified plan is current. Plans the run again when a hold was set or ended
   * since then.
   */
  async function verified(
    tx: Transaction,
    { id, planId }: RunRow,
  ): Promise<{ run: RunRow; target: PlanTarget } | undefined> {
    const run = await lockedRun(tx, id)
    if (run?.state !== 'verifying' || run.planId !== planId) return undefined
    const target = await planTargetOf(tx, scopeOf(run), holds, now())
    if (target.fingerprint === run.holdsSeen) return { run, target }
    await planAgain(tx, id)
    return undefined
  }

  /** Clears fault and waits after all stores were searched. */
  async function answered(tx: Transaction, { id, fault }: RunRow): Promise<void> {
    if (fault === null) return
    await tx.erasureRun.update({ where: { id }, data: { fault: null } })
    await endWaits(tx, id)
  }

  const sendBack = (known: RunRow, residues: ReadonlyMap<string, number>): Promise<void> =>
    db.transaction(async (tx) => {
      const record = await verified(tx, known)
      if (!record) return
      const { run } = record
      await answered(tx, run)
      for (const [holder, residue] of residues)
        await tx.erasureStep.updateMany({ where: { runId: run.id, holder }, data: { residue } })
      if (run.rounds < mostRounds) {
        await tx.erasureRun.update({ where: { id: run.id }, data: { rounds: { increment: 1 } } })
        return planAgain(tx, run.id)
      }
      await tx.erasureRun.update({ where: { id: run.id }, data: { state: 'failed', finishedAt: now() } })
      await deps.onChange(tx, runChangeOf(run, await stepsOf(tx, run.id), 'failed', now()))
    })

  /** Searches PostgreSQL for erased words in texts of other authors, and counts all places where words or names remain. */
  const findMentions = (runId: string): Promise<MentionCount[]> =>
    db.transaction(
      async (tx) => {
        await noteMentions(tx, runId, await deps.words.mentions(tx, runId, now()))
        return countMentions(tx, runId)
      },
      { longest: longestSearch },
    )

  /** Returns what data sources retain of a subject until the holds end; empty without held records. */
  async function keptWhileHeld(run: RunRow, steps: readonly StepRow[]): Promise<{ what: string; ground: string }[]> {
    if (steps.every(({ held }) => Object.keys(held).length === 0)) return []
    const kept: { what: string; ground: string }[] = []
    for (const dataSource of dataSources) kept.push(...((await dataSource.whileHeld?.(runSubjectOf(run))) ?? []))
    return kept
  }

  /** Returns the data sources of shared stores that had pages: others can write to these stores past every fence. */
  async function toSearchAgain(tx: Transaction, runId: string): Promise<string[]> {
    const shared = dataSources.filter(({ isShared }) => isShared).map(({ name }) => name)
    const where = { runId, holder: { in: shared } }
    return (await tx.erasurePage.findMany({ where, distinct: ['holder'], select: { holder: true } })).map(
      ({ holder }) => holder,
    )
  }

  function receiptOf(
    run: RunRow,
    steps: readonly StepRow[],
    whileHeld: readonly { what: string; ground: string }[],
    {
      inStores,
      isSearchedAgain,
      mentions,
      hasWords,
    }: {
      inStores: readonly Residue[]
      isSearchedAgain: boolean
      mentions: readonly MentionCount[]
      hasWords: boolean
    },
    at: Date,
  ): Omit<Receipt, 'jws'> {
    const deletedAt = run.erasedAt ?? at
    const isHeld = steps.some(({ held }) => Object.keys(held).length > 0)
    const words = hasWords ? fingerprintRetention(deletedAt, facts) : []
    const held = legalHoldCounts(addLegalHoldCounts(steps.map((step) => step.held)))
    const heldTotal = held.reduce((sum, { count }) => sum + count, 0)
    const beyondReach = steps.flatMap(({ holder, planned, results }) => {
      const left =
        planned > 0 ? dataSources.find(({ name }) => name === holder)?.leftBehind?.(planned, results) : undefined
      return left ? [left] : []
    })
    const lineOf = ({ holder, store, planned, erased }: StepRow): Receipt['stores'][number] => ({
      store,
      holder,
      what: dataSources.find(({ name }) => name === holder)?.what ?? holder,
      found: planned,
      deleted: erased,
      residue: 0,
      verified_at: at.toISOString(),
    })
    return {
      receipt_id: run.receiptId,
      version: 1,
      issuer,
      ...namedOnReceipt(scopeOf(run)),
      deleted_at: deletedAt.toISOString(),
      reason: run.reason,
      // All data sources were searched; for a part, the receipt lists only those that had records.
      stores: (runPartOf(run) ? steps.filter(({ planned }) => planned > 0) : steps).map(lineOf),
      retained: runPartOf(run)
        ? retainedOfPart(deletedAt, { held, beyondReach, isSearchedAgain, words })
        : retainedOfSubject(deletedAt, {
            isOfRequest: run.requestId !== null,
            requestsYears: facts.requestsYears,
            held,
            whileHeld: [...whileHeld, ...beyondReach],
            isSearchedAgain,
            words,
            letters:
              run.requestId === null || run.accountId === null || !facts.emailsInFolder
                ? 'none'
                : isHeld
                  ? 'all'
                  : 'last',
          }),
      ...(heldTotal > 0 && { held: heldTotal }),
      ...derivedOf(steps),
      ...(mentions.length > 0 && { remaining_mentions: [...mentions] }),
      ...notSearchedOf(dataSources, steps),
      physical: residueAfter(deletedAt, facts, inStores),
      signed_at: at.toISOString(),
    }
  }

  const finish = (known: RunRow, receipt: Receipt): Promise<void> =>
    db.transaction(async (tx) => {
      const record = await verified(tx, known)
      if (!record) return
      const { run, target } = record
      await answered(tx, run)
      const at = new Date(receipt.signed_at)
      const scope = scopeOf(run)
      const steps = await stepsOf(tx, run.id)
      const isHeld = target.kept.length > 0 || steps.some(({ held }) => Object.keys(held).length > 0)
      const state = isHeld ? 'held' : 'done'
      const before: Accounting = await storeReceipt(tx, receipt, {
        results: Object.fromEntries(steps.map(({ holder, results }) => [holder, results])),
        record: (fresh) =>
          recordDeletion(tx, {
            requestedBy: run.requestedBy,
            reason: run.reason,
            scope: namedInLog(scope),
            results: fresh,
            auditId: run.auditId,
            now: at,
          }),
      })
      await tx.erasureStep.updateMany({ where: { runId: run.id }, data: { residue: 0, verifiedAt: at } })
      await deps.audit(tx, {
        action: 'delete',
        actorId: 'system:erasure.verify',
        resourceType: scopeKindOf(scope),
        resourceId: scopeNameOf(scope),
        at,
        ip: '',
        details: { receipt: run.receiptId, state, items: total(steps) - before.total },
      })
      await tx.erasureRun.update({ where: { id: run.id }, data: { state, finishedAt: at, rounds: 0 } })
      if (state === 'done') {
        await enqueueLateWrites(tx, run, deps)
        await forget(tx, run, at)
      }
      await deps.onChange(tx, runChangeOf(run, steps, state, at))
    })

  /** Deletes the run's data that names the subject. The ledger, the receipt and the logs contain what must be retained. */
  async function forget(tx: Transaction, run: RunRow, at: Date): Promise<void> {
    await lowerFence(tx, run.id)
    const again = await toSearchAgain(tx, run.id)
    await tx.erasurePage.deleteMany({ where: { runId: run.id, holder: { notIn: again } } })
    await tx.erasureTally.deleteMany({ where: { runId: run.id } })
    const recheckAt = again.length > 0 ? new Date(at.getTime() + recheckAfter) : null
    if (recheckAt === null) await deps.words.forget(tx, run.id)
    const isTheirs = run.requestedBy === `user:${run.accountId}` || run.agents.includes(run.requestedBy)
    await tx.erasureRun.update({
      where: { id: run.id },
      data: {
        accountId: null,
        agents: [],
        participants: [],
        recheckAt,
        ...(recheckAt === null && { projects: [] }),
        ...(isTheirs && { requestedBy: 'subject' }),
      },
    })
  }

  /**
   * Deletes the stores' own data about the pages of a finished run. If a store does not answer, that happens after the
   * second search.
   */
  async function forgetPages(runId: string): Promise<void> {
    const run = await db.prisma.erasureRun.findUnique({ where: { id: runId }, select: { state: true } })
    if (run?.state !== 'done') return
    for (const dataSource of dataSources)
      await dataSource.forget?.(runId).catch((error: unknown) => logFault(error, { runId, holder: dataSource.name }))
  }

  /** A store that rejects requests needs an admin: the run records it, and the queue retries with growing intervals. */
  const noteRefusal = (runId: string, error: unknown): Promise<void> =>
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
  const wait = (runId: string, store: string): Promise<boolean> =>
    db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'verifying') return false
      await tx.erasureRun.update({ where: { id: runId }, data: { fault: 'unavailable' } })
      await enqueueAgain(tx, run, { wait: await recordWait(tx, runId, store, now()) })
      return true
    })

  /** Returns true while the run waits for a store. */
  async function search(runId: string): Promise<boolean> {
    const found = await db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'verifying') return undefined
      if (run.fault === 'unavailable' && (await isStillWaiting(tx, runId, null, now()))) {
        await enqueueAgain(tx, run, { wait: longestRetry })
        return 'later'
      }
      return { run, target: await planTargetOf(tx, scopeOf(run), holds, now()), steps: await stepsOf(tx, runId) }
    })
    if (!found) return false
    if (found === 'later') return true
    interrupt('verify.before')
    const { run, target, steps } = found
    const erased = Object.fromEntries(steps.map((step) => [step.holder, step.erased]))
    // Stores may have added wordings since the plan. Written before the commit row, so that a replay reads them.
    const noted = await deps.words.noted(db.prisma, run.id)
    const commit = { kind: 'commit', id: run.receiptId, at: now().toISOString(), erased } as const
    await needing('ledger', async () => {
      if (noted?.isChanged)
        await ledger.append({ kind: 'items', id: run.receiptId, holder: fingerprintsRow, items: [noted.fingerprints] })
      await ledger.append(commit)
    })
    interrupt('verify.committed')
    const left = [...(await searchAll(run, target))].filter(([, residue]) => residue > 0)
    if (left.length > 0) await sendBack(run, new Map(left))
    else {
      const beyond = {
        // `lingering` only queries the object store.
        inStores: await needing('objects', () => deps.residueIn(storesOf(steps))),
        isSearchedAgain: (await toSearchAgain(db.prisma, run.id)).length > 0,
        mentions: await findMentions(run.id),
        hasWords: noted !== undefined,
      }
      const receipt = await signer.sign(receiptOf(run, steps, await keptWhileHeld(run, steps), beyond, now()))
      interrupt('verify.signed')
      await finish(run, receipt)
      await forgetPages(run.id)
    }
    interrupt('verify.after')
    return false
  }

  /**
   * Idempotent and safe to run concurrently. Returns true while a store does not answer: nothing is signed then, and a
   * later job is enqueued.
   */
  return async function verify(runId: string): Promise<boolean> {
    try {
      return await search(runId)
    } catch (error) {
      const store = unavailableStore(error, 'postgresql')
      if (store === undefined) {
        await noteRefusal(runId, error).catch(() => undefined)
        throw error
      }
      return wait(runId, store).catch(() => {
        throw error
      })
    }
  }
}

/** Stores from which records were erased. */
const storesOf = (steps: readonly StepRow[]): string[] => [
  ...new Set(steps.flatMap(({ store, planned }) => (planned > 0 ? [store] : []))),
]
const total = (steps: readonly StepRow[]): number => steps.reduce((sum, { erased }) => sum + erased, 0)
