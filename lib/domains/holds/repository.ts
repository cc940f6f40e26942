import { statement, typed } from '#lib/stores/postgres/statement.ts'

/**
 * Waits for running erasures and blocks new ones until the end of the transaction. Erasures take this lock shared, and changes of holds
 * take it exclusively. Thus no erased record was under a hold, and no held record is erased.
 */
export const lockHoldsExclusively = statement('holds.lock-exclusively', {
  takes: {},
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtext('legal_holds'))::text AS lock`,
})

/** Prevents changes of holds until the end of the transaction, after waiting for a running change. */
export const lockHoldsShared = statement('holds.lock-shared', {
  takes: {},
  returns: { lock: 'text' },
  isPrepared: true,
  sql: `SELECT pg_advisory_xact_lock_shared(hashtext('legal_holds'))::text AS lock`,
})

/** One statement, because each page of an erasure executes it. A hold on a person also holds the agents of the person. */
export const holdsOfSubject = statement('holds.of-subject', {
  takes: { account: 'text?', agents: 'text[]', now: 'timestamptz' },
  returns: { fingerprint: 'text', holds: typed<{ kind: string; target: string; hold: string }[]>('json') },
  sql: `SELECT
    (SELECT md5(concat_ws(' ', count(*), count(released_at),
       string_agg(id, ',' ORDER BY id) FILTER (WHERE released_at IS NULL AND (expires_at IS NULL OR expires_at > $now))))
     FROM legal_holds) AS fingerprint,
    (SELECT coalesce(json_agg(h), '[]') FROM (
       SELECT kind, target, min(id) AS hold FROM (
         SELECT id, kind, target_id AS target, expires_at FROM holds_in_force
         WHERE (kind = 'account' AND target_id = $account) OR (kind = 'agent' AND target_id = ANY($agents))
         UNION ALL
         SELECT h.id, 'agent', a.id, h.expires_at FROM agent_owners a JOIN holds_in_force h ON h.kind = 'account' AND h.target_id = a.owner_id
         WHERE a.id = ANY($agents)) AS all_holds
       WHERE expires_at IS NULL OR expires_at > $now
       GROUP BY kind, target) AS h) AS holds`,
})

export const holdsOfProjects = statement('holds.of-projects', {
  takes: { ids: 'text[]', now: 'timestamptz' },
  returns: { target: 'text', hold: 'text' },
  sql: `SELECT target_id AS target, min(id) AS hold FROM holds_in_force
    WHERE kind = 'project' AND target_id = ANY($ids) AND (expires_at IS NULL OR expires_at > $now)
    GROUP BY target_id`,
})
