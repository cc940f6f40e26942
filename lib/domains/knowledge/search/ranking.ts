import type { Queryable } from '#lib/stores/postgres/statement.ts'
import type { SearchTarget } from './conditions.ts'
import { correct } from './corrections.ts'
import { type WordCounts, wordCountsOf } from './counts.ts'
import type { Query, Term } from './query.ts'
import { mostScanned, type RankedForm, type RankedRows, searchCountedTo } from './repository.ts'

/** Assumed share of rows that conditions other than words keep. */
const filtered = 0.1
/** The cost of a row scanned by quality, compared with a row that the word index finds. */
const scanCost = 2
/** Maximum matches of the words of a relaxed search. */
const mostRelaxed = 4_000

interface RankedSearch<R> {
  query: Query
  rows: RankedRows<R>
  offset: number
  limit: number
}
export interface RankedHits<R> {
  /** The rows of the page until their sizes exceed the limit of a page. */
  hits: (R & { score: number; total: number })[]
  /** Stops at {@link searchCountedTo}. */
  total: number
  corrected: { from: string; to: string }[]
  /** The terms used, after corrections. */
  terms: readonly Term[]
}
/**
 * Searches in two phases: the matches with the highest quality, then their ranking by words. Uses the word index; for words so common that
 * it would read much of the table, scans by quality until enough rows match.
 */
export async function rankedSearch<R>(
  on: Queryable,
  target: SearchTarget,
  sought: RankedSearch<R>,
): Promise<RankedHits<R>> {
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
  if (scanned <= mostScanned && scanned * scanCost < share * counts.rows && !everyOrganisation) {
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
  let most = 0
  for (const term of terms.toSorted((one, other) => counts.of(one) - counts.of(other))) {
    most += counts.of(term)
    if (rare.length > 0 && most > mostRelaxed) break
    rare.push(term)
  }
  const query = rare.map((term) => `(${term.query})`).join(' | ')
  return ranked(on, target, sought, { query, terms, counts, from: 'index' })
}

interface Candidates {
  from: RankedForm['candidates']
  /** A `tsquery` that the rows match. */
  query: string
  /** The terms by which they are ranked. */
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
      ...{ ...target.values, query: candidates.query, offset, limit, phrases: query.phrases },
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
