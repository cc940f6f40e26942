import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import { job } from '#lib/kernel/job.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { statement } from '#lib/stores/postgres/statement.ts'

const count = { n: 'int4' } as const

/** Adds a job in the caller's transaction. A job replaces a waiting one with the same key. */
const addJob = statement('jobs.add', {
  takes: {
    name: 'text',
    payload: 'json',
    run_at: 'timestamptz?',
    key: 'text?',
    max_attempts: 'int4',
    flags: 'text[]?',
  },
  returns: { id: 'text' },
  sql: `SELECT id::text FROM graphile_worker.add_job($name, payload => $payload, run_at => $run_at, job_key => $key,
    max_attempts => $max_attempts, flags => $flags)`,
})

/** Takes the lock of a worker, which ends with the connection. */
export const lockWorker = statement('jobs.lock-worker', {
  takes: { worker: 'text' },
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_lock(hashtext('graphile_worker'), hashtext($worker))::text AS lock`,
})

export const checkConnection = statement('jobs.check-connection', {
  takes: {},
  returns: { one: 'int4' },
  sql: 'SELECT 1 AS one',
})

/** Frees the jobs of workers whose lock is free, if they took them at least `patience` milliseconds ago; `n` counts these workers. */
export const freeAbandonedJobs = statement('jobs.free-abandoned', {
  takes: { patience: 'float8' },
  returns: { done: 'text', ...count },
  isPrepared: true,
  sql: `SELECT graphile_worker.force_unlock_workers(array_agg(name))::text AS done, count(*)::int4 AS n
    FROM (SELECT DISTINCT locked_by AS name FROM graphile_worker.jobs
      WHERE locked_by IS NOT NULL AND locked_at <= now() - $patience * interval '1 ms') AS w
    WHERE pg_try_advisory_xact_lock(hashtext('graphile_worker'), hashtext(name))`,
})

/**
 * Deletes jobs that were replaced by another with their key while running. They never run again, and without their worker nothing else
 * deletes them.
 */
export const deleteReplacedJobs = statement('jobs.delete-replaced', {
  takes: {},
  returns: 'count',
  isPrepared: true,
  sql: `SELECT graphile_worker.complete_jobs(array_agg(id)) FROM graphile_worker.jobs
    WHERE key IS NULL AND locked_at IS NULL AND attempts >= max_attempts AND last_error IS NULL HAVING count(*) > 0`,
})

const deleteFailedJobs = statement('jobs.delete-failed', {
  takes: { before: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  sql: `SELECT graphile_worker.complete_jobs(array_agg(id)) FROM graphile_worker.jobs
    WHERE attempts >= max_attempts AND locked_at IS NULL AND updated_at < $before HAVING count(*) > 0`,
})

const countFailedOnce = statement('jobs.count-failed-once', {
  takes: { names: 'text[]' },
  returns: count,
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM graphile_worker.jobs
    WHERE task_identifier = ANY($names) AND attempts > 0 AND last_error IS NOT NULL`,
})

/** Unfinished jobs with these names, permanently failed ones first. */
const unfinishedJobs = statement('jobs.unfinished', {
  takes: { names: 'text[]', limit: 'int4' },
  returns: {
    id: 'text',
    name: 'text',
    attempts: 'int4',
    max: 'int4',
    run_at: 'timestamptz',
    updated_at: 'timestamptz',
  },
  isPrepared: true,
  sql: `SELECT id::text, task_identifier AS name, attempts::int4, max_attempts::int4 AS max, run_at, updated_at FROM graphile_worker.jobs
    WHERE task_identifier = ANY($names) ORDER BY attempts >= max_attempts DESC, attempts DESC, run_at, id LIMIT $limit`,
})

