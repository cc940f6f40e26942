import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import {
  type DataSource,
  type Decisions,
  type ItemId,
  type Mention,
  type Planned,
  timeFor,
} from '#lib/kernel/data-source.ts'
import type { PlannedHolding } from '#lib/kernel/erasure-run.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import {
  addedUp,
  addLegalHoldCounts,
  dataSourcesInOrder,
  erasurePageSize,
  isNobody,
  legalHoldCounts,
  nobody,
  type RunScope,
  withoutHeld,
} from '../runs/run-rules.ts'
import type { EngineDeps } from './dependencies.ts'
import {
  countRedacted,
  insertPages,
  mentionCounts,
  sourcesWithPages,
  storeMentions,
  upsertSteps,
} from './repository.ts'

const Results = z.record(z.string(), z.number().int())

/** The scope that a plan covers, and what legal holds retain of it. */
interface ErasureTarget<S extends ErasureScope = ErasureScope> {
  /** Null when legal holds cover everything. */
  free: S | null
  retained: { hold: string; scope: S }[]
}
/** The target of a run, with the fingerprint of the legal holds under which it was determined. */
export interface PlanTarget extends ErasureTarget<RunScope> {
  fingerprint: string
}

/** Returns what the current legal holds allow to erase. Locks the holds until the end of the transaction. */
export async function planTargetOf(
  tx: Transaction,
  scope: RunScope,
  holds: EngineDeps['holds'],
  now: Date,
): Promise<PlanTarget> {
  await holds.lock(tx, now)
  const { fingerprint, ...inForce } = await holds.inForce(tx, 'subject' in scope ? scope.subject : nobody, now)
  if ('part' in scope) {
    const hold = (await holds.projects(tx, [scope.part.project], now)).get(scope.part.project)
    return hold === undefined
      ? { fingerprint, free: scope, retained: [] }
      : { fingerprint, free: null, retained: [{ hold, scope }] }
  }
  const { free, retained } = withoutHeld(scope.subject, inForce)
  return {
    fingerprint,
    free: isNobody(free) ? null : { subject: free },
    retained: retained.map(({ hold, part }) => ({ hold, scope: { subject: part } })),
  }
}

/**
 * Returns what a data source would erase and the number of held items: those that the data source finds, and those of
 * held subjects.
 */
export async function planOf(
  dataSource: DataSource,
  { free, retained }: ErasureTarget,
  tx: Transaction,
  now: Date,
): Promise<Required<Planned>> {
  const planned: Planned = free === null ? { items: [], held: {} } : await dataSource.plan(free, tx, now)
  const { items, watched = [], results = {} } = planned
  const held = [planned.held]
  for (const { hold, scope } of retained) {
    const there = await dataSource.plan(scope, tx, now)
    held.push({ [hold]: there.items.length }, there.held)
  }
  return { items, watched, held: addLegalHoldCounts(held), results }
}

/** Calls {@link planOf} for each data source in its own transaction, with the time limit of its store. */
export async function dryRun(
  dataSources: readonly DataSource[],
  target: PlanTarget,
  { transaction }: Pick<Database, 'transaction'>,
  now: Date,
): Promise<PlannedHolding[]> {
  const planned: PlannedHolding[] = []
  for (const { dataSource } of dataSourcesInOrder(dataSources)) {
    const { items, held, results } = await transaction((tx) => planOf(dataSource, target, tx, now), timeFor(dataSource))
    const { name, store, what } = dataSource
    planned.push({ holder: name, store, what, items: items.length, held: legalHoldCounts(held), results })
  }
  return planned
}

/** Totals of the pages of one data source in a run. */
interface Pages {
  /** Additional counts for items that this plan completed. */
  results: Record<string, number>
  /** Items that holds stopped, by the id of the hold. */
  stopped: Record<string, number>
  /** Items on pages that stay and are not erased yet. */
  staying: Set<string>
  watched: Set<string>
  /** Counts: erased items, remaining items of finished pages, and items still to erase. */
  erased: number
  remaining: number
  open: number
  next: number
}

const noPages = (): Pages => ({
  staying: new Set<string>(),
  watched: new Set<string>(),
  results: {},
  stopped: {},
  erased: 0,
  remaining: 0,
  open: 0,
  next: 0,
})

