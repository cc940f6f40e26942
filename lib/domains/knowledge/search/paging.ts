/*
 * How to make a table searchable, like units and skills: it has the columns listed in conditions.ts; each write stores
 * `searchVector(texts)` (vector.ts) in the column `search`; its list declares its rows with `listedRows` (repository.ts) and calls
 * `searchPage(…)` from this file, with `searching`, `searchResultFields` and `Corrected` of contract.ts in its contract;
 * `snippetOf(texts, terms)` (snippet.ts) creates snippets. Triggers maintain the word table; data-source.ts clears it when a row is erased.
 */
import { createHash } from 'node:crypto'
import type { Actor, Context } from '#lib/kernel/context.ts'
import { decodeCursor, encodeCursor, notOurCursor } from '#lib/kernel/pages.ts'
import { invalid } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { snapshot } from '#lib/stores/postgres/snapshot.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import {
  type Filters,
  type SearchTarget,
  type SearchVisibility,
  searchReaderOf,
  searchTarget,
  type Table,
} from './conditions.ts'
import { newest } from './newest.ts'
import { parseQuery, type Query, type Term } from './query.ts'
import { rankedSearch } from './ranking.ts'
import { hasOnePlan, mostRanked, onePlanSettings, plannedSettings, type RankedRows } from './repository.ts'

/** Query parameters of every searchable list. */
export interface Searching {
  q?: string | undefined
  agent_id?: string | undefined
  mine: 'true' | 'false'
  visibility?: SearchVisibility | undefined
  limit: number
  offset: number
  cursor?: string | undefined
}
export interface FoundPage<R> {
  /** In order of the result. */
  rows: { row: R; score: number | undefined }[]
  total: number
  offset: number
  limit: number
  next_cursor: string | null
  corrected: { from: string; to: string }[]
  /** The terms searched for, for snippets; empty without `q`. */
  terms: readonly Term[]
}

interface SearchedList<R> {
  listed: {
    table: Table
    withIds(on: Queryable, values: { ids: readonly string[] }): Promise<R[]>
    ranked: RankedRows<R>
  }
  filters: Filters
  /** Searches for the words as typed, which takes less time when they occur nowhere. */
  isUncorrected?: true
}

/**
 * Returns one page of a searchable table as visible to this reader: ranked with `q`, otherwise newest first.
 * @param listed reads the rows, as far as their sizes allow; declared with `listedRows`
 * @throws {Problem} `invalid` for a query without words and for a cursor of another list
 */
export async function searchPage<R extends { id: string }>(
  db: Database,
  { actor }: Pick<Context, 'actor'>,
  asked: Searching,
  { listed, filters, isUncorrected }: SearchedList<R>,
): Promise<FoundPage<R>> {
  const { q, agent_id: agentId, mine, visibility, limit, offset, cursor } = asked
  const parsed = q === undefined ? undefined : parseQuery(q)
  const terms = parsed && isUncorrected ? asTyped(parsed) : parsed
  if (terms && terms.terms.length === 0) throw invalid(['query', 'q'], 'must contain a word to search for')
  if (cursor !== undefined && offset > 0) throw invalid(['query', 'offset'], 'cannot be combined with a cursor')
  const authors = authorsOf(actor, agentId, mine === 'true')
  const target = searchTarget(listed.table, searchReaderOf(actor, visibility), { authors, ...filters })
  const isOnePlan = hasOnePlan(target.form)
  const onSnapshot = <T>(work: (on: Queryable) => Promise<T>): Promise<T> =>
    snapshot(db, isOnePlan ? onePlanSettings : plannedSettings, work)
  if (!terms) return onSnapshot((on) => newestListPage(on, target, listed, { offset, limit, cursor }))
  const identity = JSON.stringify([listed.table, actor.id, q, authors, visibility, filters])
  const ranked = (on: Queryable) =>
    rankedPage(on, target, { terms, offset, limit, cursor, identity, rows: listed.ranked })
  // One statement reads the whole page, so a transaction is needed only for settings.
  return isOnePlan ? ranked(db.withSettings(onePlanSettings)) : onSnapshot(ranked)
}

/** The query with words that are not corrected. */
const asTyped = (query: Query): Query => ({
  ...query,
  terms: query.terms.map((term) => ({ ...term, isPlain: false })),
})

interface PageRequest {
  offset: number
  limit: number
  cursor: string | undefined
}
async function rankedPage<R>(
  on: Queryable,
  target: SearchTarget,
  {
    terms,
    cursor,
    limit,
    identity,
    rows,
    ...request
  }: PageRequest & {
    terms: Query
    identity: string
    rows: RankedRows<R>
  },
): Promise<FoundPage<R>> {
  const offset = cursor === undefined ? request.offset : rankOf(cursor, identity)
  if (offset === undefined) throw invalid(['query', 'cursor'], 'is not a cursor of this search')
  const { hits, total, ...found } = await rankedSearch(on, target, { query: terms, offset, limit, rows })
  const next = offset + hits.length
  return {
    rows: hits.map((row) => ({ row, score: row.score })),
    ...{ total, offset, limit },
    next_cursor: next < Math.min(total, mostRanked) && hits.length > 0 ? rankCursor(next, identity) : null,
    ...found,
  }
}

async function newestListPage<R extends { id: string }>(
  on: Queryable,
  target: SearchTarget,
  listed: SearchedList<R>['listed'],
  { cursor, offset, limit }: PageRequest,
): Promise<FoundPage<R>> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor)
  if (cursor !== undefined && (!after || encodeCursor(after.at, after.id) !== cursor)) throw notOurCursor()
  const { rows: records, total } = await newest(on, target, { after, offset, limit })
  const rows = await listed.withIds(on, { ids: records.slice(0, limit).map(({ id }) => id) })
  const last = records[rows.length - 1]
  return {
    rows: rows.map((row) => ({ row, score: undefined })),
    total,
    offset,
    limit,
    next_cursor: last && records.length > rows.length ? encodeCursor(last.created_at, last.id) : null,
    corrected: [],
    terms: [],
  }
}

/** Authors whose rows are requested; undefined means any. */
function authorsOf(actor: Actor, agentId: string | undefined, isMine: boolean): readonly string[] | undefined {
  if (!isMine) return agentId === undefined ? undefined : [agentId]
  return agentId === undefined ? actor.agents : actor.agents.filter((own) => own === agentId)
}

/** A ranked list has no sort key for a cursor: the cursor contains an offset that is bound to the query. */
const rankCursor = (offset: number, identity: string): string =>
  Buffer.from(JSON.stringify([offset, seal(offset, identity)])).toString('base64url')
const seal = (offset: number, identity: string): string =>
  createHash('sha256').update(`${offset}\n${identity}`).digest('base64url').slice(0, 22)

function rankOf(cursor: string, identity: string): number | undefined {
  const [, digits] = /^\[(\d{1,4}),/.exec(Buffer.from(cursor, 'base64url').toString('utf8')) ?? []
  const offset = Number(digits)
  return digits !== undefined && rankCursor(offset, identity) === cursor ? offset : undefined
}
