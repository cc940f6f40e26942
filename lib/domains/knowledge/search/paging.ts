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
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { snapshot } from '#lib/stores/postgres/snapshot.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { shown } from '../stored-unit.ts'
import {
  type Filters,
  type SearchTarget,
  type SearchVisibility,
  searchReaderOf,
  searchTarget,
  type Table,
} from './conditions.ts'
import { listUnits } from './contract.ts'
import { isStopWord, parseQuery, type Query, type Term } from './query.ts'
import {
  anyMatch,
  countNewest,
  hasOnePlan,
  listedUnits,
  maxRanked,
  maxScanned,
  newestPage,
  onePlanSettings,
  plannedSettings,
  type RankedForm,
  type RankedRows,
  searchCountedTo,
  similarWords,
  wordCounts,
} from './repository.ts'
import { snippetOf, spelling } from './snippet.ts'
import { weightedTextsOf } from './words.ts'

/** Query parameters of every searchable list. */
interface Searching {
  q?: string | undefined
  agent_id?: string | undefined
  mine: 'true' | 'false'
  visibility?: SearchVisibility | undefined
  limit: number
  offset: number
  cursor?: string | undefined
}
interface FoundPage<R> {
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
  /** Only records of these agents, in addition to the other conditions. */
  authors?: readonly string[] | undefined
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
  query: Searching,
  { listed, filters, authors: only, isUncorrected }: SearchedList<R>,
): Promise<FoundPage<R>> {
  const { q, agent_id: agentId, mine, visibility, limit, offset, cursor } = query
  const parsed = q === undefined ? undefined : parseQuery(q)
  const terms = parsed && isUncorrected ? asTyped(parsed) : parsed
  if (terms && terms.terms.length === 0) throw invalid(['query', 'q'], 'must contain a word to search for')
  if (cursor !== undefined && offset > 0) throw invalid(['query', 'offset'], 'cannot be combined with a cursor')
  const named = authorsOf(actor, agentId, mine === 'true')
  const authors = only && named ? named.filter((one) => only.includes(one)) : (only ?? named)
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

/** Assumed share of rows that conditions other than words keep. */
const filtered = 0.1
/** The cost of a row scanned by quality, compared with a row that the word index finds. */
const scanCost = 2
/** Maximum matches of the words of a relaxed search. */
const maxRelaxed = 4_000

interface RankedSearch<R> {
  query: Query
  rows: RankedRows<R>
  offset: number
  limit: number
}
interface RankedHits<R> {
  /** The rows of the page until their sizes exceed the limit of a page. */
  hits: (R & { score: number; total: number })[]
  /** Stops at {@link searchCountedTo}. */
  total: number
  corrected: { from: string; to: string }[]
  /** The terms used, after corrections. */
  terms: readonly Term[]
}

/** Key of a scope's total number of rows. */
const allRows = ''

/** Estimated word frequencies for this reader, as last counted by a job; never shown. */
interface WordCounts {
  /** Number of rows in all its scopes. */
  rows: number
  /** Upper bound of rows with the term; 0 if no job has counted it. */
  of(term: Term): number
  /** Share of rows with the term. */
  share(term: Term): number
  /** Relevance of the term: rarer terms weigh more. */
  weight(term: Term): number
}

async function wordCountsOf(
  on: Queryable,
  { form, values: { scopes } }: SearchTarget,
  terms: readonly Term[],
): Promise<WordCounts> {
  const words = [allRows, ...new Set(terms.flatMap((term) => term.words))]
  const counted = await wordCounts(on, { words, scopes }, form)
  const known = new Map(counted.map(({ word, units }) => [word, units]))
  // Rounded to two digits, because hidden rows are included and no score may reveal them.
  const rows = Math.max(Number((known.get(allRows) ?? 0).toPrecision(2)), 1)
  const of = (term: Term) => Math.min(...term.words.map((word) => known.get(word) ?? 0))
  return {
    rows,
    of,
    share: (term) => Math.min(of(term) / rows, 1),
    weight: (term) => Math.log(1 + rows / (of(term) + 1)) + 0.1,
  }
}

/** Maximum number of similar words that are tried. */
const maxTried = 3

/** Damerau–Levenshtein distance: letters omitted, added, replaced, or swapped with their neighbour. */
export function distance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= one.length; i++) {
    const row = [i]
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1]
      let least = Math.min(
        (rows[i - 1]?.[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (rows[i - 1]?.[j - 1] ?? 0) + (isSame ? 0 : 1),
      )
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        least = Math.min(least, (rows[i - 2]?.[j - 2] ?? 0) + 1)
      row.push(least)
    }
    rows.push(row)
  }
  return rows[one.length]?.[other.length] ?? 0
}

