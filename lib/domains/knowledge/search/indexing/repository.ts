import type { Unit } from '#lib/domains/knowledge/unit.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'

/** Adds the words of at most `most` new and changed rows to the word table. Returns the number of rows. */
export const gatherNewWords = statement('knowledge.gather-words', {
  takes: { most: 'int4' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: 'SELECT gather_words($most) AS n',
})
/** Adds missing words of the `most` rows that follow the id `after`. Returns the last of these ids, or none at the end. */
export const gatherLostWords = statement('knowledge.gather-lost-words', {
  takes: { after: 'text', most: 'int4' },
  returns: { last: 'text?' },
  isPrepared: true,
  sql: 'SELECT find_words_again($after, $most) AS last',
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
    ...{ id: 'text', domain: 'text', scope: 'text!', created_at: 'timestamptz', version: 'int4' },
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
    ...{ id: 'text', scopes: 'text[]', domain: 'text', at: 'timestamptz', mostFound: 'int4', limit: 'int4' },
    query: typed<string>('tsquery'),
  },
  returns: { words: 'text[]' },
  sql: `WITH matching AS MATERIALIZED (
      SELECT u.id, u.search FROM units u WHERE u.search @@ $query AND ARRAY[u.scope] && $scopes AND u.domain = $domain AND u.id <> $id
        AND (u.created_at, u.id) < ($at, $id) AND u.quarantined_at IS NULL
        AND NOT EXISTS (SELECT FROM restricted_agents r WHERE r.id = u.agent_id)
      LIMIT $mostFound)
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
