import { fingerprintsRow } from '#lib/domains/erasure/ledger/ledger-history.ts'
import {
  dataSourcesInOrder,
  longestRetry,
  nobody,
  participating,
  type RunScope,
} from '#lib/domains/erasure/runs/run-rules.ts'
import {
  enqueueAgain,
  goOn,
  lockedRun,
  planAgain,
  type RunRow,
  runChangeOf,
  runPartOf,
  runSubjectOf,
  scopeOf,
  stepsOf,
} from '#lib/domains/erasure/runs/runs.ts'
import type { Suppressions } from '#lib/domains/erasure/suppression/suppressions.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, longestSearch, timeFor } from '#lib/kernel/data-source.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { raiseFence } from './fence.ts'
import { isFullyRetained, letGo, wholeSubjectOf } from './full-retention.ts'
import { type PlanTarget, planOf, planTargetOf, type StepPlan, withPages, writeSteps } from './plans.ts'
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

export interface StartDeps extends SubjectErasurePorts {
  db: Database
  ledger: Ledger
  dataSources: readonly DataSource[]
  suppressions: Suppressions
  now(): Date
}

interface Plan extends PlanTarget {
  runId: string
  planId: string
  isKeptWhole: boolean
}

/** Each hold that is set meanwhile makes the plan outdated. After this many plans, the queue retries later. */
const mostPlans = 10
/** Milliseconds of system time after which a transaction plans no further data source. It locks the run and the holds. */
const planningTurn = 250

/**
 * Starts a run, or a new plan of it: fence, plan, ledger intent, first steps. Nothing is erased before the intent is on
 * disk. After a crash at any point, repeating the start is safe.
 */
