import { statement } from '#lib/stores/postgres/statement.ts'

/** Retention of a response, in milliseconds. */
export const replyRetention = 24 * 3_600_000

/** Milliseconds after which a key without a response is free again: its process ended during work in several transactions. */
export const abandonedAfter = 3_600_000

/** Status of a response whose resource was erased. */
export const erasedStatus = 410
/** Status of a response that was withdrawn, because its content was corrected or erased since. */
export const withdrawnStatus = 409

const withoutContent = "body = NULL, headers = '{}', ids = '{}'"

/**
 * Claims a key that is new, expired or abandoned, and returns 1; returns 0 if it belongs to a request. Waits for a concurrent transaction
 * with this key and then sees its result.
 */
export const claimKey = statement('idempotency.claim', {
  takes: {
    scope: 'text',
    key: 'text',
    hash: 'bytea',
    now: 'timestamptz',
    expired: 'timestamptz',
    abandoned: 'timestamptz',
  },
  returns: 'count',
  sql: `INSERT INTO idempotency_records (scope, key, request_hash, created_at) VALUES ($scope, $key, $hash, $now)
    ON CONFLICT (scope, key) DO UPDATE SET request_hash = excluded.request_hash, created_at = excluded.created_at, status = 0, ${withoutContent}, resource_id = NULL
    WHERE idempotency_records.created_at < $expired
      OR (idempotency_records.status = 0 AND idempotency_records.created_at < $abandoned)`,
})

/**
 * Marks an unfinished key as in use at this time, if it belongs to the request that wrote one of the times of `mine`. Returns 0 if another
 * request has claimed it since.
 */
export const renewKey = statement('idempotency.renew', {
  takes: { scope: 'text', key: 'text', now: 'timestamptz', mine: 'timestamptz[]' },
  returns: 'count',
  sql: `UPDATE idempotency_records SET created_at = $now
    WHERE scope = $scope AND key = $key AND status = 0 AND created_at = ANY($mine)`,
})

/** Frees an unfinished key of the request that wrote one of the times of `mine`. */
export const releaseKey = statement('idempotency.release', {
  takes: { scope: 'text', key: 'text', mine: 'timestamptz[]' },
  returns: 'count',
  sql: 'DELETE FROM idempotency_records WHERE scope = $scope AND key = $key AND status = 0 AND created_at = ANY($mine)',
})

/** Withdraws responses that show the content of these resources. Responses that do not show the content stay. */
export const withdrawShowing = statement('idempotency.withdraw-showing', {
  takes: { resources: 'text[]' },
  returns: 'count',
  sql: `UPDATE idempotency_records SET status = ${withdrawnStatus}, ${withoutContent}
    WHERE resource_id = ANY($resources) AND status <> ${erasedStatus}
      AND (body->'data'->'unit' IS NOT NULL OR body->'data'->'skill_md' IS NOT NULL)`,
})

/**
 * Withdraws responses that name these units or skills. One lookup per id: the index is fast for a single id, but compares each with each
 * for an array.
 */
