import { statement } from '#lib/stores/postgres/statement.ts'

const active = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $now)'

/**
 * Counts the tokens of an agent towards its tier's limit: active tokens, plus one for each limit key that has no active token but got one
 * after `since`. Exact only while the agent's row is locked.
 */
export const countTowardsLimit = statement('tokens.count-towards-limit', {
  takes: { agent: 'text', now: 'timestamptz', since: 'timestamptz' },
  returns: { n: 'int4' },
  sql: `SELECT coalesce(sum(greatest(active, 1)), 0)::int4 AS n FROM (
      SELECT count(*) FILTER (WHERE is_active) AS active FROM (
        SELECT limit_key, created_at, ${active} AS is_active FROM tokens WHERE agent_id = $agent) AS own
      WHERE is_active OR created_at > $since GROUP BY limit_key) AS keys`,
})

const locks = { share: 'FOR SHARE', update: 'ORDER BY id COLLATE "C" FOR NO KEY UPDATE' } as const
/** Locks tokens until the end of the transaction, so that they are neither revoked nor, with `update`, used to create others. */
export const lockTokensById = statement('tokens.lock-by-id', {
  takes: { ids: 'text[]' },
  returns: { id: 'text', expires_at: 'timestamptz?', revoked_at: 'timestamptz?' },
  variants: ['share', 'update'],
  sql: (lock: keyof typeof locks) =>
    `SELECT id, expires_at, revoked_at FROM tokens WHERE id = ANY($ids) ${locks[lock]}`,
})

/** Returns a row if the token was created with the other one, directly or through others. */
export const ancestorOfToken = statement('tokens.ancestor', {
  takes: { token: 'text', ancestor: 'text' },
  returns: { id: 'text?' },
  sql: `WITH RECURSIVE above(id) AS (
      SELECT issued_by_token_id FROM tokens WHERE id = $token
      UNION SELECT t.issued_by_token_id FROM tokens t JOIN above a ON t.id = a.id)
    SELECT id FROM above WHERE id = $ancestor`,
})

/** Locks these tokens and those that descend from them. `root` is the given token from which each descends, or its own id. */
export const lockDescendants = statement('tokens.lock-descendants', {
  takes: { roots: 'text[]', now: 'timestamptz' },
  returns: { id: 'text', agent_id: 'text', prefix: 'text', root: 'text', active: 'bool' },
  sql: `WITH RECURSIVE family(id, root) AS (
      SELECT r, r FROM unnest($roots) AS r
      UNION SELECT t.id, f.root FROM tokens t JOIN family f ON t.issued_by_token_id = f.id)
    SELECT t.id, t.agent_id, t.prefix, f.root, ${active} AS active
    FROM tokens t JOIN (SELECT id, CASE WHEN bool_or(id = root) THEN id ELSE min(root) END AS root FROM family GROUP BY id) AS f
      ON f.id = t.id
    ORDER BY t.id COLLATE "C" FOR NO KEY UPDATE OF t`,
})

export const revokeWithIssuer = statement('tokens.revoke-with-issuer', {
  takes: { ids: 'text[]', now: 'timestamptz' },
  returns: 'count',
  sql: "UPDATE tokens SET revoked_at = $now, revoked_reason = 'issuer_revoked' WHERE id = ANY($ids)",
})
