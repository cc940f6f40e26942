import type { Unit } from '#lib/domains/knowledge/contract.ts'
import { type Columns, type Queryable, statement, typed, type ValuesOf } from '#lib/stores/postgres/statement.ts'
import { unitColumns, unitRow } from '../repository.ts'
import {
  conditionsOf,
  type SearchForm,
  searchParameters,
  type Table,
  withinScopes,
  wordWithinScopes,
} from './conditions.ts'

/** Totals stop counting at this number. */
export const searchCountedTo = 1_001
/** Maximum number of matches ranked by words, taken by quality; paging ends there. */
export const maxRanked = 300
/** Maximum rows scanned by quality; beyond it the word index is used instead. */
export const maxScanned = 16_000
/** Maximum stored bytes of the rows in one response, so that large pages do not exhaust memory. */
const largestPage = 4 * 1024 * 1024
/** Maximum number of similar words. */
const maxSimilar = 400

/** Settings that the statements of a search rely on; a table scan would read the words of every row. */
const searchSettings = {
  enable_seqscan: 'off',
  jit: 'off',
  work_mem: '32MB',
  statement_timeout: '10s',
  'pg_trgm.similarity_threshold': '0.2',
}
/**
 * Settings of search statements. Planning takes longer than a search, so a statement whose best plan never depends on its values uses one plan
 * ({@link onePlanSettings}). Other statements are planned for each call ({@link plannedSettings}).
 */
export const onePlanSettings = { ...searchSettings, plan_cache_mode: 'force_generic_plan' }
export const plannedSettings = { ...searchSettings, plan_cache_mode: 'force_custom_plan' }
/**
 * Whether one plan is right for every search of this form, because words and scopes have only one index. With filters, and for readers of
 * every organization, the best index depends on the values.
 */
export const hasOnePlan = ({ filters, everyOrganisation }: SearchForm): boolean =>
  filters.length === 0 && !everyOrganisation
/** Most terms of a search whose statement is prepared, which bounds the memory of each connection. */
const maxPreparedTerms = 4

const forms: readonly SearchForm[] = [true, false].flatMap((everyOrganisation): SearchForm[] => [
  { table: 'units', everyOrganisation, filters: [] },
  { table: 'units', everyOrganisation, filters: ['authors', 'types', 'domain', 'min_quality', 'from', 'to'] },
  { table: 'units', everyOrganisation, filters: ['isSop', 'sop_domain', 'approved', 'type'] },
  { table: 'skills', everyOrganisation, filters: ['authors', 'tags', 'min_quality', 'from', 'to'] },
  { table: 'skills', everyOrganisation, filters: [] },
])

/** Estimated numbers of rows that contain the words, in the scopes of the reader. */
export const wordCounts = statement('knowledge.word-counts', {
  takes: { words: 'text[]', scopes: 'text[]' },
  returns: { word: 'text', units: 'int4' },
  isPrepared: true,
  variants: forms,
  sql: ({
    everyOrganisation,
  }: Pick<SearchForm, 'everyOrganisation'>) => `SELECT word, sum(units)::int AS units FROM search_words
    WHERE word = ANY($words) AND ${wordWithinScopes(everyOrganisation)} GROUP BY word`,
})

/** Words similar to the given one whose length is within the limits. */
export const similarWords = statement('knowledge.similar-words', {
  takes: { word: 'text', shortest: 'int4', longest: 'int4', scopes: 'text[]' },
  returns: { word: 'text', units: 'int4' },
  variants: forms,
  sql: ({
    everyOrganisation,
  }: Pick<SearchForm, 'everyOrganisation'>) => `SELECT word, sum(units)::int AS units FROM search_words
    WHERE word % $word AND char_length(word) BETWEEN $shortest AND $longest AND ${wordWithinScopes(everyOrganisation)}
    GROUP BY word ORDER BY similarity(word, $word) DESC LIMIT ${maxSimilar}`,
})

/** A row if one that the reader can see matches the query. */
export const anyMatch = statement('knowledge.any-match', {
  takes: { ...searchParameters, query: typed<string>('tsquery') },
  returns: { id: 'text' },
  isPrepared: hasOnePlan,
  variants: forms,
  sql: (form: SearchForm) => `SELECT u.id FROM ${form.table} u
    WHERE u.search @@ $query AND ${conditionsOf(form, withinScopes(form.everyOrganisation))} LIMIT 1`,
})