async function pagesOf(tx: Transaction, runId: string, dataSource: DataSource): Promise<Pages> {
  const pages = await tx.erasurePage.findMany({ where: { runId, holder: dataSource.name } })
  const found = noPages()
  for (const { page, items, isWatched, erasedAt } of pages) {
    found.next = Math.max(found.next, page + 1)
    if (erasedAt === null) for (const item of items) found.staying.add(item)
    if (isWatched) for (const item of items) found.watched.add(item)
    else if (erasedAt === null) found.open += items.length
    else
      for (const item of items) {
        const counted = dataSource.countsAs?.(item) ?? 'erased'
        if (counted === 'erased') found.erased++
        if (counted === 'found') found.remaining++
      }
  }
  return found
}

/** The plan of one data source, and its position in the run. */
export interface StepPlan {
  dataSource: DataSource
  position: number
  planned: Planned
}

/**
 * Writes the plans of some data sources. Erased pages keep their counts; other pages are created again.
 * - After residue was found, all pages of a data source are erased again. Further plans keep these pages, because the rows that
 *   identified the items may be deleted by then. If a hold covers any of the items, the pages are created again instead.
 * - Items that need a decision remain, and wait while a hold covers them.
 */
export async function writeSteps(
  tx: Transaction,
  runId: string,
  plans: readonly StepPlan[],
  { retainedBy, now }: { retainedBy: string | undefined; now: Date },
): Promise<void> {
  const names = plans.map(({ dataSource }) => dataSource.name)
  const before = await tx.erasureStep.findMany({
    where: { runId, holder: { in: names } },
    select: { holder: true, residue: true, results: true, finishedAt: true },
  })
  const rows: object[] = []
  const pages: (() => Promise<void>)[] = []
  for (const { dataSource, position, planned } of plans) {
    const { items, watched = [], held } = planned
    const step = before.find((one) => one.holder === dataSource.name)
    // The first plan of a run finds no step, so there are no pages.
    const known = step
      ? await remainingPages(tx, runId, dataSource, { retainedBy, isHeld: Object.keys(held).length > 0, step, now })
      : noPages()
    const fresh = items.filter((item) => !known.staying.has(item))
    const toWatch = watched.filter((item) => !known.watched.has(item))
    const isDone = fresh.length + toWatch.length + known.staying.size === 0
    rows.push({
      holder: dataSource.name,
      store: dataSource.store,
      position,
      held: addLegalHoldCounts([held, known.stopped]),
      erased: known.erased,
      planned: known.erased + known.remaining + known.open + fresh.length,
      results: addedUp([Results.parse(step?.results ?? {}), known.results]),
      state: isDone ? 'done' : 'waiting',
      finished_at: isDone ? (step?.finishedAt ?? now) : null,
    })
    pages.push(() => insertAfter(tx, runId, dataSource, known.next, { items: fresh, watched: toWatch }))
  }
  await upsertSteps(tx, { runId, steps: rows })
  for (const insert of pages) await insert()
}

/** Updates the pages of earlier plans, and returns those that remain. */
async function remainingPages(
  tx: Transaction,
  runId: string,
  dataSource: DataSource,
  {
    retainedBy,
    isHeld,
    step,
    now,
  }: { retainedBy: string | undefined; isHeld: boolean; step: { residue: number | null }; now: Date },
): Promise<Pages> {
  const where = { runId, holder: dataSource.name }
  if (dataSource.decisions) {
    const underHolds = await decideThreads(tx, where, dataSource.decisions, { retainedBy, now })
    return { ...(await pagesOf(tx, runId, dataSource)), ...underHolds }
  }
  if (retainedBy !== undefined || isHeld)
    // They were erased once. Records that appeared since then are under the hold.
    await tx.erasurePage.updateMany({ where: { ...where, erasedAt: null, stays: true }, data: { erasedAt: now } })
  else if ((step.residue ?? 0) > 0)
    await tx.erasurePage.updateMany({
      where: { ...where, erasedAt: { not: null } },
      data: { erasedAt: null, stays: true },
    })
  await tx.erasurePage.deleteMany({ where: { ...where, erasedAt: null, stays: false } })
  return pagesOf(tx, runId, dataSource)
}

