import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'
import { refusalsToRevoke, refusalWindow, type TierName, type TokenState } from './rules.ts'

const active = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $now)'
const count = { n: 'int4' } as const

const lookupColumns = {
  hash: typed<Buffer>('bytea'),
  id: 'text',
  agent_id: 'text',
  limit_key: 'text',
  scopes: 'text[]!',
  /** An admin issued it for an agent of somebody else. */
  issued_by_admin: 'bool',
  /** The owner of the agent changed how they sign in after a person created or rotated it. */
  owner_confirms: 'bool',
  expires_at: 'timestamptz?',
  revoked_at: 'timestamptz?',
  last_used_at: 'timestamptz?',
  organisation_id: 'text',
  tier: typed<TierName>('tier'),
  reads_per_minute: 'int4?',
  writes_per_minute: 'int4?',
  restricted_at: 'timestamptz?',
  /** Set while an erasure of its agent is pending. */
  suspended_at: 'timestamptz?',
  /** The agent's status, set by its owner. */
  status: typed<'active' | 'paused' | 'dead'>('agent_status'),
  region: 'text?',
  /** Keyed hash of the network, for an unclaimed agent of the free tier. */
  network: 'text?',
  /** Whether such an agent counts in its network's window. */
  shares_window: 'bool',
} as const
/** A token with the state and the limits of its agent. */
export type TokenLookupRow = RowOf<typeof lookupColumns>

/** Finds tokens by the SHA-256 of their raw keys, also revoked and expired ones. Read for every request of an agent: one indexed query. */
export const tokensByHash = statement('tokens.by-hash', {
  takes: { hashes: 'bytea[]' },
  returns: lookupColumns,
  isPrepared: true,
  sql: `SELECT t.hash, t.id, t.agent_id, t.limit_key, t.scopes, t.issued_by_admin, t.owner_confirms, t.expires_at, t.revoked_at, t.last_used_at,
      a.organisation_id, a.tier, a.reads_per_minute, a.writes_per_minute, a.restricted_at, a.suspended_at, a.status, a.region,
      CASE WHEN a.owner_id IS NULL AND a.tier = 'free' THEN encode(a.network, 'hex') END AS network, a.shares_window
    FROM tokens t JOIN agent_states a ON a.id = t.agent_id WHERE t.hash = ANY($hashes)`,
})

/** The token with the state of its agent, if it is active and its agent is not suspended. */
export const presentToken = statement('tokens.present', {
  takes: { id: 'text', now: 'timestamptz' },
  returns: { id: 'text', is_restricted: 'bool!', status: typed<'active' | 'paused' | 'dead'>('agent_status') },
  isPrepared: true,
  sql: `SELECT t.id, a.restricted_at IS NOT NULL AS is_restricted, a.status FROM tokens t JOIN agent_states a ON a.id = t.agent_id
    WHERE t.id = $id AND ${active} AND a.suspended_at IS NULL`,
})

/** Records the last use of tokens, unless a later one is stored. Sort the ids, so that two replicas do not deadlock. */
export const storeLastUses = statement('tokens.store-last-uses', {
  takes: { ids: 'text[]', times: 'timestamptz[]' },
  returns: 'count',
  isPrepared: true,
  sql: `UPDATE tokens t SET last_used_at = u.at FROM unnest($ids, $times) AS u(id, at)
    WHERE t.id = u.id AND (t.last_used_at IS NULL OR t.last_used_at < u.at)`,
})

