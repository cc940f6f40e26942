import { z } from 'zod'
import type { Actor, Clock, Context } from '#lib/kernel/context.ts'
import type { DataSource, RetainedRecord } from '#lib/kernel/data-source.ts'
import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import type { Exporter, PersonExporter } from '#lib/kernel/exporter.ts'
import { newId } from '#lib/kernel/ids.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { AuditAction } from '#lib/kernel/operation.ts'
import { decodeCursor, encodeCursor, notOurCursor, type TimeCursor } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read, stream } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { rowsOfAccount } from '#lib/stores/postgres/personal-tables.ts'
import { jsonObject, recordPages, utc } from '#lib/stores/postgres/record-pages.ts'
import { StatementTimeout, timeLimitedQuery } from '#lib/stores/postgres/time-limited-query.ts'
import { type ActPart, actsOf, actView, entryOf, namedIds } from './acts.ts'
import {
  type AuditFilters,
  type AuditLogEntry,
  deleteSearch,
  exportAudit,
  findActors,
  listSearches,
  queryActs,
  queryAudit,
  saveSearch,
} from './contract.ts'
import type { AuditLog } from './log.ts'
import { auditNames } from './queries.ts'
import {
  countEntries,
  createPartitions,
  type EntryRow,
  type EntrySearch,
  entriesOf,
  entriesOfActors,
  estimateEntries,
  kindsOf,
  lockSearches,
  oldestEntry,
  rightsToEntries,
  savedSearchRows,
} from './repository.ts'
import {
  auditDays,
  auditFileName,
  canonicalQuery,
  csvCell,
  csvStart,
  maxSearches,
  nextStep,
  oldestRead,
  type SearchPeriod,
  savedPageNames,
  savedPages,
  shortestStep,
  stepLimit,
} from './rules.ts'

/** A page of entries. */
export type AuditEntryPage = AuditLogEntry[] & { nextCursor: string | null }

/** Entries per query of an export. */
const exportPage = 500

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
const maxCountingTime = 300
/** Time limit for a page that is searched in steps, in milliseconds. It is then returned incomplete. */
const maxReadingTime = 2_000
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

/** Decodes a cursor of the log; undefined without a cursor. @throws Problem `invalid` for a cursor of another origin */
function auditCursorOf(cursor: string | undefined): TimeCursor | undefined {
  if (cursor === undefined) return undefined
  const after = decodeCursor(cursor)
  if (!after || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(after.id)) throw notOurCursor()
  return after
}

/** The earliest time to search: at most 90 days back. */
function oldestOf({ from }: AuditFilters, now: Date): Date {
  const oldest = oldestRead(now)
  return from && from > oldest ? from : oldest
}

/**
 * What to search for, limited to 90 days and, without the right to audit, to the actor's own entries. `within` narrows
 * it to a period: from `at` (inclusive) to `before` (exclusive).
 */
export function searchOf(
  filters: Cut,
  ownOnly: readonly string[] | undefined,
  now: Date,
  within: { at: Date; before?: Date | undefined } = { at: oldestOf(filters, now) },
): EntrySearch {
  const after = auditCursorOf(filters.cursor)
  return {
    from: within.at,
    before: within.before ?? null,
    to: filters.to ?? null,
    own: ownOnly ?? null,
    agent_id: filters.agent_id || null,
    action: filters.action ?? null,
    resource_type: filters.resource_type || null,
    resource_id: filters.resource_id || null,
    q: filters.q ?? null,
    reads: filters.reads === false ? false : null,
    cursor_at: after?.at ?? null,
    cursor_id: after?.id ?? null,
  }
}

/**
 * Whether an index covers the filters, however many entries exist. Text, or an action or resource type without other
 * filters, is searched in steps of time, and so is the log without reads.
 */
const isIndexed = (filters: AuditFilters, ownOnly: readonly string[] | undefined): boolean =>
  filters.q === undefined &&
  (filters.resource_id !== undefined ||
    filters.agent_id !== undefined ||
    ((ownOnly !== undefined || (filters.action === undefined && filters.reads !== false)) &&
      filters.resource_type === undefined))