const countUnfinishedJobs = statement('jobs.count-unfinished', {
  takes: { names: 'text[]' },
  returns: { failed: 'int4', retrying: 'int4', waiting: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*) FILTER (WHERE attempts >= max_attempts)::int4 AS failed,
      count(*) FILTER (WHERE attempts > 0 AND attempts < max_attempts)::int4 AS retrying,
      count(*) FILTER (WHERE attempts = 0)::int4 AS waiting
    FROM graphile_worker.jobs WHERE task_identifier = ANY($names)`,
})

/** The queue of the whole installation. `oldest`: seconds since the time of the job that should have begun first. */
const measureQueue = statement('jobs.measure', {
  takes: {},
  returns: { ready: 'int4', running: 'int4', scheduled: 'int4', retrying: 'int4', failed: 'int4', oldest: 'float8' },
  isPrepared: true,
  sql: `SELECT count(*) FILTER (WHERE is_open AND locked_at IS NULL AND run_at <= now())::int4 AS ready,
      count(*) FILTER (WHERE locked_at IS NOT NULL)::int4 AS running,
      count(*) FILTER (WHERE is_open AND locked_at IS NULL AND run_at > now() AND attempts = 0)::int4 AS scheduled,
      count(*) FILTER (WHERE is_open AND locked_at IS NULL AND run_at > now() AND attempts > 0)::int4 AS retrying,
      count(*) FILTER (WHERE NOT is_open AND locked_at IS NULL AND last_error IS NOT NULL)::int4 AS failed,
      coalesce(extract(epoch FROM now() - min(run_at) FILTER (WHERE is_open AND locked_at IS NULL AND run_at <= now())), 0)::float8 AS oldest
    FROM (SELECT *, attempts < max_attempts AS is_open FROM graphile_worker.jobs) AS j`,
})

const subject = { agents: 'text[]', account: 'text?' } as const
/**
 * Matches jobs that contain the subject. Payloads are flat objects of ids and counts (`enqueue`). An agent's id occurs only as
 * `agentId`, never in a key: agents choose their ids, which may equal those of jobs, runs, requests or accounts. An account's id may
 * occur anywhere, also as `user:<account>`.
 */
const containsSubject = `EXISTS (SELECT FROM json_each_text(CASE json_typeof(j.payload) WHEN 'object' THEN j.payload ELSE '{}' END) AS p
    WHERE CASE p.key WHEN 'agentId' THEN p.value = ANY($agents) ELSE p.value IN ($account, 'user:' || $account) END)
  OR $account = ANY(string_to_array(j.key, ':'))`

const inventoryOfJobs = statement('jobs.inventory', {
  takes: subject,
  returns: { count: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS count, min(created_at) AS since FROM graphile_worker._private_jobs j WHERE ${containsSubject}`,
})

const jobsOfSubject = statement('jobs.of-subject', {
  takes: subject,
  returns: { id: 'text' },
  sql: `SELECT id::text FROM graphile_worker._private_jobs j WHERE ${containsSubject}`,
})

const deleteJobs = statement('jobs.delete', {
  takes: { ids: 'text[]' },
  returns: 'count',
  sql: 'DELETE FROM graphile_worker._private_jobs WHERE id = ANY($ids::bigint[])',
})

