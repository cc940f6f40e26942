import type { Transaction } from '#lib/kernel/context.ts'
import { type DataHolder, longestSearch, timeFor } from '#lib/kernel/holder.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { raiseFence } from './fence.ts'
import { isKeptWhole, letGo, wholeOf } from './kept-whole.ts'
import { wordsRow } from './ledger-history.ts'
import { type Aim, aimAt, planOf, withPages, writeStep } from './plans.ts'
import { inOrder, longestRetry, nobody, participating, type RunScope } from './run-rules.ts'
import {
  changeOf,
  enqueueAgain,
  goOn,
  lockedRun,
  partOf,
  planAgain,
  type RunRow,
  scopeOf,
  stepsOf,
  subjectOf,
} from './runs.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'
import type { Suppressions } from './suppressions.ts'
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

export interface StartParts extends SubjectErasurePorts {
  db: Database
  ledger: Ledger
  holders: readonly DataHolder[]
  suppressions: Suppressions
  now(): Date
}

interface Plan extends Aim {
  runId: string
  planId: string
  isKeptWhole: boolean
}

/** Holds that are set one after the other make a plan begin anew; after so many the queue tries later. */
const mostPlans = 10

/**
 * The start of a run, and of every new plan of it: fence, plan, intent in the ledger, first steps. Before the intent is on the disk
 * nothing is erased; a crash anywhere in it is mended by doing it once more.
 */
