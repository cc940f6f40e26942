import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'
import type { TierName } from './rules.ts'
import type { TokenState } from './state-rules.ts'

const active = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $now)'
const count = { n: 'int4' } as const

const lookupColumns = {
  hash: typed<Buffer>('bytea'),
  id: 'text',
  agent_id: 'text',
  limit_key: 'text',
  scopes: 'text[]!',
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
  sql: `SELECT t.hash, t.id, t.agent_id, t.limit_key, t.scopes, t.expires_at, t.revoked_at, t.last_used_at,
      a.organisation_id, a.tier, a.reads_per_minute, a.writes_per_minute, a.restricted_at, a.suspended_at, a.status, a.region,
      CASE WHEN a.owner_id IS NULL AND a.tier = 'free' THEN encode(a.network, 'hex') END AS network, a.shares_window
    FROM tokens t JOIN agent_states a ON a.id = t.agent_id WHERE t.hash = ANY($hashes)`,
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
    ...{ agents: 'text[]', text: 'text?', now: 'timestamptz' },
    ...{ after_at: 'timestamptz?', after_id: 'text?', limit: 'int4' },
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
  takes: { text: 'text', most: 'int4' },
  returns: { agent_id: 'text' },
  sql: `SELECT DISTINCT agent_id FROM tokens WHERE ${isSought} LIMIT $most`,
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
