import type { SnapshotQuery } from '#lib/stores/postgres/snapshot.ts'
import { type Conditions, conditions, type SearchReader, shownTo, type Table, withinScopes } from './conditions.ts'
import { correct } from './corrections.ts'
import { type WordCounts, wordCountsOf } from './counts.ts'
import type { Query, Term } from './query.ts'

/** Totals stop counting here. */
export const searchCountedTo = 1_001
/** Maximum number of matches ranked by words, taken by quality; paging ends there. */
export const mostRanked = 300
/** Maximum rows scanned by quality; beyond it the word index is used instead. */
const mostScanned = 12_000
/** Assumed share of rows that conditions other than words keep. */
const filtered = 0.1
/** Maximum matches of the words of a relaxed search. */
const mostRelaxed = 4_000

export interface RankedSearch {
  table: Table
  reader: SearchReader
  query: Query
  /** Adds further conditions on `u`. */
  filter(list: Conditions): void
  /** Whether there are further conditions. */
  isFiltered: boolean
  offset: number
  limit: number
}
export interface RankedHits {
  hits: { id: string; score: number }[]
  /** Stops at {@link searchCountedTo}. */
  total: number
  corrected: { from: string; to: string }[]
  /** The terms used, after corrections. */
  terms: readonly Term[]
}
interface RankedRow {
  id: string
  score: number
  total: number
}

/** Settings that these statements rely on; a table scan would decompress the words of every row. */
export const searchSettings = {
  enable_seqscan: 'off',
  jit: 'off',
  work_mem: '32MB',
  statement_timeout: '10s',
  'pg_trgm.similarity_threshold': '0.2',
}

/**
 * Searches in two phases: the matches with the highest quality, then their ranking by words. Uses the word index; for words so common that
 * it would read much of the table, scans by quality until enough rows match.
 */
export async function rankedSearch(ask: SnapshotQuery, sought: RankedSearch): Promise<RankedHits> {
  const { reader, query } = sought
  const counts = await wordCountsOf(ask, reader, query.terms)
  const exact = await matching(ask, sought, query.terms, counts)
  if (exact) return { ...exact, corrected: [], terms: query.terms }

  const { terms, corrected } = await correct(ask, sought)
  if (terms.length === 0) return { hits: [], total: 0, corrected: [], terms }
  const recounted = corrected.length > 0 ? await wordCountsOf(ask, reader, terms) : counts
  const isOther = corrected.length > 0 || terms.length < query.terms.length
  const found =
    (isOther ? await matching(ask, sought, terms, recounted) : undefined) ??
    (await relaxed(ask, sought, terms, recounted))
  return { ...(found ?? { hits: [], total: 0 }), corrected: found ? corrected : [], terms }
}

type Hits = Pick<RankedHits, 'hits' | 'total'>

const matchesAll = (terms: readonly Term[]): string => terms.map(({ query }) => `(${query})`).join(' & ')

/** Rows that contain all terms; undefined if there are none. */
async function matching(
  ask: SnapshotQuery,
  sought: RankedSearch,
  terms: readonly Term[],
  counts: WordCounts,
): Promise<Hits | undefined> {
  const query = matchesAll(terms)
  const share = terms.reduce((all, term) => all * counts.share(term), sought.isFiltered ? filtered : 1)
  // A row scanned by quality costs about eight index rows, because its words are decompressed.
  const scanned = searchCountedTo / share
  if (scanned <= mostScanned && scanned * 8 < share * counts.rows && !sought.reader.everyOrganisation) {
    const hits = await ranked(ask, sought, terms, counts, (list) => byQuality(sought, list, query))
    if (hits && hits.total >= searchCountedTo) return hits
  }
  return ranked(ask, sought, terms, counts, (list) => byIndex(sought, list, query))
}