export function runStart(parts: StartParts) {
  const { db, ledger, holders, holds, subjects, suppressions, words, now, interrupt } = parts
  const aimOf = async (tx: Transaction, run: RunRow): Promise<Aim> =>
    aimAt(tx, await wholeOf(tx, run, subjects), holds, now())

  /** Whom holds keep whole is not fenced: nothing is about to happen to them. */
  const fence = (runId: string): Promise<boolean> =>
    db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'planning') return false
      if (!(await isKeptWhole(tx, runId, await aimOf(tx, run)))) await raiseFence(tx, run, parts, now())
      return true
    })

  /** A new plan, under the holds of this moment. Whoever works on an older one stops. */
  const newPlan = (runId: string): Promise<Plan | 'outdated' | undefined> =>
    db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'planning') return undefined
      const aim = await aimOf(tx, run)
      const keptWhole = await isKeptWhole(tx, runId, aim)
      // The hold ended since the fence was left down.
      if (!keptWhole && run.fencedAt === null) return 'outdated'
      const planId = newId('plan')
      // While the rows are there by which they are known.
      const theirs = partOf(run) ? [] : await parts.parts.projectsOf(tx, subjectOf(run))
      const projects = [...new Set([...run.projects, ...theirs])]
      await tx.erasureRun.update({ where: { id: runId }, data: { planId, holdsSeen: aim.fingerprint, projects } })
      return { ...aim, runId, planId, isKeptWhole: keptWhole }
    })

  /** While the texts are stored: verification needs their words when they are gone. */
  const gatherWords = (runId: string, free: RunScope): Promise<void> =>
    db.transaction((tx) => words.gather(tx, runId, free, now()), { longest: longestSearch })

  /** The run, locked, while the plan counts; `outdated` when a hold was set or ended since it was begun. */
  async function planned(tx: Transaction, plan: Plan): Promise<RunRow | 'outdated' | undefined> {
    const run = await lockedRun(tx, plan.runId)
    if (run?.state !== 'planning' || run.planId !== plan.planId) return undefined
    const { fingerprint } = await aimAt(tx, scopeOf(run), holds, now())
    return fingerprint === plan.fingerprint ? run : 'outdated'
  }

  /**
   * Each holder's part in a transaction of its own, however much there is. Stores of others, which may take minutes, are searched before it:
   * meanwhile holds are set and released, and the plan is made anew for them.
   */
  async function planAll(plan: Plan): Promise<'planned' | 'outdated' | undefined> {
    for (const { holder, position } of inOrder(holders)) {
      const gathered = holder.isShared
        ? await needing(holder.store, () => db.transaction((tx) => planOf(holder, plan, tx, now()), timeFor(holder)))
        : undefined
      const write = async (tx: Transaction) => {
        const run = await planned(tx, plan)
        if (!run || run === 'outdated') return run
        const toErase = gathered ?? (await planOf(holder, plan, tx, now()))
        await writeStep(tx, run.id, { holder, position }, toErase, {
          keptBy: plan.free === null ? plan.kept[0]?.hold : undefined,
          now: now(),
        })
        return 'planned' as const
      }
      const found = await needing(holder.store, () => db.transaction(write))
      if (found !== 'planned') return found
    }
    return 'planned'
  }

  async function intentOf(tx: Transaction, runId: string, free: RunScope | null) {
    const run = await tx.erasureRun.findUniqueOrThrow({ where: { id: runId } })
    const heldBy = [...new Set((await stepsOf(tx, runId)).flatMap(({ held }) => Object.keys(held)))].sort()
    const redacts = run.redacts && { redacts: true }
    const part = partOf(run)
    if (part)
      return {
        receiptId: run.receiptId,
        newest: await parts.parts.newest(tx, part),
        says: { scope: { part }, heldBy, ...redacts },
      }
    const { account, agents, participants } = free !== null && 'subject' in free ? free.subject : nobody
    const subject = { account, agents, ...participating(participants) }
    return {
      receiptId: run.receiptId,
      newest: await subjects.newest(tx, subject),
      says: {
        scope: { subject },
        hashes: await suppressions.ofRun(tx, runId),
        heldBy,
        ...(run.projects.length > 0 && { projects: run.projects }),
        ...redacts,
      },
    }
  }

  /** What is about to be erased, outside the database too, page by page. */
  async function writeIntent({ runId, free }: Plan): Promise<void> {
    const { newest, ...intent } = await db.transaction((tx) => intentOf(tx, runId, free))
    const time = now()
    // A clock that was set back must not make a replay take the erased for somebody who came since.
    const at = (newest !== null && newest > time ? newest : time).toISOString()
    const { receiptId } = intent
    await ledger.append({ kind: 'intent', id: receiptId, at, ...intent.says })
    const noted = await words.noted(db.prisma, runId)
    if (noted) await ledger.append({ kind: 'items', id: receiptId, holder: wordsRow, items: [noted.fingerprints] })
    const toErase = await withPages(db, runId, { isErased: false })
    for (const { holder } of inOrder(holders).filter(({ holder: { name } }) => toErase.has(name)))
      for (let after: number | undefined = -1; after !== undefined; ) {
        const page = await db.transaction((tx) => pageToNote(tx, runId, holder, after ?? -1))
        if (page) await ledger.append({ kind: 'items', id: receiptId, holder: holder.name, ...page.row })
        after = page?.next
      }
  }

  /** The plan stands and the ledger has it: the first steps are enqueued. */
  const setOff = (plan: Plan): Promise<'off' | 'outdated' | undefined> =>
    db.transaction(async (tx) => {
      const run = await planned(tx, plan)
      if (!run || run === 'outdated') return run
      const at = now()
      await tx.erasureRun.update({ where: { id: run.id }, data: { state: 'erasing', plannedAt: at, fault: null } })
      if (run.fault !== null) await endWaits(tx, run.id)
      await parts.onChange(tx, changeOf(run, await stepsOf(tx, run.id), 'erasing', at))
      await goOn(tx, run, parts, at)
      return 'off'
    })

  /** Nothing is erased while the holds last. It is said, and looked at again when they end. */
  const setAside = (plan: Plan): Promise<'aside' | 'outdated' | undefined> =>
    db.transaction(async (tx) => {
      const run = await planned(tx, plan)
      if (!run || run === 'outdated') return run
      const at = now()
      await letGo(tx, run, parts, at)
      await endWaits(tx, run.id)
      await tx.erasureRun.update({
        where: { id: run.id },
        data: { state: 'held', fencedAt: null, plannedAt: at, finishedAt: at, fault: null },
      })
      await parts.onChange(tx, { ...changeOf(run, await stepsOf(tx, run.id), 'held', at), isKeptWhole: true })
      return 'aside'
    })

  /** Whether a run that holds keep open has anything to do under the holds of this moment. What it saw is noted. */
  async function looksAgain(runId: string): Promise<boolean> {
    const found = await db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'held') return undefined
      const aim = await aimOf(tx, run)
      return aim.fingerprint === run.holdsSeen ? undefined : { aim, steps: await stepsOf(tx, runId) }
    })
    if (!found) return false
    const { aim, steps } = found
    const isAsBefore = async (tx: Transaction, holder: DataHolder): Promise<boolean> => {
      const { items, held } = await planOf(holder, aim, tx, now())
      const before = steps.find((step) => step.holder === holder.name)?.held ?? {}
      return items.length === 0 && isSame(held, before)
    }
    let changed = false
    for (const holder of holders)
      changed ||= !(await needing(holder.store, () => db.transaction((tx) => isAsBefore(tx, holder), timeFor(holder))))
    await db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'held') return
      if (changed) await planAgain(tx, runId)
      else {
        await tx.erasureRun.update({ where: { id: runId }, data: { holdsSeen: aim.fingerprint } })
        await endWaits(tx, runId)
      }
    })
    return changed
  }

  /** The run says what keeps it from being planned. */
  const noteFault = (runId: string, error: unknown) =>
    db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'planning') return
      await tx.erasureRun.update({ where: { id: runId }, data: { fault: faultOf(error) } })
      const refused = refusalBy(error, 'postgresql')
      if (refused) await recordRefusal(tx, runId, refused, now())
    })

  /** What keeps it from being planned is no failure: it is tried again however long the store takes. False where there is nothing to plan. */
  const wait = (runId: string, store: string): Promise<boolean> =>
    db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'planning' && run?.state !== 'held') return false
      if (run.state === 'planning') await tx.erasureRun.update({ where: { id: runId }, data: { fault: 'unavailable' } })
      await enqueueAgain(tx, run, { wait: await recordWait(tx, runId, store, now()) })
      return true
    })

  /** Whether others ask the store that the run waits for; a later job is enqueued then. */
  const isLater = (runId: string): Promise<boolean> =>
    db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'planning' || !(await leavesAsking(tx, runId, null, now()))) return false
      await enqueueAgain(tx, run, { wait: longestRetry })
      return true
    })

  /** True while it waits for a store. */
  async function plan(runId: string): Promise<boolean> {
    const run = await db.prisma.erasureRun.findUnique({ where: { id: runId }, select: { state: true, fault: true } })
    if (run?.state === 'held' && !(await looksAgain(runId))) return false
    if (run?.fault === 'unavailable' && (await isLater(runId))) return true
    interrupt('start.before')
    for (let tries = 0; tries < mostPlans; tries++) {
      // A fence may need a new suppression key, which the ledger notes.
      if (!(await needing('ledger', () => fence(runId)))) return false
      interrupt('start.fenced')
      const plan = await newPlan(runId)
      if (!plan) return false
      if (plan === 'outdated') continue
      if (plan.free !== null) await gatherWords(runId, plan.free)
      const made = await planAll(plan)
      if (!made) return false
      if (made === 'outdated') continue
      interrupt('start.planned')
      if (plan.isKeptWhole) {
        if ((await setAside(plan)) !== 'outdated') {
          interrupt('start.after')
          return false
        }
        continue
      }
      await needing('ledger', () => writeIntent(plan))
      interrupt('start.intent')
      if ((await setOff(plan)) !== 'outdated') {
        interrupt('start.after')
        return false
      }
    }
    throw new Problem('unavailable', 'Legal holds keep changing; the erasure is planned again later.')
  }

  /**
   * Safe to repeat, and beside another. True while the ledger or a store does not answer: nothing is erased then, and a later job is enqueued.
   * Throws `unavailable` when the database does not answer.
   */
  return async function start(runId: string): Promise<boolean> {
    try {
      return await plan(runId)
    } catch (error) {
      const store = unavailableStore(error, 'postgresql')
      if (store !== undefined)
        return wait(runId, store).catch(() => {
          throw error
        })
      // Where the database is what failed, nobody can be told through it.
      await noteFault(runId, error).catch(() => undefined)
      throw error
    }
  }
}

/** The next page that is to be erased, as the ledger notes it. */
async function pageToNote(tx: Transaction, runId: string, holder: DataHolder, after: number) {
  const [found, further] = await tx.erasurePage.findMany({
    where: { runId, holder: holder.name, erasedAt: null, page: { gt: after } },
    orderBy: { page: 'asc' },
    take: 2,
  })
  if (!found) return undefined
  const { page, items } = found
  const known = (await holder.identities?.(items, tx)) ?? []
  const identities = Object.fromEntries(known.map(({ id, wasPublic }) => [id, wasPublic]))
  return { next: further ? page : undefined, row: { items, ...(known.length > 0 && { identities }) } }
}

const isSame = (one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>): boolean =>
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([hold, count]) => other[hold] === count)
