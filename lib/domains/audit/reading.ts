import type { TimeCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { boundedQuery, StatementTimeout } from '#lib/stores/postgres/bounded.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { ActPart } from './acts.ts'
import { auditCursorOf, isIndexed, oldestOf, searchOf } from './conditions.ts'
import type { AuditFilters } from './contract.ts'
import { countEntries, type EntryRow, type EntrySearch, entriesOf, estimateEntries, kindsOf } from './repository.ts'
import { nextStep, type SearchPeriod, shortestStep, stepLimit } from './steps.ts'

interface AuditPage {
  rows: EntryRow[]
  /** Start of the next page. Undefined at the end. */
  next: TimeCursor | undefined
  /** How far back the search has come, when the time limit ended the page. */
  reached: Date | undefined
}
interface Counted {
  total: number
  /** Whether `total` is complete or counting stopped there. */
  counted: 'exact' | 'at_least'
  /** An estimate from database statistics. Null when `total` is exact or there is no estimate. */
  estimate: number | null
}
type Cut = AuditFilters & { cursor?: string | undefined }

/** Counting stops at this total. */
const countedTo = 1_001
/** Time limit for counting without an index, in milliseconds. */
const countingMost = 300
/** Time limit for a page that is searched in steps, in milliseconds. It is then returned incomplete. */
const lookingMost = 2_000
/** Smaller than every entry id: entries after such a cursor are strictly older. */
const beforeAll = '00000000-0000-0000-0000-000000000000'

/** Undefined if the database ended the query at its time limit. */
const inTime = <T>(result: Promise<T>): Promise<T | undefined> =>
  result.catch((error: unknown) => {
    if (error instanceof StatementTimeout) return undefined
    throw error
  })

/** A whole page, from up to one row more than it shows. */
const whole = (rows: EntryRow[], limit: number): AuditPage => {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return { rows: shown, next: last && { at: last.at, id: last.id }, reached: undefined }
}

/** Reads pages of the log, newest first, in bounded time for all filters. */
export function auditReading(db: Database, { most = lookingMost, step: firstStep = 3_600_000 } = {}) {
  const stepQuery = boundedQuery(db, stepLimit)
  const countQuery = boundedQuery(db, countingMost)

  /** Searches backwards in steps that grow while they are fast, until the page is full, the log ends or the time is over. */
  async function inSteps(
    filters: Cut,
    own: readonly string[] | undefined,
    now: Date,
    limit: number,
  ): Promise<AuditPage> {
    const started = performance.now()
    const oldest = oldestOf(filters, now)
    const rows: EntryRow[] = []
    let before: Date | undefined
    let step: SearchPeriod = { milliseconds: firstStep }
    for (;;) {
      const upper = before ?? auditCursorOf(filters.cursor)?.at ?? filters.to ?? now
      const at = new Date(Math.max(oldest.getTime(), upper.getTime() - step.milliseconds))
      const search = searchOf(filters, own, now, { at, before })
      const asked = performance.now()
      const found = await inTime(entriesOf(stepQuery, search, limit + 1 - rows.length))
      if (!found && step.milliseconds <= shortestStep)
        throw new Problem('unavailable', {
          detail: 'The search of the audit log takes too long right now. Try again in a minute.',
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

  async function find(filters: Cut, own: readonly string[] | undefined, now: Date, limit: number): Promise<AuditPage> {
    if (!isIndexed(filters, own)) return inSteps(filters, own, now, limit)
    return whole(await entriesOf(db, searchOf(filters, own, now), limit + 1), limit)
  }

  /**
   * Like {@link find}, but never ends a page within a moment: the entries of one time are complete. If one time has more entries than a
   * page, they are counted by kind.
   */
  async function findMoments(
    filters: Cut,
    now: Date,
    limit: number,
  ): Promise<Omit<AuditPage, 'rows'> & { parts: ActPart<EntryRow>[] }> {
    const { rows, next, reached } = await find(filters, undefined, now, limit)
    const parts = rows.map((entry) => ({ entry, count: 1 }))
    const last = rows.at(-1)
    if (!last || !next || next.id === beforeAll) return { parts, next, reached }
    const cut = last.at.getTime()
    const complete = parts.filter(({ entry }) => entry.at.getTime() > cut)
    const before = complete.at(-1)?.entry
    if (before) return { parts: complete, next: { at: before.at, id: beforeAll }, reached }
    const search = searchOf({ ...filters, cursor: undefined, to: last.at }, undefined, now, { at: last.at })
    return { parts: await kindsAt(search), next: { at: last.at, id: beforeAll }, reached }
  }
  const kindsAt = async (search: EntrySearch): Promise<ActPart<EntryRow>[]> =>
    (await kindsOf(db, search)).map(({ count: n, ...entry }) => ({ entry, count: n }))

  /** The total number of matches. For a later page of a stepwise search, only the number shown so far. */
  async function count(
    { cursor, ...filters }: Cut,
    own: readonly string[] | undefined,
    now: Date,
    shown: number,
  ): Promise<Counted> {
    const hasIndex = isIndexed(filters, own)
    if (!hasIndex && cursor !== undefined) return { total: shown, counted: 'at_least', estimate: null }
    const search = searchOf(filters, own, now)
    const total = await inTime(countEntries(hasIndex ? db : countQuery, search, countedTo))
    if (total !== undefined && total < countedTo) return { total, counted: 'exact', estimate: null }
    const known = total ?? shown
    // PostgreSQL keeps no statistics for text within a row, and a later page needs no total.
    if (filters.q !== undefined || cursor !== undefined) return { total: known, counted: 'at_least', estimate: null }
    const estimate = await estimateEntries(db, search)
    return { total: known, counted: 'at_least', estimate: estimate === null ? null : Math.max(estimate, known) }
  }

  return { find, findMoments, count }
}