/** Number of typing errors tolerated in a word, by its length. */
const forgiven = (word: string): number => (word.length < 3 ? 0 : word.length < 8 ? 1 : word.length < 12 ? 2 : 3)

/**
 * Replaces words without matches visible to the reader by the nearest word that has one, and drops words without any. The word table is not
 * trusted: a word is only used if a row visible to this reader contains it now, so corrections never reveal other readers' data.
 */
async function correct(
  on: Queryable,
  target: SearchTarget,
  sought: readonly Term[],
): Promise<{ terms: Term[]; corrected: { from: string; to: string }[] }> {
  const terms: Term[] = []
  const corrected: { from: string; to: string }[] = []
  for (const term of sought) {
    if (await isShown(on, target, term.query)) {
      terms.push(term)
      continue
    }
    const [word = ''] = term.words
    const right = term.isPlain && forgiven(word) > 0 ? await nearest(on, target, word) : undefined
    if (right === undefined) continue
    terms.push({ ...term, query: `'${right}'`, words: [right], beside: [] })
    corrected.push({ from: term.typed, to: right })
  }
  return { terms, corrected }
}

async function nearest(on: Queryable, target: SearchTarget, word: string): Promise<string | undefined> {
  const { scopes } = target.values
  const lengths = { shortest: word.length - 3, longest: word.length + 3 }
  const similar = await similarWords(on, { word, scopes, ...lengths }, target.form)
  const near = similar
    .map((one) => ({ ...one, distance: distance(word, one.word) }))
    .filter((one) => one.distance <= forgiven(word) && !isStopWord(one.word))
    .sort((one, other) => one.distance - other.distance || other.units - one.units || (one.word < other.word ? -1 : 1))
  for (const one of near.slice(0, maxTried)) if (await isShown(on, target, `'${one.word}'`)) return one.word
  return undefined
}

const isShown = async (on: Queryable, { form, values }: SearchTarget, query: string): Promise<boolean> =>
  (await anyMatch(on, { ...values, query }, form)).length > 0

/**
 * Searches in two phases: the matches with the highest quality, then their ranking by words. Uses the word index; for words so common that
 * it would read much of the table, scans by quality until enough rows match.
 */
async function rankedSearch<R>(on: Queryable, target: SearchTarget, sought: RankedSearch<R>): Promise<RankedHits<R>> {
  const { query } = sought
  const counts = await wordCountsOf(on, target, query.terms)
  const exact = await matching(on, target, sought, query.terms, counts)
  if (exact) return { ...exact, corrected: [], terms: query.terms }

  const { terms, corrected } = await correct(on, target, query.terms)
  if (terms.length === 0) return { hits: [], total: 0, corrected: [], terms }
  const recounted = corrected.length > 0 ? await wordCountsOf(on, target, terms) : counts
  const isOther = corrected.length > 0 || terms.length < query.terms.length
  const found =
    (isOther ? await matching(on, target, sought, terms, recounted) : undefined) ??
    (await relaxed(on, target, sought, terms, recounted))
  return { ...(found ?? { hits: [], total: 0 }), corrected: found ? corrected : [], terms }
}

type Hits<R> = Pick<RankedHits<R>, 'hits' | 'total'>

const matchesAll = (terms: readonly Term[]): string => terms.map(({ query }) => `(${query})`).join(' & ')

/** Rows that contain all terms; undefined if there are none. */
async function matching<R>(
  on: Queryable,
  target: SearchTarget,
  sought: RankedSearch<R>,
  terms: readonly Term[],
  counts: WordCounts,
): Promise<Hits<R> | undefined> {
  const { filters, everyOrganisation } = target.form
  const share = terms.reduce((all, term) => all * counts.share(term), filters.length > 0 ? filtered : 1)
  const candidates = { query: matchesAll(terms), terms, counts }
  const scanned = searchCountedTo / share
  if (scanned <= maxScanned && scanned * scanCost < share * counts.rows && !everyOrganisation) {
    const hits = await ranked(on, target, sought, { ...candidates, from: 'quality' })
    if (hits) return hits
  }
  return ranked(on, target, sought, { ...candidates, from: 'index' })
}

