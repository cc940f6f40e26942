import type { Transaction } from '#lib/kernel/context.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { type DataHolder, longestSearch } from '#lib/kernel/holder.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { recordDeletion } from './deletion-log.ts'
import { lowerFence } from './fence.ts'
import { wordsRow } from './ledger-history.ts'
import { countMentions, type MentionCount, noteMentions } from './mentions.ts'
import { enqueueOvertaken } from './overtaken.ts'
import { type Aim, aimAt, withPages } from './plans.ts'
import { derivedOf, notSearchedOf } from './receipt-counts.ts'
import { type Accounting, keepReceipt } from './receipts.ts'
import {
  fingerprintsKept,
  type Lingering,
  lingeringAfter,
  type RetentionFacts,
  retainedOfPart,
  retainedOfSubject,
} from './rules.ts'
import { kindOf, namedInLog, namedOnReceipt, nameOf } from './run-names.ts'
import { heldCounts, heldTogether, inOrder, longestRetry, mostRounds, nobody, recheckAfter } from './run-rules.ts'
import {
  changeOf,
  enqueueAgain,
  lockedRun,
  partOf,
  planAgain,
  type RunRow,
  type StepRow,
  scopeOf,
  stepsOf,
  subjectOf,
} from './runs.ts'
import type { Signer } from './signing.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'
import {
  endWaits,
  faultOf,
  leavesAsking,
  needing,
  recordRefusal,
  recordWait,
  refusalBy,
  unavailableStore,
} from './waits.ts'

export interface VerificationParts extends SubjectErasurePorts {
  db: Database
  ledger: Ledger
  signer: Signer
  holders: readonly DataHolder[]
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
export function runVerification(parts: VerificationParts) {
  const { db, ledger, signer, holders, holds, issuer, facts, now, interrupt } = parts

  /** Returns the residue by data source. */
  async function searchAll(run: RunRow, { free }: Aim): Promise<Map<string, number>> {
    const found = new Map<string, number>()
    const erased = await withPages(db, run.id, { isErased: true })
    const runWords = await db.transaction((tx) => parts.words.of(tx, run.id))
    for (const { holder } of inOrder(holders)) {
      const pages = erased.has(holder.name)
        ? await db.prisma.erasurePage.findMany({
            where: { runId: run.id, holder: holder.name, erasedAt: { not: null } },
            select: { items: true },
          })
        : []
      const items = pages.flatMap((page) => page.items)
      const isAsked = free !== null || items.length > 0
      const words = holder.isShared ? runWords : undefined
      const search = () => holder.residue(free ?? { subject: nobody }, items, now(), words)
      found.set(holder.name, isAsked ? await needing(holder.store, search) : 0)
    }
    return found
  }

  /**
   * Locks and returns the run while the verified plan is current. Plans the run again when a hold was set or ended
   * since then.
   */
  async function verified(tx: Transaction, { id, planId }: RunRow): Promise<{ run: RunRow; aim: Aim } | undefined> {
    const run = await lockedRun(tx, id)
    if (run?.state !== 'verifying' || run.planId !== planId) return undefined
    const aim = await aimAt(tx, scopeOf(run), holds, now())
    if (aim.fingerprint === run.holdsSeen) return { run, aim }
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
      const found = await verified(tx, known)
      if (!found) return
      const { run } = found
      await answered(tx, run)
      for (const [holder, residue] of residues)
        await tx.erasureStep.updateMany({ where: { runId: run.id, holder }, data: { residue } })
      if (run.rounds < mostRounds) {
        await tx.erasureRun.update({ where: { id: run.id }, data: { rounds: { increment: 1 } } })
        return planAgain(tx, run.id)
      }
      await tx.erasureRun.update({ where: { id: run.id }, data: { state: 'failed', finishedAt: now() } })
      await parts.onChange(tx, changeOf(run, await stepsOf(tx, run.id), 'failed', now()))
    })

  /** Searches PostgreSQL for erased words in texts of other authors, and counts all places where words or names remain. */
  const findMentions = (runId: string): Promise<MentionCount[]> =>
    db.transaction(
      async (tx) => {
        await noteMentions(tx, runId, await parts.words.mentions(tx, runId, now()))
        return countMentions(tx, runId)
      },
      { longest: longestSearch },
    )

  /** Returns what data sources retain of a subject until the holds end; empty without held records. */
  async function keptWhileHeld(run: RunRow, steps: readonly StepRow[]): Promise<{ what: string; ground: string }[]> {
    if (steps.every(({ held }) => Object.keys(held).length === 0)) return []
    const kept: { what: string; ground: string }[] = []
    for (const holder of holders) kept.push(...((await holder.whileHeld?.(subjectOf(run))) ?? []))
    return kept
  }

