import type { Transaction } from '#lib/kernel/context.ts'
import type { PlannedHolding } from '#lib/kernel/erasure-run.ts'
import type { DataHolder, Planned } from '#lib/kernel/holder.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { heldCounts, heldTogether, inOrder, isNobody, narrowed, nobody, pageSize, type RunScope } from './run-rules.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'

/** What a plan is about, and under which holds it was made. */
export interface Aim {
  fingerprint: string
  /** Null where holds leave nothing to be erased. */
  free: RunScope | null
  kept: { hold: string; scope: RunScope }[]
}

/** What the holds of this moment leave to be erased. Until the transaction's end they stay as they are. */
export async function aimAt(
  tx: Transaction,
  scope: RunScope,
  holds: SubjectErasurePorts['holds'],
  now: Date,
): Promise<Aim> {
  await holds.lock(tx)
  const { fingerprint, ...inForce } = await holds.inForce(tx, 'subject' in scope ? scope.subject : nobody, now)
  if ('part' in scope) {
    const hold = (await holds.projects(tx, [scope.part.project], now)).get(scope.part.project)
    return hold === undefined
      ? { fingerprint, free: scope, kept: [] }
      : { fingerprint, free: null, kept: [{ hold, scope }] }
  }
  const { free, kept } = narrowed(scope.subject, inForce)
  return {
    fingerprint,
    free: isNobody(free) ? null : { subject: free },
    kept: kept.map(({ hold, part }) => ({ hold, scope: { subject: part } })),
  }
}

/** What a holder would erase, and how much holds keep: on the records, as the holder knows, and on the subject itself, as we do. */
export async function planOf(holder: DataHolder, { free, kept }: Aim, tx: Transaction, now: Date): Promise<Planned> {
  const planned: Planned = free === null ? { items: [], held: {} } : await holder.plan(free, tx, now)
  const held = [planned.held]
  for (const { hold, scope } of kept) {
    const there = await holder.plan(scope, tx, now)
    held.push({ [hold]: there.items.length }, there.held)
  }
  return { items: planned.items, held: heldTogether(held) }
}

/** As {@link planOf}, of every holder, each in a transaction of its own. */
export async function dryRun(
  holders: readonly DataHolder[],
  aim: Aim,
  transaction: <T>(run: (tx: Transaction) => Promise<T>) => Promise<T>,
  now: Date,
): Promise<PlannedHolding[]> {
  const planned: PlannedHolding[] = []
  for (const { holder } of inOrder(holders)) {
    const { items, held } = await transaction((tx) => planOf(holder, aim, tx, now))
    const { name, store, what } = holder
    planned.push({ holder: name, store, what, items: items.length, held: heldCounts(held) })
  }
  return planned
}

const insertPages = `INSERT INTO erasure_pages (run_id, holder, page, items)
  SELECT $1, $2, $3::int + ((place - 1) / $5::int)::int, array_agg(item ORDER BY place)
  FROM unnest($4::text[]) WITH ORDINALITY AS planned(item, place) GROUP BY (place - 1) / $5::int`

/** The pages that a holder has erased already, which verification found something left of: they are to be erased once more. */
async function pagesToRepeat(tx: Transaction, runId: string, holder: string): Promise<string[]> {
  const pages = await tx.erasurePage.findMany({
    where: { runId, holder, erasedAt: { not: null } },
    select: { items: true },
  })
  return pages.flatMap(({ items }) => items)
}

/**
 * Writes down what a holder will erase. Pages that were erased stay, with their counts; those that were not are made anew. A holder of
 * whose erased items something was left does them again, unless a hold keeps anything there.
 */
export async function writeStep(
  tx: Transaction,
  runId: string,
  { holder, position }: { holder: DataHolder; position: number },
  { items, held }: Planned,
  now: Date,
): Promise<void> {
  const { name, store } = holder
  const step = await tx.erasureStep.findUnique({ where: { runId_holder: { runId, holder: name } } })
  const again = (step?.residue ?? 0) > 0 && Object.keys(held).length === 0
  const toErase = again ? [...new Set([...(await pagesToRepeat(tx, runId, name)), ...items])] : items
  await tx.erasurePage.deleteMany({ where: { runId, holder: name, ...(!again && { erasedAt: null }) } })
  const erased = again ? 0 : (step?.erased ?? 0)
  const isDone = toErase.length === 0
  const plan = {
    store,
    position,
    held,
    erased,
    planned: erased + toErase.length,
    state: isDone ? ('done' as const) : ('waiting' as const),
    attempts: 0,
    residue: null,
    fault: null,
    finishedAt: isDone ? (step?.finishedAt ?? now) : null,
  }
  await tx.erasureStep.upsert({
    where: { runId_holder: { runId, holder: name } },
    create: { runId, holder: name, ...plan },
    update: plan,
  })
  if (isDone) return
  const { _max: last } = await tx.erasurePage.aggregate({ where: { runId, holder: name }, _max: { page: true } })
  await queryWithin(tx, 'erasure-pages-insert', insertPages, [
    runId,
    name,
    (last.page ?? -1) + 1,
    toErase,
    Math.min(holder.pageSize ?? pageSize, pageSize),
  ])
}