/** Rows that contain at least one of the rarest terms, ranked by all terms. */
function relaxed<R>(
  on: Queryable,
  target: SearchTarget,
  sought: RankedSearch<R>,
  terms: readonly Term[],
  counts: WordCounts,
): Promise<Hits<R> | undefined> {
  const rare: Term[] = []
  let max = 0
  for (const term of terms.toSorted((one, other) => counts.of(one) - counts.of(other))) {
    max += counts.of(term)
    if (rare.length > 0 && max > maxRelaxed) break
    rare.push(term)
  }
  const query = rare.map((term) => `(${term.query})`).join(' | ')
  return ranked(on, target, sought, { query, terms, counts, from: 'index' })
}

interface Candidates {
  from: RankedForm['candidates']
  /** A `tsquery` that the rows match. */
  query: string
  /** The terms by which the rows are ranked. */
  terms: readonly Term[]
  counts: WordCounts
}
/** The second phase. Returns undefined if no row matches. */
async function ranked<R>(
  on: Queryable,
  target: SearchTarget,
  sought: RankedSearch<R>,
  candidates: Candidates,
): Promise<Hits<R> | undefined> {
  const { query, offset, limit, rows: rowsOf } = sought
  const { from, terms, counts } = candidates
  const rows = await rowsOf(
    on,
    {
      ...target.values,
      query: candidates.query,
      offset,
      limit,
      phrases: query.phrases,
      weights: terms.map((term) => counts.weight(term)),
      queries: terms.map((term) => term.query),
    },
    { ...target.form, candidates: from, terms: terms.length, phrases: query.phrases.length },
  )
  const [first] = rows
  if (first) return { hits: rows, total: first.total }
  if (offset === 0) return undefined
  // The page is beyond the end; determine whether there are earlier results.
  const before = await ranked(on, target, { ...sought, offset: 0, limit: 1 }, candidates)
  return before && { hits: [], total: before.total }
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
    total,
    offset,
    limit,
    next_cursor: next < Math.min(total, maxRanked) && hits.length > 0 ? rankCursor(next, identity) : null,
    ...found,
  }
}

interface Page {
  /** The last row of the previous page; undefined for the first page. */
  after: { at: Date; id: string } | undefined
  offset: number
  limit: number
}

/** Returns ids and times, newest first, one more than `limit` if more exist, and the total up to {@link searchCountedTo}. */
async function newest(
  on: Queryable,
  { form, values }: SearchTarget,
  { after, offset, limit }: Page,
): Promise<{ rows: { id: string; created_at: Date }[]; total: number }> {
  const rows = await newestPage(
    on,
    {
      ...values,
      at: after?.at ?? null,
      id: after?.id ?? null,
      offset,
      limit: limit + 1,
      wanted: offset + limit + 1,
    },
    { ...form, isContinued: after !== undefined },
  )
  const counted = { ...values, at: null, id: null, wanted: searchCountedTo }
  const [count] = await countNewest(on, counted, { ...form, isContinued: false })
  return { rows, total: count?.n ?? 0 }
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

/** Lists and searches units. */
export function searchService(db: Database) {
  return {
    list: read(listUnits, async (ctx, { query }) => {
      const { types, domain, min_quality, from, to } = query
      const filters = { types, domain, min_quality, from, to }
      const found = await searchPage(db, ctx, query, { listed: listedUnits, filters })
      const { rows, terms, corrected, ...page } = found
      const snippets =
        query.q === undefined ? [] : rows.map(({ row }) => snippetOf(weightedTextsOf(row.document), terms))
      return {
        body: {
          data: rows.map(({ row, score }, at) => ({
            ...shown(row),
            agent_id: row.agent_id,
            ...(score !== undefined && { score, snippet: snippets[at] }),
          })),
          ...page,
          ...(corrected.length > 0 && {
            corrected: corrected.map((word) => ({ ...word, to: spelling(word.to, snippets) })),
          }),
        },
        resourceId: 'query',
        details: { count: rows.length, total: found.total, corrected: corrected.length },
      }
    }),
  }
}