/** Applies the current holds to each item that needs a decision and is not erased yet. Nothing on it is erased under a hold. */
async function decideThreads(
  tx: Transaction,
  where: { runId: string; holder: string },
  { resumed, underHold, heldBy }: Decisions,
  { retainedBy, now }: { retainedBy: string | undefined; now: Date },
): Promise<Pick<Pages, 'results' | 'stopped'>> {
  const results: Record<string, number>[] = []
  const stopped: Record<string, number>[] = []
  for (const { page, items, erasedAt } of await tx.erasurePage.findMany({ where })) {
    const open = items.map((item) => resumed(item))
    // Already erased.
    if (erasedAt !== null && open.every((item, at) => item === items[at])) continue
    const holds =
      retainedBy === undefined ? await heldBy(open, tx, now) : new Map(open.map((item) => [item, retainedBy]))
    const decided = open.map((item) => (holds.has(item) ? underHold(item) : { item, results: {} }))
    for (const [at, { item, results: counts }] of decided.entries()) {
      const hold = holds.get(open[at] ?? '')
      results.push(counts)
      if (hold !== undefined && item !== open[at]) stopped.push({ [hold]: 1 })
    }
    await tx.erasurePage.update({
      where: { runId_holder_page: { ...where, page } },
      // A page holds one thread: see moveItems.
      data: { items: decided.map(({ item }) => item), erasedAt: holds.size > 0 ? now : null },
    })
  }
  return { results: addedUp(results), stopped: addedUp(stopped) }
}

async function insertAfter(
  tx: Transaction,
  runId: string,
  { name, pageSize: own }: DataSource,
  next: number,
  { items, watched }: Required<Pick<Planned, 'items' | 'watched'>>,
): Promise<void> {
  const size = own ?? erasurePageSize
  const insert = async (first: number, some: readonly string[], isWatched: boolean) => {
    if (some.length > 0) await insertPages(tx, { runId, holder: name, first, items: some, size, isWatched })
  }
  await insert(next, items, false)
  // Existing items are erased first, then the watched items are searched for new records.
  await insert(next + Math.ceil(items.length / size), watched, true)
}

/** Returns the data sources that have pages in a run, either erased or not yet erased. */
export const withPages = async (
  db: Database,
  runId: string,
  { isErased }: { isErased: boolean },
): Promise<ReadonlySet<string>> =>
  new Set((await sourcesWithPages(db, { runId, isErased })).map(({ holder }) => holder))

export async function erasedItems(tx: Transaction, runId: string, holder: string): Promise<ReadonlySet<ItemId>> {
  const pages = await tx.erasurePage.findMany({ where: { runId, holder, erasedAt: { not: null } } })
  return new Set(pages.flatMap(({ items }) => items))
}

/** Adds items to the step of a data source in a running erasure, and sets the step to waiting again. */
export async function insertItems(
  tx: Transaction,
  runId: string,
  dataSource: DataSource,
  more: Required<Pick<Planned, 'items' | 'watched'>>,
): Promise<void> {
  const { next } = await pagesOf(tx, runId, dataSource)
  await insertAfter(tx, runId, dataSource, next, more)
  await tx.erasureStep.update({
    where: { runId_holder: { runId, holder: dataSource.name } },
    data: { state: 'waiting', finishedAt: null, attempts: 0, planned: { increment: more.items.length } },
  })
}

/**
 * Stores where names of the erased subject remain in texts of other authors: only the place, not the text. Marks
 * mentions that were redacted since.
 */
export async function noteMentions(tx: Transaction, runId: string, mentions: readonly Mention[]): Promise<void> {
  if (mentions.length > 0) await storeMentions(tx, { runId, mentions })
}

/** Number of places of one kind where erased words or names remain. */
export interface MentionCount {
  store: string
  kind: string
  field: string
  count: number
}

export interface RunMentions {
  /** Places where erased words or names remain, by store, kind and field. */
  mentions: MentionCount[]
  /** Number of places where names were replaced. */
  replaced: number
}
export async function countMentions(tx: Transaction, runId: string): Promise<RunMentions> {
  const mentions = await mentionCounts(tx, { runId })
  const [redacted] = await countRedacted(tx, { runId })
  return { mentions, replaced: redacted?.n ?? 0 }
}