/** Records the first use of a token. Returns 0 if the token was deleted. */
export const storeFirstUse = statement('tokens.store-first-use', {
  takes: { id: 'text', now: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  sql: 'UPDATE tokens SET last_used_at = $now WHERE id = $id',
})

export const activeTokensOfAgents = statement('tokens.active-of-agents', {
  takes: { agents: 'text[]', now: 'timestamptz' },
  returns: { agent_id: 'text', n: 'int4' },
  isPrepared: true,
  sql: `SELECT agent_id, count(*)::int4 AS n FROM tokens WHERE agent_id = ANY($agents) AND ${active} GROUP BY agent_id`,
})

/** `expiring` counts active tokens that expire until then. */
export const summaryOfAgents = statement('tokens.summary-of-agents', {
  takes: { agents: 'text[]', now: 'timestamptz', until: 'timestamptz' },
  returns: { active: 'int4', expiring: 'int4', nextExpiry: 'timestamptz?', lastUsedAt: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS active, (count(*) FILTER (WHERE expires_at <= $until))::int4 AS expiring,
      min(expires_at) AS "nextExpiry", max(last_used_at) AS "lastUsedAt"
    FROM tokens WHERE agent_id = ANY($agents) AND ${active}`,
})

const overviewColumns = {
  id: 'text',
  agent_id: 'text',
  prefix: 'text',
  name: 'text?',
  scopes: 'text[]!',
  created_at: 'timestamptz',
  expires_at: 'timestamptz?',
  last_used_at: 'timestamptz?',
  revoked_at: 'timestamptz?',
  revoked_reason: 'text?',
  issued_by_admin: 'bool',
  issued_by_token_id: 'text?',
} as const
export type TokenOverviewRow = RowOf<typeof overviewColumns>
const overview = Object.keys(overviewColumns).join(', ')

export const tokenById = statement('tokens.by-id', {
  takes: { id: 'text' },
  returns: overviewColumns,
  isPrepared: true,
  sql: `SELECT ${overview} FROM tokens WHERE id = $id`,
})

export const tokenByPrefix = statement('tokens.by-prefix', {
  takes: { prefix: 'text' },
  returns: overviewColumns,
  isPrepared: true,
  sql: `SELECT ${overview} FROM tokens WHERE prefix = $prefix`,
})

/** Counts the active tokens that were created with the token, directly or through others. */
export const countActiveDescendants = statement('tokens.count-active-descendants', {
  takes: { token: 'text', now: 'timestamptz' },
  returns: count,
  sql: `WITH RECURSIVE family AS (
      SELECT id FROM tokens WHERE issued_by_token_id = $token
      UNION SELECT t.id FROM tokens t JOIN family f ON t.issued_by_token_id = f.id)
    SELECT count(*)::int4 AS n FROM tokens WHERE id IN (SELECT id FROM family) AND ${active}`,
})

/** The newest active token to which a rotated token was rotated. */
export const activeSuccessor = statement('tokens.active-successor', {
  takes: { token: 'text', now: 'timestamptz' },
  returns: { prefix: 'text' },
  sql: `SELECT s.prefix FROM tokens t JOIN tokens s ON s.limit_key = t.limit_key AND s.id <> t.id
    WHERE t.id = $token AND t.revoked_reason = 'rotation' AND s.revoked_at IS NULL AND (s.expires_at IS NULL OR s.expires_at > $now)
    ORDER BY s.created_at DESC, s.id DESC LIMIT 1`,
})

/** The newest tokens of an agent. */
export const newestOfAgent = statement('tokens.newest-of-agent', {
  takes: { agent: 'text', limit: 'int4' },
  returns: overviewColumns,
  isPrepared: true,
  sql: `SELECT ${overview} FROM tokens WHERE agent_id = $agent ORDER BY created_at DESC, id DESC LIMIT $limit`,
})

export const countOfAgent = statement('tokens.count-of-agent', {
  takes: { agent: 'text' },
  returns: count,
  isPrepared: true,
  sql: 'SELECT count(*)::int4 AS n FROM tokens WHERE agent_id = $agent',
})

/** The token's name contains the text, or its key begins with it. Every key begins with three same characters. */
const isSought = '(strpos(lower(name), lower($text)) > 0 OR (length($text) > 3 AND starts_with(prefix, $text)))'

type StateFilter = TokenState | 'any'
/** The states of `tokenStateOf` as SQL conditions. */
const inState: Readonly<Record<StateFilter, string>> = {
  any: '$now IS NOT NULL',
  active: `${active} AND revoked_reason IS DISTINCT FROM 'rotation'`,
  rotated: `${active} AND revoked_reason = 'rotation'`,
  expired: 'revoked_at IS NULL AND expires_at <= $now',
  revoked: '$now IS NOT NULL AND revoked_at IS NOT NULL',
}
const stateFilters: readonly StateFilter[] = ['any', 'active', 'rotated', 'expired', 'revoked']

/** Tokens of these agents in one state that a text finds, newest first, after a cursor. */
export const pageOfTokens = statement('tokens.page', {
  takes: {
    agents: 'text[]',
    text: 'text?',
    now: 'timestamptz',
    after_at: 'timestamptz?',
    after_id: 'text?',
    limit: 'int4',
  },
  returns: { ...overviewColumns, limit_key: 'text', is_suspended: 'bool' },
  isPrepared: true,
  variants: stateFilters,
  sql: (state: StateFilter) => `SELECT ${overview}, limit_key,
      EXISTS (SELECT FROM agent_states a WHERE a.id = agent_id AND a.suspended_at IS NOT NULL) AS is_suspended FROM tokens
    WHERE agent_id = ANY($agents) AND ${inState[state]} AND ($text IS NULL OR ${isSought})
      AND ($after_at IS NULL OR (created_at, id) < ($after_at, $after_id))
    ORDER BY created_at DESC, id DESC LIMIT $limit`,
})

export const countInState = statement('tokens.count-in-state', {
  takes: { agents: 'text[]', text: 'text?', now: 'timestamptz' },
  returns: count,
  isPrepared: true,
  variants: stateFilters,
  sql: (state: StateFilter) =>
    `SELECT count(*)::int4 AS n FROM tokens
      WHERE agent_id = ANY($agents) AND ${inState[state]} AND ($text IS NULL OR ${isSought})`,
})

/** Agents with a token that a text finds. */
export const agentsOfTokens = statement('tokens.agents-of-found', {
  takes: { text: 'text', max: 'int4' },
  returns: { agent_id: 'text' },
  sql: `SELECT DISTINCT agent_id FROM tokens WHERE ${isSought} LIMIT $max`,
})

/**
 * Tokens that work, without those of agents that an erasure suspends, and their agents. `revoked` counts revocations by the rate limiter
 * after `since`.
 */
export const countsOfAllTokens = statement('tokens.counts-of-all', {
  takes: { now: 'timestamptz', since: 'timestamptz' },
  returns: { active: 'int4', agents: 'int4', revoked: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*) FILTER (WHERE works)::int4 AS active, count(DISTINCT agent_id) FILTER (WHERE works)::int4 AS agents,
      count(*) FILTER (WHERE revoked_reason = 'rate_limit' AND revoked_at > $since)::int4 AS revoked
    FROM (SELECT agent_id, revoked_at, revoked_reason, ${active} AND NOT EXISTS (SELECT FROM agent_states a
      WHERE a.id = agent_id AND a.suspended_at IS NOT NULL) AS works FROM tokens) AS t`,
})

const batchDeletions = {
  refusals: 'rate_limit_refusals WHERE id IN (SELECT id FROM rate_limit_refusals WHERE at < $before LIMIT $limit)',
  usage: `token_usage WHERE (token_id, hour) IN (
    SELECT token_id, hour FROM token_usage WHERE hour < $before LIMIT $limit FOR UPDATE SKIP LOCKED)`,
  ended: `tokens WHERE id IN (
    SELECT id FROM tokens WHERE revoked_at < $before OR expires_at < $before LIMIT $limit FOR UPDATE SKIP LOCKED)`,
} as const
/** Deletes one batch of refusals, usage counts or ended tokens whose retention period ended. */
export const deleteExpiredBatch = statement('tokens.delete-expired-batch', {
  takes: { before: 'timestamptz', limit: 'int4' },
  returns: 'count',
  variants: ['refusals', 'usage', 'ended'],
  sql: (what: keyof typeof batchDeletions) => `DELETE FROM ${batchDeletions[what]}`,
})

export const inventoryOfTokens = statement('tokens.inventory', {
  takes: { agents: 'text[]' },
  returns: { count: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: 'SELECT count(*)::int4 AS count, min(created_at) AS since FROM tokens WHERE agent_id = ANY($agents)',
})

/** Locks tokens in the order in which usage is written, to avoid deadlocks. */
export const lockTokens = statement('tokens.lock', {
  takes: { ids: 'text[]' },
  returns: { id: 'text' },
  sql: 'SELECT id FROM tokens WHERE id = ANY($ids) ORDER BY id COLLATE "C" FOR UPDATE',
})

export const deleteTokens = statement('tokens.delete', {
  takes: { ids: 'text[]' },
  returns: 'count',
  sql: 'DELETE FROM tokens WHERE id = ANY($ids)',
})

/**
 * Counts remaining tokens by agent, and remaining usage and refusals by token in their own tables. Refusals are also found by the limit
 * key that rotated tokens share.
 */
export const countResidue = statement('tokens.count-residue', {
  takes: { agents: 'text[]', tokens: 'text[]' },
  returns: count,
  isPrepared: true,
  sql: `SELECT ((SELECT count(*) FROM tokens WHERE agent_id = ANY($agents))
      + (SELECT count(*) FROM rate_limit_refusals WHERE token_id = ANY($tokens) OR limit_key = ANY($tokens))
      + (SELECT count(*) FROM token_usage WHERE token_id = ANY($tokens)))::int4 AS n`,
})

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
  returns: { id: 'text', expires_at: 'timestamptz?', revoked_at: 'timestamptz?', owner_confirms: 'bool' },
  variants: ['share', 'update'],
  sql: (lock: keyof typeof locks) =>
    `SELECT id, expires_at, revoked_at, owner_confirms FROM tokens WHERE id = ANY($ids) ${locks[lock]}`,
})

/**
 * Active tokens with the scope `admin` that a person created or rotated in a session, for any agent. Only the audit log tells who
 * created a token.
 */
export const adminTokensMadeBy = statement('tokens.admin-made-by', {
  takes: { actor: 'text', now: 'timestamptz' },
  returns: { id: 'text', agent_id: 'text' },
  sql: `SELECT t.id, t.agent_id FROM tokens t WHERE 'admin' = ANY(t.scopes) AND ${active} AND EXISTS (
      SELECT FROM audited_tokens e WHERE e.actor_id = $actor AND e.token_id = t.id
        AND e.at BETWEEN t.created_at - interval '1 minute' AND t.created_at + interval '1 minute')
    ORDER BY t.id COLLATE "C"`,
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

/** The refusals that caused each revocation: those with the same limit key within the hour before it. */
export const refusalsBeforeRevocations = statement('tokens.refusals-before-revocations', {
  takes: { tokens: 'text[]', limit_keys: 'text[]', times: 'timestamptz[]' },
  returns: {
    token_id: 'text',
    at: 'timestamptz',
    class: typed<'read' | 'write'>('text'),
    limit: 'int4',
    consumed: 'int4',
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
    id: 'text',
    prefix: 'text',
    agent_id: 'text',
    revoked_at: 'timestamptz!',
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

const sums = 'sum(u.reads)::float8 AS reads, sum(u.writes)::float8 AS writes, sum(u.refused)::float8 AS refused'
const uses = { reads: 'float8', writes: 'float8', refused: 'float8' } as const

/**
 * Locks the tokens while their usage is written and ignores deleted tokens, so that usage of an erased token is not stored again. Rows are
 * written in the order in which erasures lock tokens, on every replica, to avoid deadlocks.
 */
export const addUsage = statement('tokens.add-usage', {
  takes: { tokens: 'text[]', hours: 'timestamptz[]', reads: 'int4[]', writes: 'int4[]', refused: 'int4[]' },
  returns: 'count',
  isPrepared: true,
  sql: `INSERT INTO token_usage AS stored (token_id, hour, reads, writes, refused)
    SELECT u.token_id, u.hour, u.reads, u.writes, u.refused
    FROM unnest($tokens, $hours, $reads, $writes, $refused) AS u(token_id, hour, reads, writes, refused)
      JOIN tokens t ON t.id = u.token_id
    ORDER BY u.token_id COLLATE "C", u.hour FOR KEY SHARE OF t
    ON CONFLICT (token_id, hour) DO UPDATE
      SET reads = stored.reads + excluded.reads, writes = stored.writes + excluded.writes, refused = stored.refused + excluded.refused`,
})

/** The usage of all tokens of these agents since a time, by agent and hour. */
export const usageOfAgents = statement('tokens.usage-of-agents', {
  takes: { agents: 'text[]', since: 'timestamptz' },
  returns: { agent_id: 'text', at: 'timestamptz', ...uses },
  isPrepared: true,
  sql: `SELECT t.agent_id, u.hour AS at, ${sums} FROM tokens t JOIN token_usage u ON u.token_id = t.id AND u.hour >= $since
    WHERE t.agent_id = ANY($agents) GROUP BY t.agent_id, u.hour`,
})

/** The usage of each token of an agent since a time. */
export const usageByToken = statement('tokens.usage-by-token', {
  takes: { agent: 'text', since: 'timestamptz' },
  returns: { token_id: 'text', ...uses },
  isPrepared: true,
  sql: `SELECT u.token_id, ${sums} FROM tokens t JOIN token_usage u ON u.token_id = t.id AND u.hour >= $since
    WHERE t.agent_id = $agent GROUP BY u.token_id`,
})

export const usageOfAllTokens = statement('tokens.usage-of-all', {
  takes: { since: 'timestamptz' },
  returns: uses,
  isPrepared: true,
  sql: `SELECT coalesce(sum(reads), 0)::float8 AS reads, coalesce(sum(writes), 0)::float8 AS writes,
      coalesce(sum(refused), 0)::float8 AS refused FROM token_usage WHERE hour >= $since`,
})
