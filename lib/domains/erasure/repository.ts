import { sealedPurposes } from '#lib/config/secret.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'
import { statement, typed, type ValuesOf } from '#lib/stores/postgres/statement.ts'

/** When the oldest run began that is unfinished, or that ended at or after `before`. */
export const oldestRunThatCounts = statement('erasure.oldest-run-that-counts', {
  takes: { before: 'timestamptz' },
  returns: { since: 'timestamptz?' },
  sql: `SELECT min(created_at) AS since FROM erasure_runs WHERE state <> 'done' OR finished_at >= $before OR recheck_at IS NOT NULL`,
})

/** Deletes entries of the deletion log after their seven years. */
export const purgeDeletionLog = statement('erasure.purge-deletion-log', {
  takes: {},
  returns: { purged: 'text' },
  sql: 'SELECT deletion_log_purge()::text AS purged',
})

/** The number and time of the receipts of agents. */
export const receiptsOfOwners = statement('erasure.receipts-of-owners', {
  takes: { agents: 'text[]' },
  returns: { count: 'int4', since: 'timestamptz?', last: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS count, min(deleted_at) AS since, max(deleted_at) AS last
    FROM erasures WHERE former_owner = ANY($agents)`,
})

/** The number of receipts that name one of these agents as former owner, or that should no longer have an owner. */
export const receiptsWithOwner = statement('erasure.receipts-with-owner', {
  takes: { agents: 'text[]', receipts: 'text[]' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n FROM erasures
    WHERE former_owner = ANY($agents) OR (receipt_id = ANY($receipts) AND former_owner IS NOT NULL)`,
})

/** The number and time of erased ids whose records agents owned. */
export const erasedIdsOfOwners = statement('erasure.erased-ids-of-owners', {
  takes: { agents: 'text[]' },
  returns: { count: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS count, min(i.erased_at) AS since
    FROM erasures e JOIN erased_ids i ON i.id = e.deleted_id WHERE e.former_owner = ANY($agents)`,
})

/** The number and time of runs of a subject, and of parts of projects that it erased. */
export const runsOfSubject = statement('erasure.runs-of-subject', {
  takes: { agents: 'text[]', account: 'text?' },
  returns: { count: 'int4', since: 'timestamptz?', last: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS count, min(created_at) AS since, max(finished_at) AS last FROM erasure_runs
    WHERE account_id = $account OR agents && $agents
      OR (part_kind IS NOT NULL AND (requested_by = 'user:' || $account OR requested_by = ANY($agents)))`,
})

/** The number and time of suppression list entries from runs of a subject. */
export const suppressionsOfSubject = statement('erasure.suppressions-of-subject', {
  takes: { agents: 'text[]', account: 'text?' },
  returns: { count: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS count, min(s.since) AS since
    FROM suppressions s WHERE s.run_id IN (SELECT id FROM erasure_runs WHERE account_id = $account OR agents && $agents)`,
})

type CountByState = Partial<Record<string, number>> | null
/** Runs and unfinished steps by state, the seconds since the unfinished complete reading began, and durations of runs that were created and finished after these times. */
export const runMeasures = statement('erasure.run-measures', {
  takes: { now: 'timestamptz', createdAfter: 'timestamptz', finishedAfter: 'timestamptz', shares: 'float8[]' },
  returns: {
    reading: 'float8?',
    runs: typed<CountByState>('json?'),
    steps: typed<CountByState>('json?'),
    finished: 'int4',
    seconds: 'float8?',
    quantiles: 'float8[]?',
  },
  isPrepared: true,
  sql: `SELECT (SELECT json_object_agg(state, runs) FROM (SELECT state, count(*) AS runs FROM erasure_runs GROUP BY state) AS s) AS runs,
      (SELECT json_object_agg(state, steps) FROM (SELECT state, count(*) AS steps FROM erasure_steps
        WHERE state IN ('waiting', 'running', 'stuck') GROUP BY state) AS s) AS steps,
      (SELECT extract(epoch FROM $now - min(started_at))::float8 FROM complete_readings WHERE completed_at IS NULL) AS reading,
      count(*)::int AS finished, sum(seconds)::float8 AS seconds,
      percentile_cont($shares) WITHIN GROUP (ORDER BY seconds) AS quantiles
    FROM (SELECT extract(epoch FROM finished_at - created_at)::float8 AS seconds FROM erasure_runs
      WHERE state = 'done' AND created_at > $createdAfter AND finished_at > $finishedAfter) AS recent`,
})

/** Deletions with a receipt in each week before `now`, from `from`. Weeks without any are absent. */
export const deletionsPerWeek = statement('erasure.deletions-per-week', {
  takes: { now: 'timestamptz', from: 'timestamptz' },
  returns: { weeks_ago: 'int4', n: 'int4' },
  sql: `SELECT floor(extract(epoch FROM $now - deleted_at) / extract(epoch FROM interval '7 days'))::int AS weeks_ago, count(*)::int AS n
    FROM erasures WHERE deleted_at > $from AND deleted_at <= $now GROUP BY 1`,
})

const deletionKind = `CASE WHEN starts_with(d.requested_by, 'system:') OR d.reason = 'retention' THEN 'automatic'
    WHEN e.receipt_id IS NULL THEN 'owner'
    WHEN d.scope ?| ARRAY['unit', 'skill', 'sop'] THEN 'record' ELSE 'erasure' END`
const searched = {
  from: 'timestamptz?',
  to: 'timestamptz?',
  kind: 'text?',
  q: 'text?',
  cursor_at: 'timestamptz?',
  cursor_id: 'text?',
} as const
/** Which deletions to find; null: all. The cursor selects those after it, newest first. */
export type DeletionSearch = ValuesOf<typeof searched>
const matching = `FROM deletion_audit_log d LEFT JOIN erasures e ON e.audit_id = d.audit_id
    WHERE ($from::timestamptz IS NULL OR d."timestamp" >= $from) AND ($to::timestamptz IS NULL OR d."timestamp" <= $to)
      AND ($kind::text IS NULL OR ${deletionKind} = $kind)
      AND ($q::text IS NULL OR strpos(lower(d.scope::text), lower($q)) > 0 OR $q IN (d.audit_id, e.receipt_id, d.requested_by))
      AND ($cursor_at::timestamptz IS NULL OR (d."timestamp", d.audit_id) < ($cursor_at, $cursor_id))`

/** Deletions with their receipts, newest first. */
export const deletionsMatching = statement('erasure.deletions-matching', {
  takes: { ...searched, limit: 'int4' },
  returns: {
    audit_id: 'text',
    at: 'timestamptz',
    requested_by: 'text',
    reason: 'text',
    scope: typed<Record<string, string>>('jsonb'),
    results: typed<Record<string, number>>('jsonb'),
    receipt_id: 'text?',
    kind: 'text',
  },
  sql: `SELECT d.audit_id, d."timestamp" AS at, d.requested_by, d.reason, d.scope, d.results, e.receipt_id, ${deletionKind} AS kind
    ${matching} ORDER BY d."timestamp" DESC, d.audit_id DESC LIMIT $limit`,
})
/** The number of matching deletions; counts at most `max`. */
export const countDeletions = statement('erasure.count-deletions', {
  takes: { ...searched, max: 'int4' },
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int AS n FROM (SELECT 1 ${matching} LIMIT $max) AS c`,
})

export const sealedSigningKeys: SealedColumn = {
  table: 'signing_keys',
  id: 'kid',
  column: 'sealed_private',
  purpose: sealedPurposes.signingKeys,
}
export const sealedSuppressionKeys: SealedColumn = {
  table: 'suppression_keys',
  id: 'id',
  column: 'sealed_key',
  purpose: sealedPurposes.suppressionKeys,
}

/** Deletions with a receipt in each week of a period, from its first day. Weeks without any are absent. */
export const deletionsReported = statement('erasure.deletions-reported', {
  takes: { from: 'timestamptz', until: 'timestamptz' },
  returns: { week: 'int4', n: 'int4' },
  sql: `SELECT floor(extract(epoch FROM deleted_at - $from) / extract(epoch FROM interval '7 days'))::int AS week, count(*)::int AS n
    FROM erasures WHERE deleted_at >= $from AND deleted_at < $until GROUP BY 1`,
})

/** Signed receipts, failed deletions, late writes and complete readings of a period. */
export const verificationReported = statement('erasure.verification-reported', {
  takes: { from: 'timestamptz', until: 'timestamptz' },
  returns: {
    receipts: 'int4',
    failed: 'int4',
    late_writes: 'int4',
    readings: 'int4',
    attestations: 'int4',
    places_erased: 'int4',
    places_left: 'int4',
  },
  sql: `WITH completed AS (SELECT id, attestation FROM complete_readings WHERE completed_at >= $from AND completed_at < $until)
    SELECT (SELECT count(*)::int FROM erasures WHERE signed_at >= $from AND signed_at < $until) AS receipts,
      (SELECT count(*)::int FROM erasure_runs WHERE state = 'failed' AND created_at >= $from AND created_at < $until) AS failed,
      (SELECT coalesce(sum(late_found), 0)::int FROM erasure_runs WHERE rechecked_at >= $from AND rechecked_at < $until) AS late_writes,
      (SELECT count(*)::int FROM completed) AS readings,
      (SELECT count(*)::int FROM completed WHERE attestation IS NOT NULL) AS attestations,
      (SELECT coalesce(sum(f.erased), 0)::int FROM reading_findings f JOIN completed c ON c.id = f.reading_id) AS places_erased,
      (SELECT coalesce(sum(f."left"), 0)::int FROM reading_findings f JOIN completed c ON c.id = f.reading_id) AS places_left`,
})

const locks = { take: 'pg_try_advisory_lock', release: 'pg_advisory_unlock' } as const
/** Takes the lock of the complete reading for a connection, or releases it. Returns false if another connection has it. */
export const readingLock = statement('reading.lock', {
  takes: {},
  returns: { done: 'bool' },
  variants: ['take', 'release'],
  sql: (what: keyof typeof locks) => `SELECT ${locks[what]}(hashtext('complete_reading')) AS done`,
})
