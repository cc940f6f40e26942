import { statement } from '#lib/stores/postgres/statement.ts'

/** Counts the pointers to cache entries of a subject's messages and documents. */
export const cachePointersOf = statement('cache.pointers-of-subject', {
  takes: { kinds: 'text[]', ids: 'text[]' },
  returns: { count: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: `WITH writer AS (SELECT * FROM unnest($kinds, $ids) AS w(kind, id)),
      own AS (
        SELECT m.id FROM messages m WHERE (m.author_kind, m.author_id) IN (SELECT kind, id FROM writer)
        UNION ALL SELECT d.id FROM documents d WHERE (d.author_kind, d.author_id) IN (SELECT kind, id FROM writer))
    SELECT count(*)::int4 AS count, min(v.at) AS since FROM provenance v JOIN own ON own.id = v.source_id WHERE v.store = 'cache'`,
})

/** The cache keys that provenance names, selected by the keys or by their hashes (see `labelOf`). */
export const cacheKeysLabelled = statement('cache.keys-labelled', {
  takes: { labels: 'text[]' },
  returns: { ref: 'text' },
  isPrepared: true,
  sql: `SELECT DISTINCT v.ref FROM provenance v WHERE v.store = 'cache' AND (v.ref = ANY($labels)
    OR left(translate(encode(sha256(convert_to(v.ref, 'UTF8')), 'base64'), '+/', '-_'), 22) = ANY($labels))`,
})

/** Returns one row if any legal hold is in force. */
export const anyHoldInForce = statement('cache.any-hold', {
  takes: { now: 'timestamptz' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: 'SELECT id FROM holds_in_force WHERE expires_at IS NULL OR expires_at > $now LIMIT 1',
})

/** The graph groups of projects, under which applications may also keep other data. */
/** The external ids of participants. */
export const externalIdsOf = statement('cache.external-ids', {
  takes: { ids: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: 'SELECT DISTINCT external_id AS id FROM project_participants WHERE id = ANY($ids) ORDER BY 1',
})

export const groupsOf = statement('cache.groups-of', {
  takes: { projects: 'text[]' },
  returns: { group: 'text' },
  isPrepared: true,
  sql: 'SELECT group_id AS "group" FROM projects WHERE id = ANY($projects)',
})
