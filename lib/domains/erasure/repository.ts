import { statement, typed } from '#lib/stores/postgres/statement.ts'

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
    ...{ runs: typed<CountByState>('json?'), steps: typed<CountByState>('json?'), finished: 'int4' },
    ...{ seconds: 'float8?', quantiles: 'float8[]?' },
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