export function runStart(deps: StartDeps) {
  const { db, ledger, dataSources, holds, subjects, suppressions, words, now, interrupt } = deps
  const aimOf = async (tx: Transaction, run: RunRow): Promise<PlanTarget> =>
    planTargetOf(tx, await wholeSubjectOf(tx, run, subjects), holds, now())

  /** A subject that holds cover completely is not fenced, because nothing will be erased yet. */
  const fence = (runId: string): Promise<boolean> =>
    db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'planning') return false
      if (!(await isFullyRetained(tx, runId, await aimOf(tx, run)))) await raiseFence(tx, run, deps, now())
      return true
    })

  /** Creates a new plan under the current holds. Workers on an older plan stop. */
  const newPlan = (runId: string): Promise<Plan | 'outdated' | undefined> =>
    db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'planning') return undefined
      const target = await aimOf(tx, run)
      const keptWhole = await isFullyRetained(tx, runId, target)
      // The hold ended after the fence was skipped.
      if (!keptWhole && run.fencedAt === null) return 'outdated'
      const planId = newId('plan')
      // Must be read while the rows that identify the projects still exist.
      const theirs = runPartOf(run) ? [] : await deps.parts.projectsOf(tx, runSubjectOf(run))
      const projects = [...new Set([...run.projects, ...theirs])]
      await tx.erasureRun.update({ where: { id: runId }, data: { planId, holdsSeen: target.fingerprint, projects } })
      return { ...target, runId, planId, isKeptWhole: keptWhole }
    })

  /** Runs while the texts are stored: verification needs their words after the deletion. */
  const gatherWords = (runId: string, free: RunScope): Promise<void> =>
    db.transaction((tx) => words.gather(tx, runId, free, now()), { longest: longestSearch })

  /** Locks and returns the run while this plan is current; `outdated` when a hold was set or ended since then. */
  async function planned(tx: Transaction, plan: Plan): Promise<RunRow | 'outdated' | undefined> {
    const run = await lockedRun(tx, plan.runId)
    if (run?.state !== 'planning' || run.planId !== plan.planId) return undefined
    const { fingerprint } = await planTargetOf(tx, scopeOf(run), holds, now())
    return fingerprint === plan.fingerprint ? run : 'outdated'
  }

  /**
   * Plans the data sources in order. External stores, whose search may take minutes, are each searched before the
   * transaction that writes the plan: holds can change meanwhile, and the plan is then created again. Data sources of
   * our own database share transactions of limited duration: most of them have nothing to erase.
   */
  async function planAll(plan: Plan): Promise<'planned' | 'outdated' | undefined> {
    const ordered = dataSourcesInOrder(dataSources)
    for (let at = 0; at < ordered.length; ) {
      const first = ordered[at]?.dataSource
      if (!first) break
      const gathered = first.isShared
        ? await needing(first.store, () => db.transaction((tx) => planOf(first, plan, tx, now()), timeFor(first)))
        : undefined
      const write = async (tx: Transaction) => {
        const run = await planned(tx, plan)
        if (!run || run === 'outdated') return run
        const until = performance.now() + planningTurn
        const plans: StepPlan[] = []
        for (const { dataSource, position } of ordered.slice(at)) {
          const isFirst = plans.length === 0
          if (!isFirst && (first.isShared || dataSource.isShared || dataSource.store !== first.store)) break
          plans.push({ dataSource, position, planned: gathered ?? (await planOf(dataSource, plan, tx, now())) })
          if (performance.now() > until) break
        }
        await writeSteps(tx, run.id, plans, { keptBy: plan.free === null ? plan.kept[0]?.hold : undefined, now: now() })
        return plans.length
      }
      const count = await needing(first.store, () => db.transaction(write))
      if (count === undefined || count === 'outdated') return count
      at += count
    }
    return 'planned'
  }

  async function intentOf(tx: Transaction, runId: string, free: RunScope | null) {
    const run = await tx.erasureRun.findUniqueOrThrow({ where: { id: runId } })
    const heldBy = [...new Set((await stepsOf(tx, runId)).flatMap(({ held }) => Object.keys(held)))].sort()
    const redacts = run.redacts && { redacts: true }
    const part = runPartOf(run)
    if (part)
      return {
        receiptId: run.receiptId,
        newest: await deps.parts.newest(tx, part),
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

  /** Appends to the ledger, page by page, what is about to be erased, including data outside the database. */
  async function writeIntent({ runId, free }: Plan): Promise<void> {
    const { newest, ...intent } = await db.transaction((tx) => intentOf(tx, runId, free))
    const time = now()
    // After a clock was set back, a replay must not mistake the erased subject for a later one.
    const at = (newest !== null && newest > time ? newest : time).toISOString()
    const { receiptId } = intent
    await ledger.append({ kind: 'intent', id: receiptId, at, ...intent.says })
    const noted = await words.noted(db.prisma, runId)
    if (noted)
      await ledger.append({ kind: 'items', id: receiptId, holder: fingerprintsRow, items: [noted.fingerprints] })
    const toErase = await withPages(db, runId, { isErased: false })
    for (const { dataSource } of dataSourcesInOrder(dataSources).filter(({ dataSource: { name } }) =>
      toErase.has(name),
    ))
      for (let after: number | undefined = -1; after !== undefined; ) {
        const page = await db.transaction((tx) => pageToNote(tx, runId, dataSource, after ?? -1))
        if (page) await ledger.append({ kind: 'items', id: receiptId, holder: dataSource.name, ...page.row })
        after = page?.next
      }
  }

  /** Enqueues the first steps, after the plan and the ledger intent are written. */
  const setOff = (plan: Plan): Promise<'off' | 'outdated' | undefined> =>
    db.transaction(async (tx) => {
      const run = await planned(tx, plan)
      if (!run || run === 'outdated') return run
      const at = now()
      await tx.erasureRun.update({ where: { id: run.id }, data: { state: 'erasing', plannedAt: at, fault: null } })
      if (run.fault !== null) await endWaits(tx, run.id)
      await deps.onChange(tx, runChangeOf(run, await stepsOf(tx, run.id), 'erasing', at))
      await goOn(tx, run, deps, at)
      return 'off'
    })

  /** Sets the run to held without erasing anything. It is planned again when the holds end. */
  const setAside = (plan: Plan): Promise<'aside' | 'outdated' | undefined> =>
    db.transaction(async (tx) => {
      const run = await planned(tx, plan)
      if (!run || run === 'outdated') return run
      const at = now()
      await letGo(tx, run, deps, at)
      await endWaits(tx, run.id)
      await tx.erasureRun.update({
        where: { id: run.id },
        data: { state: 'held', fencedAt: null, plannedAt: at, finishedAt: at, fault: null },
      })
      await deps.onChange(tx, { ...runChangeOf(run, await stepsOf(tx, run.id), 'held', at), isKeptWhole: true })
      return 'aside'
    })

  /** Returns true when a held run has something to erase under the current holds. Otherwise records the holds that it saw. */
  async function looksAgain(runId: string): Promise<boolean> {
    const found = await db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'held') return undefined
      const target = await aimOf(tx, run)
      return target.fingerprint === run.holdsSeen ? undefined : { target, steps: await stepsOf(tx, runId) }
    })
    if (!found) return false
    const { target, steps } = found
    const isAsBefore = async (tx: Transaction, dataSource: DataSource): Promise<boolean> => {
      const { items, held } = await planOf(dataSource, target, tx, now())
      const before = steps.find((step) => step.holder === dataSource.name)?.held ?? {}
      return items.length === 0 && isSame(held, before)
    }
    let changed = false
    for (const dataSource of dataSources)
      changed ||= !(await needing(dataSource.store, () =>
        db.transaction((tx) => isAsBefore(tx, dataSource), timeFor(dataSource)),
      ))
    await db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'held') return
      if (changed) await planAgain(tx, runId)
      else {
        await tx.erasureRun.update({ where: { id: runId }, data: { holdsSeen: target.fingerprint } })
        await endWaits(tx, runId)
      }
    })
    return changed
  }

  /** Records the fault that prevents the planning of the run. */
  const noteFault = (runId: string, error: unknown) =>
    db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'planning') return
      await tx.erasureRun.update({ where: { id: runId }, data: { fault: faultOf(error) } })
      const refused = refusalBy(error, 'postgresql')
      if (refused) await recordRefusal(tx, runId, refused, now())
    })

  /**
   * An unavailable store is no failure: planning is retried however long it takes. Returns false when there is nothing
   * to plan.
   */
  const wait = (runId: string, store: string): Promise<boolean> =>
    db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'planning' && run?.state !== 'held') return false
      if (run.state === 'planning') await tx.erasureRun.update({ where: { id: runId }, data: { fault: 'unavailable' } })
      await enqueueAgain(tx, run, { wait: await recordWait(tx, runId, store, now()) })
      return true
    })

  /** Returns true when enough other runs already try the store that this run waits for; a later job is then enqueued. */
  const isLater = (runId: string): Promise<boolean> =>
    db.transaction(async (tx) => {
      const run = await lockedRun(tx, runId)
      if (run?.state !== 'planning' || !(await isStillWaiting(tx, runId, null, now()))) return false
      await enqueueAgain(tx, run, { wait: longestRetry })
      return true
    })

  /** Returns true while the run waits for a store. */
  async function plan(runId: string): Promise<boolean> {
    const run = await db.prisma.erasureRun.findUnique({ where: { id: runId }, select: { state: true, fault: true } })
    if (run?.state === 'held' && !(await looksAgain(runId))) return false
    if (run?.fault === 'unavailable' && (await isLater(runId))) return true
    interrupt('start.before')
    for (let tries = 0; tries < mostPlans; tries++) {
      // The fence may need a new suppression key, which is appended to the ledger.
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
   * Idempotent and safe to run concurrently. Returns true while the ledger or a store does not answer: nothing is
   * erased then, and a later job is enqueued.
   * @throws Problem `unavailable` when the database does not answer
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
      // If the database failed, the fault cannot be recorded in it.
      await noteFault(runId, error).catch(() => undefined)
      throw error
    }
  }
}

/** Returns the next page to erase, in the form that the ledger stores. */
async function pageToNote(tx: Transaction, runId: string, dataSource: DataSource, after: number) {
  const [found, further] = await tx.erasurePage.findMany({
    where: { runId, holder: dataSource.name, erasedAt: null, page: { gt: after } },
    orderBy: { page: 'asc' },
    take: 2,
  })
  if (!found) return undefined
  const { page, items } = found
  const known = (await dataSource.identities?.(items, tx)) ?? []
  const identities = Object.fromEntries(known.map(({ id, wasPublic }) => [id, wasPublic]))
  return { next: further ? page : undefined, row: { items, ...(known.length > 0 && { identities }) } }
}

const isSame = (one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>): boolean =>
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([hold, count]) => other[hold] === count)
