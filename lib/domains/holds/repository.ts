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

/**
 * Waits for running changes of records, and blocks further ones until the end of the transaction: the trigger that preserves versions takes
 * this lock shared. Call it after {@link lockHoldsExclusively}, which may wait long, so that changes do not wait as long.
 */
export const lockChangesExclusively = statement('holds.lock-changes', {
  takes: {},
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtext('held_versions'))::text AS lock`,
})

/**
 * Prevents changes of holds until the end of the transaction, after waiting for a running change. Until then, the trigger that preserves
 * versions ignores holds that have ended at `now`. In a transaction without this statement it preserves for every hold that is not released.
 */
export const lockHoldsShared = statement('holds.lock-shared', {
  takes: { now: 'timestamptz' },
  returns: { lock: 'text', at: 'text' },
  isPrepared: true,
  sql: `SELECT pg_advisory_xact_lock_shared(hashtext('legal_holds'))::text AS lock,
    set_config('kp.holds_at', $now::timestamptz::text, true) AS at`,
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

/**
 * SQL: whether a version `v` belongs to the scope: to its subject or record, or because its content names an id of the subject, quoted as
 * JSON has it.
 */
const inScope = `(v.agent_id = ANY($agents) OR v.account_id = ANY($accounts) OR v.participant_id = ANY($participants) OR v.anchors && $anchors
    OR EXISTS (SELECT FROM unnest($names) AS n(name) WHERE strpos(v.content::text, n.name) > 0))`
const scopeValues = {
  agents: 'text[]',
  accounts: 'text[]',
  participants: 'text[]',
  anchors: 'text[]',
  names: 'text[]',
} as const

/** The versions of a scope, each with the legal hold that covers it. */
export const versionsInScope = statement('holds.versions-in-scope', {
  takes: { ...scopeValues, now: 'timestamptz' },
  returns: { id: 'text', hold: 'text?' },
  sql: `SELECT v.id, hold_on(v.anchors, $now) AS hold FROM held_versions v WHERE ${inScope}`,
})

/** A page of all versions by id. */
export const versionsAfter = statement('holds.versions-after', {
  takes: { after: 'text', last: 'text?', max: 'int4' },
  returns: { id: 'text', table_name: 'text', content: typed<Record<string, unknown>>('jsonb') },
  sql: 'SELECT id, table_name, content FROM held_versions WHERE id > $after AND ($last::text IS NULL OR id <= $last) ORDER BY id LIMIT $max',
})

/** Counts the versions of a scope that no legal hold covers, and those that `known` does not list. */
export const countVersions = statement('holds.count-versions', {
  takes: { ...scopeValues, known: 'text[]', now: 'timestamptz' },
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int AS n FROM held_versions v
    WHERE (${inScope} OR v.id = ANY($known)) AND (NOT v.id = ANY($known) OR hold_on(v.anchors, $now) IS NULL)`,
})

export const versionInventory = statement('holds.version-inventory', {
  takes: { agents: 'text[]', accounts: 'text[]', participants: 'text[]' },
  returns: { n: 'int4', since: 'timestamptz?' },
  sql: `SELECT count(*)::int AS n, min(v.at) AS since FROM held_versions v
    WHERE v.agent_id = ANY($agents) OR v.account_id = ANY($accounts) OR v.participant_id = ANY($participants)`,
})

/** Deletes those of the versions that no legal hold covers. */
export const deleteVersions = statement('holds.delete-versions', {
  takes: { ids: 'text[]', now: 'timestamptz' },
  returns: 'count',
  sql: 'DELETE FROM held_versions v WHERE v.id = ANY($ids) AND hold_on(v.anchors, $now) IS NULL',
})

/** Deletes at most `max` versions that no legal hold covers any more. */
export const deleteUncoveredVersions = statement('holds.delete-uncovered-versions', {
  takes: { now: 'timestamptz', max: 'int4' },
  returns: 'count',
  sql: `DELETE FROM held_versions WHERE id IN (SELECT v.id FROM held_versions v WHERE hold_on(v.anchors, $now) IS NULL LIMIT $max)`,
})

/** The sealed values of a column in the versions of its table. */
export const sealedVersions = statement('holds.sealed-versions', {
  takes: { table: 'text', id: 'text', column: 'text' },
  returns: { version: 'text', id: 'text', sealed: 'text' },
  sql: `SELECT id AS version, content->>$id AS id, content->>$column AS sealed FROM held_versions
    WHERE table_name = $table AND content->>$column IS NOT NULL`,
})

export const resealVersion = statement('holds.reseal-version', {
  takes: { version: 'text', column: 'text', sealed: 'text' },
  returns: 'count',
  sql: `UPDATE held_versions SET content = jsonb_set(content, ARRAY[$column], to_jsonb($sealed)) WHERE id = $version`,
})
