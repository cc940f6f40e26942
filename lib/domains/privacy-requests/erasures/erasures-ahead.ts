import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import type { ErasuresAhead } from '#lib/domains/privacy-requests/rules.ts'

interface Row {
  id: string
  agent: string | null
  is_running: boolean
  is_paused: boolean
  is_blocked: boolean
  from: Date | null
  until: Date | null
  waits_for_copy: boolean
  is_mixed: boolean
  total: number
}

/** Read for every page of the console: one indexed query about the person, without an audit entry. */
export const erasuresAhead = ({ db, graceTokens }: Pick<PrivacyDeps, 'db' | 'graceTokens'>) => ({
  async erasuresAhead(accountId: string): Promise<ErasuresAhead> {
    const rows = await db.query<Row>(
      'erasures-ahead',
      `SELECT r.id, coalesce(a.name, r.agent_id) AS agent, r.run_id IS NOT NULL AS is_running, r.paused_at IS NOT NULL AS is_paused,
         EXISTS (SELECT FROM privacy_request_events e WHERE e.request_id = r.id AND e.event = 'blocked') AS is_blocked,
         r.verified_at AS "from", r.waiting_until AS until, cardinality(r.kinds) > 1 AS is_mixed, count(*) OVER ()::int AS total,
         EXISTS (SELECT FROM privacy_request_parts p WHERE p.request_id = r.id AND p.outcome ? 'export_id'
           AND coalesce(p.outcome->>'copy', '') NOT IN ('fetched', 'gone')) AS waits_for_copy
       FROM privacy_requests r LEFT JOIN agent_names a ON a.id = r.agent_id
       WHERE r.id IN (
           SELECT id FROM privacy_requests WHERE account_id = $1
           UNION ALL SELECT q.id FROM agent_owners o JOIN privacy_requests q ON q.agent_id = o.id WHERE o.owner_id = $1)
         AND r.closed_at IS NULL AND 'erasure' = ANY(r.kinds)
         AND (r.state IN ('verified', 'waiting') OR r.run_id IS NOT NULL AND r.state IN ('running', 'verifying', 'failed'))
       ORDER BY r.agent_id IS NOT NULL, r.waiting_until, r.id LIMIT 3`,
      [accountId],
    )
    return {
      total: rows[0]?.total ?? 0,
      shown: rows.map((row) => ({
        requestId: row.id,
        agent: row.agent,
        state: row.is_running ? 'running' : row.is_paused ? 'paused' : row.is_blocked ? 'blocked' : 'waiting',
        grace: row.from && row.until && { from: row.from.toISOString(), until: row.until.toISOString() },
        waitsForCopy: row.waits_for_copy,
        isMixed: row.is_mixed,
        areTokensStopped: graceTokens === 'stop',
      })),
    }
  },
})
