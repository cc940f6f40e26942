import { statement } from '#lib/stores/postgres/statement.ts'

/**
 * The erasures of a person and their agents that wait or run: at most three, the person's own first, and the number of all. Read for
 * every page of the console: one indexed query.
 */
export const erasuresOfPerson = statement('privacy.erasures-ahead', {
  takes: { account: 'text' },
  returns: {
    id: 'text',
    agent: 'text?',
    is_running: 'bool',
    is_paused: 'bool',
    is_blocked: 'bool',
    from: 'timestamptz?',
    until: 'timestamptz?',
    is_mixed: 'bool',
    total: 'int4',
    waits_for_copy: 'bool',
  },
  isPrepared: true,
  sql: `SELECT r.id, coalesce(a.name, r.agent_id) AS agent, r.run_id IS NOT NULL AS is_running, r.paused_at IS NOT NULL AS is_paused,
      EXISTS (SELECT FROM privacy_request_events e WHERE e.request_id = r.id AND e.event = 'blocked') AS is_blocked,
      r.verified_at AS "from", r.waiting_until AS until, cardinality(r.kinds) > 1 AS is_mixed, count(*) OVER ()::int AS total,
      EXISTS (SELECT FROM privacy_request_parts p WHERE p.request_id = r.id AND p.outcome ? 'export_id'
        AND coalesce(p.outcome->>'copy', '') NOT IN ('fetched', 'gone')) AS waits_for_copy
    FROM privacy_requests r LEFT JOIN agent_names a ON a.id = r.agent_id
    WHERE r.id IN (
        SELECT id FROM privacy_requests WHERE account_id = $account
        UNION ALL SELECT q.id FROM agent_owners o JOIN privacy_requests q ON q.agent_id = o.id WHERE o.owner_id = $account)
      AND r.closed_at IS NULL AND 'erasure' = ANY(r.kinds)
      AND (r.state IN ('verified', 'waiting') OR r.run_id IS NOT NULL AND r.state IN ('running', 'verifying', 'failed'))
    ORDER BY r.agent_id IS NOT NULL, r.waiting_until, r.id LIMIT 3`,
})

/** Requests with an erasure of one of these accounts, of their agents, or of an agent whose id or name contains the text. */
export const requestsOfSubjects = statement('privacy.requests-of-subjects', {
  takes: { text: 'text', accounts: 'text[]', most: 'int4' },
  returns: { id: 'text' },
  sql: `SELECT id FROM privacy_requests WHERE run_id IS NOT NULL AND (account_id = ANY($accounts)
      OR agent_id IN (SELECT a.id FROM agent_names a
        WHERE a.owner_id = ANY($accounts) OR strpos(a.id, $text) > 0 OR strpos(lower(a.name), lower($text)) > 0))
    ORDER BY received_at DESC LIMIT $most`,
})