export const withdrawNamingIds = statement('idempotency.withdraw-naming', {
  takes: { ids: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: `UPDATE idempotency_records r
    SET status = CASE WHEN r.resource_id = ANY($ids) THEN ${erasedStatus} ELSE ${withdrawnStatus} END, ${withoutContent}
    FROM (SELECT DISTINCT found.scope, found.key FROM unnest($ids) AS i(id) CROSS JOIN LATERAL (
        SELECT a.scope, a.key FROM idempotency_records a WHERE a.ids @> ARRAY[i.id]
        UNION ALL SELECT a.scope, a.key FROM idempotency_records a WHERE a.resource_id = i.id) AS found) AS f
    WHERE r.scope = f.scope AND r.key = f.key AND r.status <> ${erasedStatus}`,
})

/**
 * Whether the response is about an agent. The id is not enough: agents choose their ids, so it could match an ordinary word in other
 * responses.
 */
const isAboutAgent = "r.body->'data'->>'agent_id' = r.resource_id"
/**
 * Responses to the subject's own requests: with a token of its agents, or signed in; and responses that created one of its agents, by any
 * requester.
 */
const isOwn = `(r.scope = ANY(ARRAY(SELECT 'token:' || b.id FROM token_bearers b WHERE b.agent_id = ANY($agents)))
  OR r.scope = ANY(ARRAY(SELECT 'account:' || a FROM unnest($accounts) AS a))
  OR (r.resource_id = ANY($agents) AND ${isAboutAgent})
  OR (r.resource_id = ANY($accounts) AND (${isAboutAgent}) IS NOT TRUE))`
const subject = { agents: 'text[]', accounts: 'text[]' } as const
const items = { scopes: 'text[]', keys: 'text[]' } as const
const listed = 'unnest($scopes, $keys) AS i(scope, key)'

export const inventoryOfResponses = statement('idempotency.inventory', {
  takes: { ...subject, retention: 'float8' },
  returns: { n: 'int4', since: 'timestamptz?', until: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n, min(r.created_at) AS since, max(r.created_at) + $retention * interval '1 ms' AS until
    FROM idempotency_records r WHERE ${isOwn}`,
})

/** Permits sequential scans, which an earlier data source of this transaction may have disabled. */
export const allowScans = statement('idempotency.allow-scans', {
  takes: {},
  returns: { setting: 'text' },
  isPrepared: true,
  sql: "SELECT set_config('enable_seqscan', 'on', true) AS setting",
})

/**
 * The subject's own responses, and responses to others' requests about its units and skills. Starts from the responses, which cover one
 * day, however many units exist.
 */
export const responsesToErase = statement('idempotency.plan', {
  takes: subject,
  returns: { id: 'text' },
  isPrepared: true,
  sql: `WITH mine AS MATERIALIZED (SELECT id FROM agent_records WHERE agent_id = ANY($agents))
    SELECT r.scope || ':' || r.key AS id FROM idempotency_records r WHERE ${isOwn}
    UNION SELECT r.scope || ':' || r.key FROM idempotency_records r CROSS JOIN LATERAL unnest(r.ids) AS named(id) JOIN mine m ON m.id = named.id
      WHERE r.status <> ${erasedStatus}
    UNION SELECT r.scope || ':' || r.key FROM idempotency_records r JOIN mine m ON m.id = r.resource_id WHERE r.status <> ${erasedStatus}`,
})

/** Responses that name these units or skills. One lookup per id, as in {@link withdrawNamingIds}. */
export const responsesNaming = statement('idempotency.plan-naming', {
  takes: { ids: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT r.scope || ':' || r.key AS id FROM unnest($ids) AS i(id)
    JOIN idempotency_records r ON r.ids @> ARRAY[i.id] WHERE r.status <> ${erasedStatus}
    UNION SELECT r.scope || ':' || r.key FROM idempotency_records r WHERE r.resource_id = ANY($ids) AND r.status <> ${erasedStatus}`,
})

/** Deletes the subject's own responses among the items. */
export const deleteOwn = statement('idempotency.delete-own', {
  takes: { ...items, ...subject },
  returns: 'count',
  isPrepared: true,
  sql: `DELETE FROM idempotency_records r USING ${listed} WHERE r.scope = i.scope AND r.key = i.key AND ${isOwn}`,
})

/** Withdraws the other items. They stay as markers, so that a late retry does not repeat the operation. */
export const withdrawItems = statement('idempotency.withdraw-items', {
  takes: { ...items, agents: 'text[]', records: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: `UPDATE idempotency_records r SET ${withoutContent},
      status = CASE WHEN r.resource_id = ANY($records) OR EXISTS (SELECT FROM agent_records m WHERE m.id = r.resource_id AND m.agent_id = ANY($agents))
        THEN ${erasedStatus} ELSE ${withdrawnStatus} END
    FROM ${listed} WHERE r.scope = i.scope AND r.key = i.key AND r.status <> ${erasedStatus}`,
})

/** Counts items that still have content. */
export const countItemsWithContent = statement('idempotency.residue-items', {
  takes: items,
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int AS n FROM ${listed} CROSS JOIN LATERAL (
      SELECT body, headers, ids FROM idempotency_records r WHERE r.scope = i.scope AND r.key = i.key LIMIT 1) AS r
    WHERE r.body IS NOT NULL OR r.ids <> '{}' OR r.headers <> '{}'`,
})

/** Counts responses to the subject's requests, also those that no plan listed. */
export const countOwn = statement('idempotency.residue-own', {
  takes: subject,
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int AS n FROM idempotency_records r WHERE ${isOwn}`,
})

/** Counts responses whose content contains the id. */
export const countShowing = statement('idempotency.residue-id', {
  takes: { id: 'text' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: 'SELECT count(*)::int AS n FROM idempotency_records WHERE ids_in_answer(body, headers) @> ARRAY[$id]',
})

export const deleteExpired = statement('idempotency.delete-expired', {
  takes: { before: 'timestamptz', max: 'int4' },
  returns: 'count',
  isPrepared: true,
  sql: `DELETE FROM idempotency_records
    WHERE (scope, key) IN (SELECT scope, key FROM idempotency_records WHERE created_at < $before LIMIT $max)`,
})
