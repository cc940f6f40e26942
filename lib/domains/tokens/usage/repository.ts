import { statement } from '#lib/stores/postgres/statement.ts'

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