/** Searches members at any depth of the payload, and any part of the key. */
const countJobResidue = statement('jobs.count-residue', {
  takes: { ...subject, ids: 'text[]' },
  returns: count,
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM graphile_worker._private_jobs j
    WHERE j.id = ANY($ids::bigint[]) OR position(':' || $account || ':' IN ':' || j.key || ':') > 0
      OR EXISTS (SELECT FROM jsonb_path_query(j.payload::jsonb, '$.** ? (@.type() == "object").keyvalue()') AS m
        WHERE CASE m->>'key' WHEN 'agentId' THEN m->>'value' = ANY($agents) ELSE m->>'value' IN ($account, 'user:' || $account) END)`,
})

/** Counts jobs with these names that will run, and those that run now, because they may return to the queue. */
export const countPendingJobs = statement('jobs.count-pending', {
  takes: { names: 'text[]' },
  returns: count,
  sql: `SELECT count(*)::int4 AS n FROM graphile_worker.jobs
    WHERE (locked_at IS NOT NULL OR attempts < max_attempts) AND task_identifier = ANY($names)`,
})

/** Makes waiting jobs with these names run now. */
export const runJobsNow = statement('jobs.run-now', {
  takes: { names: 'text[]' },
  returns: 'count',
  sql: `SELECT graphile_worker.reschedule_jobs(array_agg(id), run_at => now() - interval '1 second') FROM graphile_worker.jobs
    WHERE locked_at IS NULL AND attempts < max_attempts AND run_at > now() AND task_identifier = ANY($names) HAVING count(*) > 0`,
})

export interface EnqueueOptions {
  runAt?: Date
  /** A job replaces a waiting one with the same key. */
  key?: string
  maxAttempts?: number
  /** The job waits for a store that does not respond. The mark distinguishes it from other scheduled jobs, for operators and tests. */
  isWaiting?: boolean
}

/** The flag of jobs that wait for a store. */
export const waitingFlag = 'waits-for-store'

/** Adds a job in the caller's transaction: both commit or neither does. The payload contains only ids and counts. */
export async function enqueue(
  tx: Transaction,
  name: string,
  payload: Record<string, string | number>,
  { runAt, key, maxAttempts = 25, isWaiting = false }: EnqueueOptions = {},
): Promise<void> {
  const flags = isWaiting ? [waitingFlag] : null
  await addJob(tx, { name, payload, run_at: runAt ?? null, key: key ?? null, max_attempts: maxAttempts, flags })
}

/** The queue of the installation, by which workers can be scaled. Before the first worker has created its tables, it is unknown. */
export const queueMeasures = (db: Database): Measuring => ({
  name: 'jobs',
  async measure() {
    const [row] = await measureQueue(db, {})
    const { oldest = 0, ...states } = row ?? {}
    return [
      {
        name: 'kp_jobs',
        help: 'Jobs by state; ready ones wait only for a worker, failed ones do not run again',
        type: 'gauge',
        samples: Object.entries(states).map(([state, value]) => ({ labels: { state }, value })),
      },
      {
        name: 'kp_jobs_oldest_ready_seconds',
        help: 'How long the oldest ready job has waited for a worker',
        type: 'gauge',
        samples: [{ value: oldest }],
      },
    ]
  },
})

/**
 * The data source of jobs that are waiting, retried or failed and contain the subject. Running jobs are also deleted: the write fence
 * rejects what they write, and their completion finds no row, which the queue tolerates.
 */
export const queueDataSource = (db: Database): DataSource => ({
  name: 'queue.jobs',
  store: 'postgresql',
  stage: 'derived',
  what: 'queued jobs that name the subject, including unsent emails',
  purpose: 'to complete requested work later, and to retry it after a failure',
  kept: 'until done; permanently failed jobs for 7 days',
  tables: ['graphile_worker._private_jobs'],
  async inventory(subject) {
    const [row] = await inventoryOfJobs(db, subject)
    return { count: 0, since: null, ...row, until: null }
  },
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    const found = await jobsOfSubject(tx, scope.subject)
    return { items: found.map(({ id }) => id).sort(), held: {} }
  },
  erase: (_scope, items, tx) => deleteJobs(tx, { ids: items }),
  async residue(scope, items) {
    if (!('subject' in scope)) return 0
    const [row] = await countJobResidue(db, { ...scope.subject, ids: items })
    return row?.n ?? 0
  },
})

/** How long a permanently failed job is retained for inspection, in milliseconds. */
const failedJobRetention = 7 * 86_400_000

/** Deletes permanently failed jobs after a week: their rows contain ids of people, and the failure is in the log. */
export const queueJobs = (db: Database) => [
  job({
    name: 'queue.forget-failed',
    payload: z.unknown(),
    cron: '47 * * * *',
    async run(ctx) {
      await deleteFailedJobs(db, { before: new Date(ctx.now.getTime() - failedJobRetention) })
    },
  }),
]

/** A job that is waiting or has failed: ids, counts and times, without its payload and error. */
export interface StoredJobRun {
  id: string
  name: string
  state: 'waiting' | 'retrying' | 'failed'
  attempts: number
  attemptLimit: number
  /** The time of the next attempt; for a job that failed permanently, of the last one. */
  at: Date
}

/** At most `limit` unfinished jobs with these names, permanently failed ones first, and the number of jobs by state. */
export async function storedJobRuns(
  db: Database,
  names: readonly string[],
  limit: number,
): Promise<{ jobs: StoredJobRun[]; counts: Record<StoredJobRun['state'], number> }> {
  const [rows, [counted]] = await Promise.all([
    unfinishedJobs(db, { names, limit }),
    countUnfinishedJobs(db, { names }),
  ])
  return {
    jobs: rows.map(({ id, name, attempts, max, run_at, updated_at }) => {
      const state = attempts >= max ? 'failed' : attempts > 0 ? 'retrying' : 'waiting'
      return { id, name, state, attempts, attemptLimit: max, at: state === 'failed' ? updated_at : run_at }
    }),
    counts: counted ?? { failed: 0, retrying: 0, waiting: 0 },
  }
}

/** How many unfinished jobs with these names have failed at least once, including those that are not retried any more. */
export async function failedOnce(db: Database, names: readonly string[]): Promise<number> {
  const [row] = await countFailedOnce(db, { names })
  return row?.n ?? 0
}
