import { fingerprintsRow } from '#lib/domains/erasure/ledger/ledger-history.ts'
import {
  type ReceiptDeps,
  receiptContent,
  type VerifiedErasure,
} from '#lib/domains/erasure/receipts/receipt-content.ts'
import type { Signer } from '#lib/domains/erasure/receipts/signing.ts'
import { adminActLines, fingerprintRetention } from '#lib/domains/erasure/rules.ts'
import { longestRetry, mostRounds } from '#lib/domains/erasure/runs/run-rules.ts'
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
} from '#lib/domains/erasure/runs/runs.ts'
import { longestSearch } from '#lib/kernel/data-source.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import {
  type CompletionDeps,
  clearFault,
  completeRun,
  forgetPages,
  lockVerifiedRun,
  sharedSourcesOf,
} from './completion.ts'
import { countMentions, noteMentions, type RunMentions } from './mentions.ts'
import { type PlanTarget, planTargetOf, withPages } from './plans.ts'
import { searchResidue } from './residue.ts'
import { faultOf, isStillWaiting, needing, recordRefusal, recordWait, refusalBy, unavailableStore } from './waits.ts'

export interface VerificationDeps extends CompletionDeps, ReceiptDeps {
  ledger: Ledger
  signer: Signer
}

/** Returns the residue of a run by data source. */
async function residueOf(run: RunRow, { free }: PlanTarget, deps: VerificationDeps): Promise<Map<string, number>> {
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
const sendBack = (known: RunRow, residues: ReadonlyMap<string, number>, deps: VerificationDeps): Promise<void> =>
  deps.db.transaction(async (tx) => {
    const record = await lockVerifiedRun(tx, known, deps)
    if (!record) return
    const { run } = record
    await clearFault(tx, run)
    for (const [holder, residue] of residues)
      await tx.erasureStep.updateMany({ where: { runId: run.id, holder }, data: { residue } })
    if (run.rounds < mostRounds) {
      await tx.erasureRun.update({ where: { id: run.id }, data: { rounds: { increment: 1 } } })
      return planAgain(tx, run.id)
    }
    const at = deps.now()
    await tx.erasureRun.update({ where: { id: run.id }, data: { state: 'failed', finishedAt: at } })
    await deps.onChange(tx, runChangeOf(run, await stepsOf(tx, run.id), 'failed', at))
  })

/** Searches PostgreSQL for erased words in texts of other authors, and counts all places where words or names remain or were replaced. */
const findMentions = (runId: string, { db, words, now }: VerificationDeps): Promise<RunMentions> =>
  db.transaction(
    async (tx) => {
      await noteMentions(tx, runId, await words.mentions(tx, runId, now()))
      return countMentions(tx, runId)
    },
    { longest: longestSearch },
  )

const hasHeld = (steps: readonly StepRow[]): boolean => steps.some(({ held }) => Object.keys(held).length > 0)

/** Returns how long emails about the erasure remain in the mail folder. */
function lettersOf({ requestId, accountId }: RunRow, steps: readonly StepRow[], { facts }: VerificationDeps) {
  if (requestId === null || accountId === null || !facts.emailsInFolder) return 'none'
  return hasHeld(steps) ? 'all' : 'last'
}

/** Returns what the receipt says of a subject that is retained, in addition to what every receipt says. */
async function subjectRetention(
  run: RunRow,
  steps: readonly StepRow[],
  at: Date,
  deps: VerificationDeps,
): Promise<NonNullable<VerifiedErasure['subject']>> {
  const whileHeld: { what: string; ground: string }[] = []
  if (hasHeld(steps))
    for (const dataSource of deps.dataSources)
      whileHeld.push(...((await dataSource.whileHeld?.(runSubjectOf(run))) ?? []))
  return {
    requestClosedAt: run.requestId === null ? undefined : hasHeld(steps) ? null : at,
    whileHeld: [...whileHeld, ...adminActLines(await deps.hasAdminActs(run.accountId, at))],
    letters: lettersOf(run, steps, deps),
  }
}

/** Signs the receipt of a run in which a search found no residue. */
async function signReceipt(
  run: RunRow,
  steps: readonly StepRow[],
  { hasWords }: { hasWords: boolean },
  deps: VerificationDeps,
): Promise<Receipt> {
  const { db, dataSources, facts, now } = deps
  // `residueIn` only queries the object store.
  const inStores = await needing('objects', () => deps.residueIn(storesOf(steps)))
  const isSearchedAgain = (await sharedSourcesOf(db.prisma, run.id, dataSources)).length > 0
  const { mentions, replaced } = await findMentions(run.id, deps)
  const at = now()
  const subject = await subjectRetention(run, steps, at, deps)
  const deletedAt = run.erasedAt ?? at
  const { receiptId, reason } = run
  return deps.signer.sign(
    receiptContent(deps, {
      ...{ receiptId, scope: scopeOf(run), deletedAt, reason, outcomes: steps, subject },
      ...{ inStores, isSearchedAgain, mentions, at },
      namesReplaced: run.redacts ? replaced : null,
      words: hasWords ? fingerprintRetention(deletedAt, facts) : [],
    }),
  )
}

/** Appends the commit row, after wordings that stores may have added since the plan: a replay reads what precedes it. */
async function appendCommit({ id: runId, receiptId: id }: RunRow, steps: readonly StepRow[], deps: VerificationDeps) {
  const { db, ledger, words, now } = deps
  const erased = Object.fromEntries(steps.map((step) => [step.holder, step.erased]))
  const noted = await words.noted(db.prisma, runId)
  const commit = { kind: 'commit', id, at: now().toISOString(), erased } as const
  await needing('ledger', async () => {
    if (noted?.isChanged)
      await ledger.append({ kind: 'items', id, holder: fingerprintsRow, items: [noted.fingerprints] })
    await ledger.append(commit)
  })
  return { hasWords: noted !== undefined }
}

/** Returns the run to verify, or `later` while enough other runs already try the store that it waits for. */
const verifiableRun = (runId: string, { db, holds, now }: VerificationDeps) =>
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
async function verifyRun(runId: string, deps: VerificationDeps): Promise<boolean> {
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
    interrupt('verify.signed')
    await completeRun(run, receipt, deps)
    await forgetPages(run.id, deps)
  }
  interrupt('verify.after')
  return false
}

/** A store that rejects requests needs an admin: the run records it, and the queue retries with growing intervals. */
const noteRefusal = (runId: string, error: unknown, { db, now }: VerificationDeps): Promise<void> =>
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
const wait = (runId: string, store: string, { db, now }: VerificationDeps): Promise<boolean> =>
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
  (deps: VerificationDeps) =>
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
