import { statement, typed } from '#lib/stores/postgres/statement.ts'
import type { CopyProblem } from './contract.ts'

/** Serializes the exports of a person or an agent until the end of the transaction. */
export const lockExportsOf = statement('exports.lock-payer', {
  takes: { payer: 'text' },
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtextextended('export:' || $payer, 0))::text AS lock`,
})

/** A person's exports in preparation, newest first; at most 20. `partsTotal` is 0 until the preparation begins. */
export const exportsInPreparation = statement('exports.in-preparation', {
  takes: { account: 'text', since: 'timestamptz' },
  returns: {
    id: 'text',
    requestId: 'text?',
    state: typed<'queued' | 'running'>('text'),
    partsDone: 'int4',
    partsTotal: 'int4',
    createdAt: 'timestamptz',
  },
  isPrepared: true,
  sql: `SELECT id, request_id AS "requestId", state::text AS state, parts_done AS "partsDone", parts_total AS "partsTotal",
      created_at AS "createdAt"
    FROM prepared_exports WHERE account_id = $account AND created_at > $since AND state IN ('queued', 'running')
    ORDER BY created_at DESC, id DESC LIMIT 20`,
})

/** At most 5 exports of a person that are ready, in the order in which they expire. */
export const exportsReady = statement('exports.ready', {
  takes: { account: 'text', now: 'timestamptz', since: 'timestamptz' },
  returns: { id: 'text', expiresAt: 'timestamptz!', records: 'int4', isDownloaded: 'bool' },
  isPrepared: true,
  sql: `SELECT id, expires_at AS "expiresAt", records, downloaded_at IS NOT NULL AS "isDownloaded"
    FROM prepared_exports WHERE account_id = $account AND created_at > $since AND state = 'ready' AND expires_at > $now
    ORDER BY expires_at, id LIMIT 5`,
})

const attempt = { attempt: 'text?' } as const

export const lockOwnExport = statement('exports.lock-own', {
  takes: { id: 'text', account: 'text' },
  returns: attempt,
  sql: 'SELECT attempt FROM prepared_exports WHERE id = $id AND account_id = $account FOR UPDATE',
})

/** Locks an export that is not finished. */
export const lockUnfinishedExport = statement('exports.lock-unfinished', {
  takes: { id: 'text' },
  returns: attempt,
  sql: "SELECT attempt FROM prepared_exports WHERE id = $id AND state IN ('queued', 'running') FOR UPDATE",
})

export const lockExport = statement('exports.lock', {
  takes: { id: 'text' },
  returns: attempt,
  sql: 'SELECT attempt FROM prepared_exports WHERE id = $id FOR UPDATE',
})

export const lockExpiredExports = statement('exports.lock-expired', {
  takes: { now: 'timestamptz', limit: 'int4' },
  returns: { id: 'text' },
  sql: `SELECT id FROM prepared_exports WHERE state = 'ready' AND expires_at <= $now
    ORDER BY expires_at LIMIT $limit FOR UPDATE SKIP LOCKED`,
})

/**
 * Unfinished exports with the state of their job. `locked_for` is the number of milliseconds since a worker locked the job, by the
 * database's clock; null if none has.
 */
export const unfinishedExports = statement('exports.unfinished', {
  takes: { job: 'text', before: 'timestamptz' },
  returns: { id: 'text', attempt: 'text?', fault: 'text?', has_job: 'bool', locked_for: 'float8?' },
  isPrepared: true,
  sql: `SELECT p.id, p.attempt, p.fault, j.id IS NOT NULL AS has_job, extract(epoch FROM now() - j.locked_at)::float8 * 1000 AS locked_for
    FROM prepared_exports p LEFT JOIN graphile_worker.jobs j
      ON j.key = $job || ':' || p.id AND (j.locked_at IS NOT NULL OR j.attempts < j.max_attempts)
    WHERE p.state IN ('queued', 'running') AND p.created_at < $before`,
})

export const inventoryOfFiles = statement('exports.inventory-of-files', {
  takes: { account: 'text?', agents: 'text[]' },
  returns: { count: 'int4', since: 'timestamptz?', until: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS count, min(created_at) AS since, max(expires_at) AS until FROM prepared_exports
    WHERE account_id = $account OR ($account IS NULL AND agents && $agents)`,
})

/** The agent that contributed a record. */
export const contributorOfRecord = statement('exports.contributor-of-record', {
  takes: { record: 'text' },
  returns: { agent_id: 'text' },
  sql: 'SELECT agent_id FROM agent_records WHERE id = $record',
})

/** Locks exports of the owners of these agents, so that an export that is about to start cannot read data under erasure. */
export const lockExportsOfOwners = statement('exports.lock-of-owners', {
  takes: { agents: 'text[]' },
  returns: { id: 'text' },
  sql: `SELECT p.id FROM prepared_exports p JOIN agent_owners a ON a.owner_id = p.account_id
    WHERE a.id = ANY($agents) AND p.state IN ('queued', 'running', 'ready') FOR UPDATE OF p`,
})

