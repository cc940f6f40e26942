import type { Place } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { boundedQuery } from '#lib/stores/postgres/bounded.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { entryPlace, isIndexed, oldestOf, type Where, whereOf } from './conditions.ts'
import type { AuditFilters } from './contract.ts'
import { nextStep, type Step, shortestStep, stepLimit } from './steps.ts'

export interface EntryRow {
  id: string
  at: Date
  action: string
  agent_id: string
  resource_type: string
  resource_id: string
  ip: string
  details: Record<string, unknown>
}
interface Found {
  rows: EntryRow[]
  /** Where the next page begins; undefined at the end. */
  next: Place | undefined
  /** To which time it was looked, where the page ends for that and not because it is full. */
  reached: Date | undefined
}
interface Counted {
  total: number
  /** Whether `total` is all, or counting stopped there. */
  counted: 'exact' | 'at_least'
  /** About how many, by the statistics of the database; null where `total` is exact, or where they cannot say. */
  estimate: number | null
}
type Cut = AuditFilters & { cursor?: string | undefined }

/** How far a total is counted, */
const countedTo = 1_001
/** and for how long where no index helps, in milliseconds. */
const countingMost = 300
/** How long one page is looked for in steps before it goes out as it is, in milliseconds. */
const lookingMost = 2_000
/** Below every UUID of an entry: what comes after such a place is strictly older. */
const beforeAll = '00000000-0000-0000-0000-000000000000'

/** Reads pages of the log, newest first, in bounded time whatever the filters are. */
export function looking(db: Database, { most = lookingMost, step: firstStep = 3_600_000 } = {}) {
  const stepQuery = boundedQuery(db, stepLimit)
  const countQuery = boundedQuery(db, countingMost)

  const select = (where: Where, limit: number): string =>
    `SELECT * FROM audit_entries WHERE ${where.sql} ORDER BY at DESC, id DESC LIMIT ${limit}`

  const whole = (rows: EntryRow[], limit: number): Found => {
    const shown = rows.slice(0, limit)
    const last = rows.length > limit ? shown.at(-1) : undefined
    return { rows: shown, next: last && { at: last.at, id: last.id }, reached: undefined }
  }

  /** Back in time in steps that grow while they are quick, until the page is full, all was looked at, or the time is over. */
  async function inSteps(filters: Cut, own: readonly string[] | undefined, now: Date, limit: number): Promise<Found> {
    const started = performance.now()
    const oldest = oldestOf(filters, now)
    const rows: EntryRow[] = []
    let before: Date | undefined
    let step: Step = { milliseconds: firstStep }
    for (;;) {
      const upper = before ?? entryPlace(filters.cursor)?.at ?? filters.to ?? now
      const at = new Date(Math.max(oldest.getTime(), upper.getTime() - step.milliseconds))
      const where = whereOf(filters, own, now, { at, before })
      const asked = performance.now()
      const found = await stepQuery<EntryRow>(select(where, limit + 1 - rows.length), where.values)
      if (!found && step.milliseconds <= shortestStep)
        throw new Problem('unavailable', {
          detail: 'Looking through the audit log takes too long right now. Nothing was changed: ask again in a minute.',
          headers: { 'Retry-After': '60' },
        })
      step = nextStep(step, found ? performance.now() - asked : undefined)
      if (!found) continue
      rows.push(...found)
      if (rows.length > limit || at <= oldest) return whole(rows, limit)
      before = at
      if (performance.now() - started >= most) return { rows, next: { at, id: beforeAll }, reached: at }
    }
  }

  async function find(filters: Cut, own: readonly string[] | undefined, now: Date, limit: number): Promise<Found> {
    if (!isIndexed(filters, own)) return inSteps(filters, own, now, limit)
    const where = whereOf(filters, own, now)
    return whole(await db.query<EntryRow>(undefined, select(where, limit + 1), where.values), limit)
  }

  /** What the planner thinks, which it does from the size of each day's table and from samples of its columns. */
  async function estimated({ sql, values }: Where): Promise<number | null> {
    const [row] = await db.query<{ 'QUERY PLAN': { Plan: { 'Plan Rows': number } }[] }>(
      undefined,
      `EXPLAIN (FORMAT JSON) SELECT FROM audit_entries WHERE ${sql}`,
      values,
    )
    return row?.['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? null
  }

  /** How many there are in all; of a later page of what is looked for in steps only that there are as many as it shows. */
  async function count(
    { cursor, ...filters }: Cut,
    own: readonly string[] | undefined,
    now: Date,
    shown: number,
  ): Promise<Counted> {
    const hasIndex = isIndexed(filters, own)
    if (!hasIndex && cursor !== undefined) return { total: shown, counted: 'at_least', estimate: null }
    const where = whereOf(filters, own, now)
    const text = `SELECT count(*)::int AS n FROM (SELECT 1 FROM audit_entries WHERE ${where.sql} LIMIT ${countedTo}) AS c`
    const counted = hasIndex
      ? await db.query<{ n: number }>(undefined, text, where.values)
      : await countQuery<{ n: number }>(text, where.values)
    const total = counted?.[0]?.n
    if (total !== undefined && total < countedTo) return { total, counted: 'exact', estimate: null }
    const known = total ?? shown
    // Of text within a row no statistics are kept; and a later page has no use for a number.
    if (filters.q !== undefined || cursor !== undefined) return { total: known, counted: 'at_least', estimate: null }
    const estimate = await estimated(where)
    return { total: known, counted: 'at_least', estimate: estimate === null ? null : Math.max(estimate, known) }
  }

  return { find, count }
}