/** Reads pages of the log, newest first, in bounded time for all filters. */
export function auditReading(db: Database, { max = maxReadingTime, step: firstStep = 3_600_000 } = {}) {
  const stepQuery = timeLimitedQuery(db, stepLimit)
  const countQuery = timeLimitedQuery(db, maxCountingTime)

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
      if (performance.now() - started >= max) return { rows, next: { at, id: beforeAll }, reached: at }
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

interface SearchRow {
  id: string
  page: string
  name: string
  query: string
  createdAt: Date
}
const presented = ({ id, page, name, query, createdAt }: SearchRow) => ({
  id,
  page: savedPageNames.find((one) => one === page) ?? 'audit',
  name,
  query,
  created_at: createdAt,
})

function accountOf({ accountId }: Actor): string {
  if (accountId === undefined)
    throw new Problem('forbidden', 'Saved searches belong to an account, and a token has none. Sign in to use them.')
  return accountId
}

/** Named filters of the log and of other pages of admins. Visible only to their account, not even to admins. */
function searchesService(db: Database) {
  return {
    searches: read(listSearches, async ({ actor }, { query: { page } }) => {
      const rows = await db.prisma.savedSearch.findMany({
        where: { accountId: accountOf(actor), ...(page !== undefined && { page }) },
        orderBy: [{ name: 'asc' }, { id: 'asc' }],
        take: maxSearches,
      })
      return {
        body: { data: rows.map(presented), total: rows.length, offset: 0, limit: maxSearches, next_cursor: null },
        resourceId: 'list',
        details: { count: rows.length },
      }
    }),

    saveSearch: mutation(saveSearch, async ({ tx, actor, now }, { body: { page, name, query: text } }) => {
      const accountId = accountOf(actor)
      const query = canonicalQuery(text, page)
      if (query === undefined)
        throw invalid(
          ['query'],
          `accepts the filters ${savedPages[page].join(', ')}, each at most once, and needs at least one`,
        )
      await lockSearches(tx, { account: accountId })
      const known = await tx.savedSearch.findMany({ where: { accountId }, select: { page: true, name: true } })
      if (known.some((one) => one.page === page && one.name === name))
        throw new Problem(
          'conflict',
          'You already have a search with this name. Choose another name, or delete that search.',
        )
      if (known.length >= maxSearches)
        throw new Problem('conflict', `You have ${maxSearches} searches. Delete one that you no longer need.`)
      const row = await tx.savedSearch.create({
        data: { id: newId('srch'), accountId, page, name, query, createdAt: now },
      })
      return { body: { data: presented(row) }, resourceId: row.id, headers: { Location: '/api/audit/searches' } }
    }),

    deleteSearch: mutation(deleteSearch, async ({ tx, actor }, { params: { id } }) => {
      const { count } = await tx.savedSearch.deleteMany({ where: { id, accountId: accountOf(actor) } })
      if (count === 0) throw new Problem('not_found', 'You have no saved search with this id.')
      return { body: undefined, resourceId: id }
    }),
  }
}

/** The fields of a page of the log beside its rows. `reached`: how far back a search by text has read. */
const pageOfLog = (
  { total, counted, estimate }: Counted,
  { limit, next, reached }: { limit: number } & Pick<AuditPage, 'next' | 'reached'>,
) => ({
  total,
  offset: 0,
  limit,
  next_cursor: next ? encodeCursor(next.at, next.id) : null,
  counted,
  total_estimate: estimate,
  searched_to: reached ?? null,
})

/** Reads the log. */
function auditService(db: Database) {
  const log = auditReading(db)
  const names = auditNames(db)
  const ownOnly = (actor: Actor): readonly string[] | undefined =>
    actor.can('audit:audit') ? undefined : [actor.id, ...actor.agents]
  /** Returns at most `limit` entries, newest first, and the cursor of the next page. @throws RangeError */
  async function query(
    filters: AuditFilters & { cursor?: string | undefined },
    now: Date,
    limit = 100,
  ): Promise<AuditEntryPage> {
    if (!Number.isInteger(limit) || limit < 1 || limit > exportPage)
      throw new RangeError(`The limit of a page must be a whole number from 1 to ${exportPage}.`)
    const { rows, next } = await log.find(filters, undefined, now, limit)
    const entries = rows.map((row) => entryOf(row))
    return Object.assign(entries, { nextCursor: next ? encodeCursor(next.at, next.id) : null })
  }

  async function* exported(
    { actor, now }: Context,
    filters: AuditFilters,
    format: 'csv' | 'jsonl',
  ): AsyncIterable<string> {
    const own = ownOnly(actor)
    const shown = (row: EntryRow) => entryOf(row, own && actor.id)
    if (format === 'csv') yield `${csvStart}id,timestamp,action,agentId,resourceType,resourceId,ip,details\r\n`
    // Reads page by page, so that a stalled reader holds no connection and no lock.
    for (let cursor: string | undefined; ; ) {
      const page = await log.find({ ...filters, cursor }, own, now, exportPage)
      yield page.rows
        .map(shown)
        .map((entry) =>
          format === 'jsonl'
            ? `${JSON.stringify(entry)}\n`
            : `${[entry.id, entry.timestamp, entry.action, entry.agentId, entry.resourceType, entry.resourceId, entry.ip, JSON.stringify(entry.details)].map(csvCell).join(',')}\r\n`,
        )
        .join('')
      if (!page.next) return
      cursor = encodeCursor(page.next.at, page.next.id)
    }
  }

  return {
    ...searchesService(db),
    query,
    list: read(queryAudit, async (ctx, { query: { limit, ...filters } }) => {
      const own = ownOnly(ctx.actor)
      const { rows, next, reached } = await log.find(filters, own, ctx.now, limit)
      const [counts, named] = await Promise.all([
        log.count(filters, own, ctx.now, rows.length),
        own ? undefined : names.of(rows),
      ])
      return {
        body: {
          data: rows.map((row) => ({
            ...entryOf(row, own && ctx.actor.id),
            actorName: named?.get(row.agent_id) ?? null,
            resourceName: named?.get(row.resource_id) ?? null,
          })),
          ...pageOfLog(counts, { limit, next, reached }),
        },
        resourceId: 'query',
        details: { filters: Object.keys(filters), count: rows.length },
      }
    }),
    acts: read(queryActs, async (ctx, { query: { limit, ...filters } }) => {
      const { parts, next, reached } = await log.findMoments(filters, ctx.now, limit)
      const [counts, named] = await Promise.all([
        log.count(filters, undefined, ctx.now, parts.length),
        names.of(
          parts.map(({ entry }) => entry),
          parts.flatMap(({ entry }) => namedIds(entry)),
        ),
      ])
      return {
        body: {
          data: actsOf(parts).map((act) => actView(act, named)),
          ...pageOfLog(counts, { limit, next, reached }),
        },
        resourceId: 'query',
        details: { filters: Object.keys(filters), count: parts.length },
      }
    }),
    actors: read(findActors, async (_ctx, { query: { q } }) => {
      const data = await names.find(q)
      return { body: { data }, resourceId: 'actors', details: { count: data.length } }
    }),
    export: stream(exportAudit, async (ctx, { query: { format, ...filters } }) => ({
      body: exported(ctx, filters, format),
      resourceId: 'query',
      details: { filters: Object.keys(filters), format },
      headers: {
        'Content-Type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/jsonl',
        'Content-Disposition': `attachment; filename="${auditFileName({ ...filters, format }, ctx.now)}"`,
      },
    })),
  }
}

export const auditData = (db: Database): PersonalData => ({
  dataSources: [savedSearchDataSource(db)],
  exporters: auditExporters(db),
  personExporters: auditPersonExporters(db),
  retainedRecords: retainedAuditEntries(db),
})

const hour = 3_600_000

/** Checks that the application cannot alter the log and that old entries are deleted in time. */
const auditEvidence = (): EvidenceCheck[] => [
  {
    line: 'audit_trail',
    name: 'audit.append-only',
    page: null,
    async ask(query) {
      const [row] = await rightsToEntries(query, {})
      const { tables = 0, writable = 0, readable = false, owned = true } = row ?? {}
      return {
        state: failsIf(tables === 0 || writable > 0 || owned || !readable),
        numbers: { tables, writable, owned: owned ? 1 : 0, unwritten: readable ? 0 : 1 },
      }
    },
  },
  {
    line: 'storage_limitation',
    name: 'audit.oldest',
    page: '/admin/audit?reads=true',
    async ask(query, now) {
      const [row] = await oldestEntry(query, {})
      const oldest = row?.oldest ?? null
      // Reads end at 90 days to the millisecond. The row itself is deleted after a write, up to a minute later.
      const limit = oldestRead(now).getTime() - 2 * hour
      return {
        state: failsIf(oldest !== null && oldest.getTime() < limit),
        times: { oldest },
        ...(oldest && { page: `/admin/audit?reads=true&to=${oldest.toISOString()}` as const }),
      }
    },
  },
]

/** Creates partitions a week ahead. Entries without a partition are stored in the default one and moved later. */
const auditJobs = (db: Database, log: AuditLog) => [
  job({
    name: 'audit.upkeep',
    payload: z.unknown(),
    cron: '7 * * * *',
    async run(ctx) {
      await createPartitions(db, { days: 7 })
      await log.purge(ctx.now)
    },
  }),
]

/** A query of the audit log by server code; times are inclusive. */
interface AuditQuestion {
  agentId?: string
  action?: AuditAction
  from?: Date
  to?: Date
  /** Continues after the last entry of another page. */
  cursor?: string
  /** 1 to 500; 100 if absent. */
  limit?: number
}
/** The audit log and saved searches of it. */
export function auditModule({ clock, db, log }: { clock: Clock; db: Database; log: AuditLog }) {
  const audit = auditService(db)
  return {
    useCases: { audit },
    jobs: auditJobs(db, log),
    checks: auditEvidence(),
    auditLog: {
      /** A page of entries, newest first. `nextCursor` leads to the next page; null after the last one. */
      query: ({ agentId, action, from, to, cursor, limit }: AuditQuestion) =>
        audit.query({ agent_id: agentId, action, from, to, cursor }, clock.now(), limit),
    },
  }
}

/** Saved searches of admins and auditors; an item is a search id. The audit log is a retained record, not a data source. */
const savedSearchDataSource = (db: Database): DataSource =>
  rowsOfAccount(db, {
    name: 'audit.searches',
    what: 'saved filters of the audit log and other admin pages: their names and values',
    purpose: 'to repeat searches that an admin or auditor needs often',
    kept: 'until the person deletes them or is erased',
    rows: savedSearchRows,
  })

const shape = { part: 'audit_entries', bases: ['all'], tables: ['audit_entries'], isShared: true } as const

/** What an actor did within the last 90 days, from the log. */
const recentEntriesOf = (
  db: Database,
  actorId: string,
  { until, showsAddress }: { until: Date; showsAddress: boolean },
) =>
  recordPages(db, {
    from: 'audit_entries e',
    where: 'e.agent_id = $1 AND e.at BETWEEN $2 AND $3',
    values: [actorId, oldestRead(until), until],
    at: 'e.at',
    id: 'e.id::text',
    columns: 'e.id, e.at, e.action, e.agent_id, e.resource_type, e.resource_id, e.ip, e.details',
    weight: 'pg_column_size(e.details)',
    maxRows: 1_024,
    record: jsonObject({
      id: 'c.id',
      action: 'c.action',
      agentId: 'c.agent_id',
      resourceType: 'c.resource_type',
      resourceId: 'c.resource_id',
      timestamp: utc('c.at'),
      ip: showsAddress ? 'c.ip' : "''",
      details: 'c.details',
    }),
  })

const auditExporters = (db: Database): Exporter[] => [
  {
    ...shape,
    // Hides the addresses of earlier users from a later owner.
    pages: (agentId, { until, id, isAdmin }) =>
      recentEntriesOf(db, agentId, { until, showsAddress: id === agentId || isAdmin }),
  },
]
const auditPersonExporters = (db: Database): PersonExporter[] => [
  {
    ...shape,
    pages: (accountId, { until }) => recentEntriesOf(db, `user:${accountId}`, { until, showsAddress: true }),
  },
  {
    part: 'saved_searches',
    bases: ['provided', 'all'],
    tables: ['saved_searches'],
    pages: (accountId, { until }) =>
      recordPages(db, {
        from: 'saved_searches s',
        where: 's.account_id = $1 AND s.created_at <= $2',
        values: [accountId, until],
        at: 's.created_at',
        id: 's.id',
        columns: 's.*',
        record: jsonObject({
          id: 'c.id',
          page: 'c.page',
          name: 'c.name',
          query: 'c.query',
          created_at: utc('c.created_at'),
        }),
      }),
  },
]

/** Entries about a subject's actions. Retained for 90 days; only expiry deletes them. */
const retainedAuditEntries = (db: Database): RetainedRecord[] => [
  {
    name: 'audit.entries',
    store: 'postgresql',
    what: 'audit entries: actor, action, resource id, time and network address',
    purpose: 'Showing who accessed data, and detecting misuse. Ids and counts, no content.',
    basis: 'legal obligation (GDPR art. 6(1)(c), with art. 5(2) and 32)',
    kept: `${auditDays} days after each entry, even after an erasure.`,
    tables: ['audit_entries'],
    async inventory({ account, agents }, now) {
      const actors = [...agents, ...(account === null ? [] : [`user:${account}`])]
      const [row] = await entriesOfActors(db, { actors, from: oldestRead(now) })
      const last = row?.last ?? null
      return {
        count: row?.count ?? 0,
        since: row?.since ?? null,
        until: last && new Date(last.getTime() + auditDays * 86_400_000),
      }
    },
  },
]