export interface RankedForm extends SearchForm {
  /** `index`: matches from the word index; `quality`: the rows of highest quality are scanned. */
  candidates: 'index' | 'quality'
  /** How many terms and phrases the query contains. */
  terms: number
  phrases: number
}
const matchesFrom: Record<RankedForm['candidates'], (form: SearchForm) => string> = {
  index: (form) => `SELECT u.ctid AS place, u.id, u.quality_score FROM ${form.table} u
    WHERE u.search @@ $query AND ${conditionsOf(form, withinScopes(form.everyOrganisation))}`,
  // OFFSET 0 fixes the order of evaluation: words of rows that other conditions exclude are not decompressed. The function replaces its
  // operator because the word index must not be used here.
  quality: (form) => `SELECT found.* FROM unnest($scopes) AS s(scope) CROSS JOIN LATERAL (
      SELECT u.place, u.id, u.quality_score FROM (
        SELECT u.* FROM (SELECT o.ctid AS place, o.* FROM ${form.table} o WHERE o.scope = s.scope ORDER BY o.quality_score DESC, o.id LIMIT ${maxScanned}) u
        WHERE ${conditionsOf(form)} OFFSET 0) u
      WHERE ts_match_vq(u.search, $query) LIMIT ${searchCountedTo}) AS found`,
}
/** The words of the row `u`. Concatenating the empty vector decompresses, or reads, a long one once for all terms. */
const decompressed = `CASE WHEN pg_column_size(u.search) < 4080 AND pg_column_compression(u.search) IS NULL THEN u.search
  ELSE u.search || ''::tsvector END`