/** Rows that contain at least one of the rarest terms, ranked by all terms. */
function relaxed(
  ask: SnapshotQuery,
  sought: RankedSearch,
  terms: readonly Term[],
  counts: WordCounts,
): Promise<Hits | undefined> {
  const rare: Term[] = []
  let most = 0
  for (const term of terms.toSorted((one, other) => counts.of(one) - counts.of(other))) {
    most += counts.of(term)
    if (rare.length > 0 && most > mostRelaxed) break
    rare.push(term)
  }
  const query = rare.map((term) => `(${term.query})`).join(' | ')
  return ranked(ask, sought, terms, counts, (list) => byIndex(sought, list, query))
}

function byIndex({ table, reader, filter }: RankedSearch, list: Conditions, query: string): string {
  const asked = list.value(query)
  list.parts.push(withinScopes(reader, 'u.scope', list), shownTo(reader, list))
  filter(list)
  return `SELECT u.id, u.quality_score, u.search FROM ${table} u
    WHERE u.search @@ ${asked}::tsquery AND ${list.parts.join(' AND ')}`
}

function byQuality({ table, reader, filter }: RankedSearch, list: Conditions, query: string): string {
  const [asked, scopes] = [list.value(query), list.value(reader.scopes)]
  list.parts.push(shownTo(reader, list))
  filter(list)
  // OFFSET 0 fixes the order of evaluation: words of rows that other conditions exclude are not decompressed. The function replaces its
  // operator because the word index must not be used here.
  return `SELECT found.* FROM unnest(${scopes}::text[]) AS s(scope) CROSS JOIN LATERAL (
      SELECT u.id, u.quality_score, u.search FROM (
        SELECT u.* FROM (SELECT * FROM ${table} o WHERE o.scope = s.scope ORDER BY o.quality_score DESC, o.id LIMIT ${mostScanned}) u
        WHERE ${list.parts.join(' AND ')} OFFSET 0) u
      WHERE ts_match_vq(u.search, ${asked}::tsquery) LIMIT ${searchCountedTo}) AS found`
}

/**
 * The second phase. A term's weight depends on its rarity, position and frequency; adjacent words typed together rank higher, long texts
 * lower, and quality has a bounded influence. Concatenating the empty vector decompresses the stored one once for all terms.
 */
async function ranked(
  ask: SnapshotQuery,
  sought: RankedSearch,
  terms: readonly Term[],
  counts: WordCounts,
  candidates: (list: Conditions) => string,
): Promise<Hits | undefined> {
  const { query, offset, limit } = sought
  const list = conditions()
  const from = candidates(list)
  // Written out per term, so that each query is parsed once instead of once per row.
  const score = terms
    .map(
      (term) =>
        `${list.value(counts.weight(term))}::float8 * ts_rank('{0.2, 0.4, 0.6, 1.0}', v.vector, ${list.value(term.query)}::tsquery)`,
    )
    .join(' + ')
  const near = query.phrases.map((phrase) => ` + 0.5 * (v.vector @@ ${list.value(phrase)}::tsquery)::int`).join('')
  const rows = await ask<RankedRow>(
    `WITH matching AS MATERIALIZED (${from}),
      best AS (SELECT * FROM matching ORDER BY quality_score DESC, id LIMIT ${mostRanked})
    SELECT best.id, (SELECT count(*)::int FROM (SELECT FROM matching LIMIT ${searchCountedTo}) AS counted) AS total,
      round(((${score}) * (1${near}) * (0.7 + 0.3 * best.quality_score) / ln(20 + length(v.vector)))::numeric, 6)::float8 AS score
    FROM best
      CROSS JOIN LATERAL (SELECT best.search || ''::tsvector AS vector OFFSET 0) AS v
    ORDER BY score DESC, best.id OFFSET ${offset} LIMIT ${limit}`,
    list.values,
  )
  const [first] = rows
  if (first) return { hits: rows.map(({ id, score }) => ({ id, score })), total: first.total }
  if (offset === 0) return undefined
  // The page is beyond the end; determine whether there are earlier results.
  const before = await ranked(ask, { ...sought, offset: 0, limit: 1 }, terms, counts, candidates)
  return before && { hits: [], total: before.total }
}
