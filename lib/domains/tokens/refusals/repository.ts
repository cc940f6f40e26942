import { statement, typed } from '#lib/stores/postgres/statement.ts'
import { refusalsToRevoke, refusalWindow } from '../rules.ts'

/** The refusals that caused each revocation: those with the same limit key within the hour before it. */
export const refusalsBeforeRevocations = statement('tokens.refusals-before-revocations', {
  takes: { tokens: 'text[]', limit_keys: 'text[]', times: 'timestamptz[]' },
  returns: {
    ...{
      token_id: 'text',
      at: 'timestamptz',
      class: typed<'read' | 'write'>('text'),
      limit: 'int4',
      consumed: 'int4',
    },
  },
  isPrepared: true,
  sql: `SELECT t.id AS token_id, f.at, f.request_class AS class, f."limit", f.consumed
    FROM unnest($tokens, $limit_keys, $times) AS t(id, limit_key, revoked_at)
    CROSS JOIN LATERAL (SELECT * FROM rate_limit_refusals r
      WHERE r.limit_key = t.limit_key AND r.at <= t.revoked_at AND r.at > t.revoked_at - ${refusalWindow} * interval '1 ms'
      ORDER BY r.at DESC, r.id LIMIT ${refusalsToRevoke}) AS f ORDER BY f.at, f.id`,
})

const revokedByLimiter = "revoked_reason = 'rate_limit' AND revoked_at IS NOT NULL"

/** Tokens that the rate limiter revoked, of one agent or of all, with the refusals that caused it. */
export const pageOfLimiterRevocations = statement('tokens.page-of-limiter-revocations', {
  takes: { agent: 'text?', after_at: 'timestamptz?', after_id: 'text?', limit: 'int4' },
  returns: {
    ...{ id: 'text', prefix: 'text', agent_id: 'text', revoked_at: 'timestamptz!' },
    evidence:
      typed<{ at: string; token_id: string; class: 'read' | 'write'; limit: number; consumed: number; ip: string }[]>(
        'json',
      ),
  },
  isPrepared: true,
  sql: `SELECT t.id, t.prefix, t.agent_id, t.revoked_at, coalesce((
        SELECT json_agg(json_build_object('at', f.at, 'token_id', f.token_id, 'class', f.request_class, 'limit', f."limit",
          'consumed', f.consumed, 'ip', f.ip) ORDER BY f.at, f.id)
        FROM rate_limit_refusals f WHERE f.limit_key = t.limit_key AND f.at <= t.revoked_at
          AND f.at > t.revoked_at - ${refusalWindow} * interval '1 ms'), '[]') AS evidence
    FROM tokens t WHERE ${revokedByLimiter} AND ($agent IS NULL OR t.agent_id = $agent)
      AND ($after_at IS NULL OR (t.revoked_at, t.id) < ($after_at, $after_id))
    ORDER BY t.revoked_at DESC, t.id DESC LIMIT $limit`,
})

/** Counts the tokens that the rate limiter revoked after `since`, of one agent or of all. */
export const countLimiterRevocations = statement('tokens.count-limiter-revocations', {
  takes: { agent: 'text?', since: 'timestamptz?' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM tokens
    WHERE ${revokedByLimiter} AND ($agent IS NULL OR agent_id = $agent) AND ($since IS NULL OR revoked_at > $since)`,
})

/** Counts refusals, and those that are older than `before`. */
export const countRefusals = statement('tokens.count-refusals', {
  takes: { before: 'timestamptz' },
  returns: { kept: 'int4', late: 'int4' },
  sql: 'SELECT count(*)::int4 AS kept, count(*) FILTER (WHERE at < $before)::int4 AS late FROM rate_limit_refusals',
})