const eachOf = (count: number, sql: (position: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => sql(n + 1))

interface NewestForm extends SearchForm {
  /** Whether the list continues after a row. */
  isContinued: boolean
}
/** SQL for the newest `$wanted` rows of each scope or author in index order; the newest overall are among them. */
function newestRows(form: NewestForm): string {
  const { table, everyOrganisation, filters, isContinued } = form
  const where = conditionsOf(
    form,
    ...(isContinued ? ['u.created_at <= $at AND (u.created_at < $at OR u.id > $id)'] : []),
  )
  const newestOf = (condition: string) =>
    `SELECT u.id, u.created_at FROM ${table} u WHERE ${condition} AND ${where} ORDER BY u.created_at DESC, u.id LIMIT $wanted`
  // The index only covers the author; visibility to the reader is checked per row.
  if (filters.includes('authors'))
    return `SELECT found.* FROM unnest($authors) AS o(author)
      CROSS JOIN LATERAL (${newestOf(`u.agent_id = o.author AND ${withinScopes(everyOrganisation)}`)}) AS found`
  const own = `SELECT found.* FROM unnest($scopes) AS s(scope) CROSS JOIN LATERAL (${newestOf('u.scope = s.scope')}) AS found`
  if (!everyOrganisation) return `SELECT * FROM (${own}) AS everything`
  return `SELECT * FROM (${own} UNION ALL (${newestOf("u.visibility = 'org' AND u.scope <> ALL($scopes)")})) AS everything`
}
const newestParameters = { ...searchParameters, at: 'timestamptz?', id: 'text?', wanted: 'int4' } as const
const newestForms = forms.flatMap((form): NewestForm[] => [
  { ...form, isContinued: true },
  { ...form, isContinued: false },
])

/** Rows that the reader can see, newest first. `wanted` is at least `offset` + `limit`. */
export const newestPage = statement('knowledge.newest-page', {
  takes: { ...newestParameters, offset: 'int4', limit: 'int4' },
  returns: { id: 'text', created_at: 'timestamptz' },
  isPrepared: hasOnePlan,
  variants: newestForms,
  sql: (form: NewestForm) => `${newestRows(form)} ORDER BY created_at DESC, id OFFSET $offset LIMIT $limit`,
})
/** Number of rows that the reader can see, up to `wanted`. */
export const countNewest = statement('knowledge.count-newest', {
  takes: newestParameters,
  returns: { n: 'int4' },
  isPrepared: hasOnePlan,
  variants: newestForms,
  sql: (form: NewestForm) => `SELECT count(*)::int AS n FROM (${newestRows(form)} LIMIT $wanted) AS c`,
})

/** How the rows of one searchable list are read. */
interface ListedRows<C extends Columns> {
  table: Table
  returns: C
  /** SQL of the columns of the row `u`. */
  columns: string
  /** SQL of the bytes of the row `u`, for the limit of a page. */
  size?: string
}
/** SQL that leaves out the rows of `found` beyond the limit of a page. Reads sizes first, so that those rows are not decompressed. */
const withinLimit = (selected: string, found: string, order: string, size: string): string =>
  `SELECT ${selected} FROM (
      SELECT u.*, found.*, sum(${size}) OVER (ORDER BY ${order}) - ${size} AS before FROM ${found} OFFSET 0) AS u
    WHERE u.before < ${largestPage} ORDER BY ${order.replaceAll('found.', 'u.')}`

const parametersOfRanked = {
  ...searchParameters,
  query: typed<string>('tsquery'),
  offset: 'int4',
  limit: 'int4',
  weights: 'float8[]',
  queries: typed<readonly string[]>('tsquery[]'),
  phrases: typed<readonly string[]>('tsquery[]'),
} as const
const rankedVariants = (table: Table): RankedForm[] =>
  forms
    .filter((form) => form.table === table)
    .flatMap((form): RankedForm[] => [
      { ...form, candidates: 'index', terms: 1, phrases: 0 },
      { ...form, candidates: 'index', terms: maxPreparedTerms + 1, phrases: 0 },
      { ...form, candidates: 'quality', terms: 3, phrases: 2 },
    ])

/**
 * The matches of the query with the highest quality, ranked by words, from `offset` on. A term's weight depends on its rarity, position and
 * frequency; adjacent words typed together rank higher, long texts lower, and quality has a bounded influence. Terms are written out, so
 * that each is parsed once instead of once per row. Matches are collected without their words and read again by their place (`ctid`, which
 * is stable within a statement), because most are not ranked. A scan by quality that ends before {@link searchCountedTo} matches may have
 * missed some: it returns no row.
 */
function rankedSql(form: RankedForm, columns: string, size: string): string {
  const score = eachOf(
    form.terms,
    (n) => `($weights)[${n}] * ts_rank('{0.2, 0.4, 0.6, 1.0}', v.vector, ($queries)[${n}])`,
  ).join(' + ')
  const near = eachOf(form.phrases, (n) => ` + 0.5 * (v.vector @@ ($phrases)[${n}])::int`).join('')
  const total = `(SELECT count(*)::int FROM (SELECT FROM matching LIMIT ${searchCountedTo}) AS counted)`
  const isComplete = form.candidates === 'index' ? 'true' : `${total} = ${searchCountedTo}`
  return `WITH matching AS MATERIALIZED (${matchesFrom[form.candidates](form)}),
      best AS (SELECT * FROM matching WHERE ${isComplete} ORDER BY quality_score DESC, id LIMIT ${maxRanked}),
      ranked AS (SELECT best.place, best.id AS ranked_id,
          round((${score}) * (1${near}) * (0.7 + 0.3 * best.quality_score) / ln(20 + length(v.vector)) * 1e6::float8) / 1e6::float8 AS score
        FROM best
          JOIN ${form.table} u ON u.ctid = best.place
          CROSS JOIN LATERAL (SELECT ${decompressed} AS vector OFFSET 0) AS v
        ORDER BY score DESC, ranked_id OFFSET $offset LIMIT $limit)
    ${withinLimit(
      `${columns}, u.score, ${total} AS total`,
      `ranked AS found JOIN ${form.table} u ON u.ctid = found.place`,
      'found.score DESC, found.ranked_id',
      size,
    )}`
}

/** The best matches of a query, in order, each with the total of the search. */
export type RankedRows<R> = (
  on: Queryable,
  values: ValuesOf<typeof parametersOfRanked>,
  form: RankedForm,
) => Promise<(R & { score: number; total: number })[]>

/** Declares the two statements of a searchable list: the rows with these ids, and the best matches of a query, in order. */
export function listedRows<const C extends Columns>(
  name: string,
  { table, returns, columns, size = 'pg_column_size(u.document)' }: ListedRows<C>,
) {
  return {
    table,
    withIds: statement(`${name}-page`, {
      takes: { ids: 'text[]' },
      returns,
      isPrepared: true,
      sql: withinLimit(
        columns,
        `unnest($ids) WITH ORDINALITY AS found(listed_id, position) JOIN ${table} u ON u.id = found.listed_id`,
        'found.position',
        size,
      ),
    }),
    ranked: statement(`${name}-ranked`, {
      takes: parametersOfRanked,
      returns: { ...returns, score: 'float8', total: 'int4' },
      isPrepared: (form) => hasOnePlan(form) && form.terms <= maxPreparedTerms,
      variants: rankedVariants(table),
      sql: (form: RankedForm) => rankedSql(form, columns, size),
    }),
  }
}

export const listedUnits = listedRows('knowledge.units', {
  table: 'units',
  returns: { ...unitRow, agent_id: 'text' },
  columns: `${unitColumns}, u.agent_id`,
})

/** Adds the words of at most `max` new and changed rows to the word table. Returns the number of rows. */
export const gatherNewWords = statement('knowledge.gather-words', {
  takes: { max: 'int4' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: 'SELECT gather_words($max) AS n',
})
/** Adds missing words of the `max` rows that follow the id `after`. Returns the last of these ids, or none at the end. */
export const gatherLostWords = statement('knowledge.gather-lost-words', {
  takes: { after: 'text', max: 'int4' },
  returns: { last: 'text?' },
  isPrepared: true,
  sql: 'SELECT find_words_again($after, $max) AS last',
})
/** Recounts the rows of each scope. Quarantined rows only count for their author, like their words. */
export const recountScopes = statement('knowledge.recount-scopes', {
  takes: {},
  returns: 'count',
  isPrepared: true,
  sql: `WITH counted AS MATERIALIZED (SELECT words_scope(scope, agent_id, quarantined_at) AS scope, count(*)::int AS n FROM (
      SELECT scope, agent_id, quarantined_at FROM units UNION ALL SELECT scope, agent_id, quarantined_at FROM skills) AS everything
      GROUP BY 1),
    gone AS (DELETE FROM search_words w WHERE w.word = '' AND NOT EXISTS (SELECT FROM counted c WHERE c.scope = w.scope))
  UPDATE search_words w SET units = c.n FROM counted c WHERE w.scope = c.scope AND w.word = '' AND w.units <> c.n`,
})
/** Units that were stored by versions without search. Skips units that others have locked. */
export const lockUnindexedUnits = statement('knowledge.lock-unindexed-units', {
  takes: { limit: 'int4' },
  returns: { id: 'text', document: typed<Unit>('jsonb') },
  sql: 'SELECT id, document FROM units WHERE search IS NULL ORDER BY id LIMIT $limit FOR UPDATE SKIP LOCKED',
})
export const setSearchVectors = statement('knowledge.set-search-vectors', {
  takes: { ids: 'text[]', vectors: 'text[]' },
  returns: 'count',
  sql: 'UPDATE units u SET search = s.search::tsvector FROM unnest($ids, $vectors) AS s(id, search) WHERE u.id = s.id',
})

/** Units whose novelty is unknown. */
export const unitsWithoutNovelty = statement('knowledge.units-without-novelty', {
  takes: { limit: 'int4' },
  returns: {
    id: 'text',
    domain: 'text',
    scope: 'text!',
    created_at: 'timestamptz',
    version: 'int4',
    document: typed<Unit>('jsonb'),
  },
  isPrepared: true,
  sql: `SELECT id, document, domain, scope, created_at, version FROM units
    WHERE novelty IS NULL AND search IS NOT NULL ORDER BY id LIMIT $limit`,
})
/** The votes of the unit, locked, if it still has this version and no novelty. */
export const lockVotesOfVersion = statement('knowledge.lock-votes-of-version', {
  takes: { id: 'text', version: 'int4' },
  returns: { for: 'float8', against: 'float8' },
  sql: `SELECT votes_for AS for, votes_against AS against FROM units WHERE id = $id AND version = $version AND novelty IS NULL FOR UPDATE`,
})
export const setNovelty = statement('knowledge.set-novelty', {
  takes: { id: 'text', novelty: 'float8', quality: 'float8' },
  returns: 'count',
  sql: 'UPDATE units SET novelty = $novelty, quality_score = $quality WHERE id = $id',
})
/** The words of a unit, the rarest first, with estimates of how many rows of the scopes contain them. */
export const wordsByRarity = statement('knowledge.words-by-rarity', {
  takes: { id: 'text', scopes: 'text[]' },
  returns: { word: 'text', units: 'int4' },
  sql: `SELECT l.lexeme AS word, coalesce(sum(w.units), 0)::int AS units FROM units u CROSS JOIN LATERAL unnest(u.search) AS l
    LEFT JOIN search_words w ON w.scope = ANY($scopes) AND w.word = l.lexeme WHERE u.id = $id GROUP BY l.lexeme ORDER BY 2, 1`,
})
/** The words of older units of the domain that contain most of the words of the query. */
export const olderSimilarUnits = statement('knowledge.older-similar-units', {
  takes: {
    id: 'text',
    scopes: 'text[]',
    domain: 'text',
    at: 'timestamptz',
    maxFound: 'int4',
    limit: 'int4',
    query: typed<string>('tsquery'),
  },
  returns: { words: 'text[]' },
  sql: `WITH matching AS MATERIALIZED (
      SELECT u.id, u.search FROM units u WHERE u.search @@ $query AND ARRAY[u.scope] && $scopes AND u.domain = $domain AND u.id <> $id
        AND (u.created_at, u.id) < ($at, $id) AND u.quarantined_at IS NULL
        AND NOT EXISTS (SELECT FROM restricted_agents r WHERE r.id = u.agent_id)
      LIMIT $maxFound)
    SELECT tsvector_to_array(search) AS words FROM matching ORDER BY ts_rank('{1,1,1,1}', search, $query) DESC, id LIMIT $limit`,
})

const kinds = ['unit', 'skill'] as const
type RecordKind = (typeof kinds)[number]
export const wordsHolding = statement('knowledge.words-holding', {
  takes: { agents: 'text[]', scopes: 'text[]' },
  returns: { n: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT (count(*) + (SELECT count(*) FROM search_words WHERE scope = ANY($scopes) AND word = ''))::int AS n,
      min(created_at) AS since
    FROM agent_records WHERE agent_id = ANY($agents)`,
})
/** Those of the scopes whose rows are counted. */
export const countedScopes = statement('knowledge.counted-scopes', {
  takes: { scopes: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: "SELECT scope AS id FROM search_words WHERE scope = ANY($scopes) AND word = ''",
})
export const lockRecords = statement('knowledge.lock-records', {
  takes: { ids: 'text[]' },
  returns: 'count',
  variants: kinds,
  sql: (kind: RecordKind) => `SELECT FROM ${kind}s WHERE id = ANY($ids) ORDER BY id FOR UPDATE`,
})
export const deleteWordsOf = statement('knowledge.delete-words-of', {
  takes: { ids: 'text[]' },
  returns: 'count',
  sql: 'SELECT forget_words($ids)',
})
export const deleteScopeCounts = statement('knowledge.delete-scope-counts', {
  takes: { scopes: 'text[]' },
  returns: 'count',
  sql: "DELETE FROM search_words WHERE scope = ANY($scopes) AND word = ''",
})
export const countWordsOf = statement('knowledge.count-words-of', {
  takes: { ids: 'text[]' },
  returns: { n: 'int4' },
  sql: `SELECT ((SELECT count(*) FROM search_words WHERE bearer = ANY($ids))
    + (SELECT count(*) FROM search_news WHERE id = ANY($ids)))::int AS n`,
})
export const countEmptyScopes = statement('knowledge.count-empty-scopes', {
  takes: { scopes: 'text[]' },
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int AS n FROM search_words w WHERE w.scope = ANY($scopes) AND w.word = ''
    AND NOT EXISTS (SELECT FROM units u WHERE u.scope = w.scope) AND NOT EXISTS (SELECT FROM skills k WHERE k.scope = w.scope)`,
})