/** Exports of the erased account, and files of other accounts that contain erased records. */
export const exportsToErase = statement('exports.to-erase', {
  takes: { account: 'text?', accounts: 'text[]', agents: 'text[]' },
  returns: { id: 'text', ...attempt },
  sql: `SELECT id, attempt FROM prepared_exports WHERE account_id = $account
    OR (state IN ('running', 'ready') AND (account_id = ANY($accounts) OR agents && $agents))`,
})

export const countFileResidue = statement('exports.count-file-residue', {
  takes: { account: 'text?', agents: 'text[]', attempts: 'text[]' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM prepared_exports WHERE account_id = $account
    OR (state IN ('running', 'ready') AND (agents && $agents OR id || '.' || attempt = ANY($attempts)))`,
})

/** An agent's id can equal an account id, so an id is matched together with its kind. */
const isAbout = `(x.subject_kind = 'agent' AND x.subject_id = ANY($agents) OR x.subject_kind = 'account' AND x.subject_id = $account)`
/** The requester is stored as in the audit log, where no agent id begins with `user:`. */
const isBy = 'x.requested_by = ANY($actors)'
const subject = { agents: 'text[]', account: 'text?' } as const

export const inventoryOfRuns = statement('exports.inventory-of-runs', {
  takes: { ...subject, actors: 'text[]' },
  returns: { count: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS count, min(x.at) AS since FROM export_runs x WHERE ${isAbout} OR ${isBy}`,
})

export const runsToErase = statement('exports.runs-to-erase', {
  takes: { ...subject, actors: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT x.id FROM export_runs x WHERE ${isAbout} UNION SELECT x.id FROM export_runs x WHERE ${isBy}`,
})

export const deleteRunsAbout = statement('exports.delete-runs-about', {
  takes: { ...subject, ids: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: `DELETE FROM export_runs x WHERE x.id = ANY($ids) AND ${isAbout}`,
})

/** Replaces an erased requester. An agent could be called `erased`, but no agent id begins with `system:`. */
export const removeRequester = statement('exports.remove-requester', {
  takes: { actors: 'text[]', ids: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: `UPDATE export_runs x SET requested_by = 'system:erased' WHERE x.id = ANY($ids) AND ${isBy}`,
})

/** Counts the records of exports that remain for a subject, also of exports that used the quota of these agents. */
export const countRunResidue = statement('exports.count-run-residue', {
  takes: { ...subject, actors: 'text[]' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM export_runs x WHERE ${isAbout} OR x.agent_id = ANY($agents) OR ${isBy}`,
})

/**
 * Failed copies that are remembered since a time. A copy whose data was erased meanwhile did not fail, and one that was prepared again
 * later needs nothing.
 */
const isFailed = `p.state = 'failed' AND p.fault IS DISTINCT FROM 'erased' AND p.created_at > $remembered
  AND NOT EXISTS (SELECT FROM prepared_exports later WHERE later.account_id = p.account_id AND later.basis = p.basis
    AND later.request_id IS NOT DISTINCT FROM p.request_id AND later.created_at > p.created_at)`
const isLate = "p.state = 'ready' AND p.expires_at < $overdue"

/**
 * The exports with a basis since a time, and the prepared copies that are remembered. `late` counts files that remain although they expired
 * before `overdue`; `seconds` is the median of their preparation.
 */
export const summaryOfExports = statement('exports.summary', {
  takes: { basis: 'text', since: 'timestamptz', remembered: 'timestamptz', overdue: 'timestamptz' },
  returns: { runs: 'int4', last: 'timestamptz?', ready: 'int4', failed: 'int4', late: 'int4', seconds: 'float8?' },
  sql: `SELECT (SELECT count(*)::int4 FROM export_runs WHERE basis = $basis AND at > $since) AS runs,
      (SELECT max(at) FROM export_runs WHERE basis = $basis) AS last,
      count(*) FILTER (WHERE ready_at > $remembered)::int4 AS ready,
      count(*) FILTER (WHERE ${isFailed})::int4 AS failed,
      count(*) FILTER (WHERE ${isLate})::int4 AS late,
      percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM ready_at - created_at))
        FILTER (WHERE ready_at > $remembered)::float8 AS seconds
    FROM prepared_exports p WHERE basis = $basis`,
})

/** The copies with a problem, newest first; at most `limit`. `total`: the number without the limit. */
export const copiesWithProblem = statement('exports.copies-with-problem', {
  takes: { basis: 'text', limit: 'int4', remembered: 'timestamptz', overdue: 'timestamptz' },
  returns: {
    id: 'text',
    account_id: 'text',
    account_name: 'text?',
    request_id: 'text?',
    fault: 'text?',
    created_at: 'timestamptz',
    expires_at: 'timestamptz?',
    total: 'int4',
  },
  variants: ['failed', 'late'],
  sql: (
    problem: CopyProblem,
  ) => `SELECT p.id, p.account_id, a.name AS account_name, p.request_id, p.fault, p.created_at, p.expires_at,
      (count(*) OVER ())::int4 AS total
    FROM prepared_exports p LEFT JOIN account_names a ON a.id = p.account_id
    WHERE basis = $basis AND ${problem === 'failed' ? isFailed : isLate}
    ORDER BY p.created_at DESC, p.id DESC LIMIT $limit`,
})