  /** Returns the data sources of shared stores that had pages: others can write to these stores past every fence. */
  async function toSearchAgain(tx: Transaction, runId: string): Promise<string[]> {
    const shared = holders.filter(({ isShared }) => isShared).map(({ name }) => name)
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
      inStores: readonly Lingering[]
      isSearchedAgain: boolean
      mentions: readonly MentionCount[]
      hasWords: boolean
    },
    at: Date,
  ): Omit<Receipt, 'jws'> {
    const deletedAt = run.erasedAt ?? at
    const isHeld = steps.some(({ held }) => Object.keys(held).length > 0)
    const words = hasWords ? fingerprintsKept(deletedAt, facts) : []
    const held = heldCounts(heldTogether(steps.map((step) => step.held)))
    const heldTotal = held.reduce((sum, { count }) => sum + count, 0)
    const beyondReach = steps.flatMap(({ holder, planned, results }) => {
      const left = planned > 0 ? holders.find(({ name }) => name === holder)?.leftBehind?.(planned, results) : undefined
      return left ? [left] : []
    })
    const lineOf = ({ holder, store, planned, erased }: StepRow): Receipt['stores'][number] => ({
      store,
      holder,
      what: holders.find(({ name }) => name === holder)?.what ?? holder,
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
      stores: (partOf(run) ? steps.filter(({ planned }) => planned > 0) : steps).map(lineOf),
      retained: partOf(run)
        ? retainedOfPart(deletedAt, { held, beyondReach, isSearchedAgain, words })
        : retainedOfSubject(deletedAt, {
            isOfRequest: run.requestId !== null,
            requestsYears: facts.requestsYears,
            held,
            whileHeld: [...whileHeld, ...beyondReach],
            isSearchedAgain,
            words,
            letters:
              run.requestId === null || run.accountId === null || !facts.lettersInFolder
                ? 'none'
                : isHeld
                  ? 'all'
                  : 'last',
          }),
      ...(heldTotal > 0 && { held: heldTotal }),
      ...derivedOf(steps),
      ...(mentions.length > 0 && { remaining_mentions: [...mentions] }),
      ...notSearchedOf(holders, steps),
      physical: lingeringAfter(deletedAt, facts, inStores),
      signed_at: at.toISOString(),
    }
  }

  const finish = (known: RunRow, receipt: Receipt): Promise<void> =>
    db.transaction(async (tx) => {
      const found = await verified(tx, known)
      if (!found) return
      const { run, aim } = found
      await answered(tx, run)
      const at = new Date(receipt.signed_at)
      const scope = scopeOf(run)
      const steps = await stepsOf(tx, run.id)
      const isHeld = aim.kept.length > 0 || steps.some(({ held }) => Object.keys(held).length > 0)
      const state = isHeld ? 'held' : 'done'
      const before: Accounting = await keepReceipt(tx, receipt, {
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
      await parts.audit(tx, {
        action: 'delete',
        actorId: 'system:erasure.verify',
        resourceType: kindOf(scope),
        resourceId: nameOf(scope),
        at,
        ip: '',
        details: { receipt: run.receiptId, state, items: total(steps) - before.total },
      })
      await tx.erasureRun.update({ where: { id: run.id }, data: { state, finishedAt: at, rounds: 0 } })
      if (state === 'done') {
        await enqueueOvertaken(tx, run, parts)
        await forget(tx, run, at)
      }
      await parts.onChange(tx, changeOf(run, steps, state, at))
    })

  /** Deletes the run's data that names the subject. The ledger, the receipt and the logs contain what must be retained. */
  async function forget(tx: Transaction, run: RunRow, at: Date): Promise<void> {
    await lowerFence(tx, run.id)
    const again = await toSearchAgain(tx, run.id)
    await tx.erasurePage.deleteMany({ where: { runId: run.id, holder: { notIn: again } } })
    await tx.erasureTally.deleteMany({ where: { runId: run.id } })
    const recheckAt = again.length > 0 ? new Date(at.getTime() + recheckAfter) : null
    if (recheckAt === null) await parts.words.forget(tx, run.id)
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
    for (const holder of holders)
      await holder.forget?.(runId).catch((error: unknown) => logFault(error, { runId, holder: holder.name }))
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
      if (run.fault === 'unavailable' && (await leavesAsking(tx, runId, null, now()))) {
        await enqueueAgain(tx, run, { wait: longestRetry })
        return 'later'
      }
      return { run, aim: await aimAt(tx, scopeOf(run), holds, now()), steps: await stepsOf(tx, runId) }
    })
    if (!found) return false
    if (found === 'later') return true
    interrupt('verify.before')
    const { run, aim, steps } = found
    const erased = Object.fromEntries(steps.map((step) => [step.holder, step.erased]))
    // Stores may have added wordings since the plan. Written before the commit row, so that a replay reads them.
    const noted = await parts.words.noted(db.prisma, run.id)
    const commit = { kind: 'commit', id: run.receiptId, at: now().toISOString(), erased } as const
    await needing('ledger', async () => {
      if (noted?.isChanged)
        await ledger.append({ kind: 'items', id: run.receiptId, holder: wordsRow, items: [noted.fingerprints] })
      await ledger.append(commit)
    })
    interrupt('verify.committed')
    const left = [...(await searchAll(run, aim))].filter(([, residue]) => residue > 0)
    if (left.length > 0) await sendBack(run, new Map(left))
    else {
      const beyond = {
        // `lingering` only queries the object store.
        inStores: await needing('objects', () => parts.lingering(storesOf(steps))),
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
