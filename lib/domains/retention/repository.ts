import { type AuditValues, auditRows } from '#lib/domains/audit/log.ts'
import type { Expiring } from '#lib/kernel/expiring.ts'
import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'

const sweepColumns = {
  id: 'text',
  trigger: typed<'cron' | 'demand' | 'code'>('text'),
  requested_by: 'text',
  policy: 'jsonb',
  started_at: 'timestamptz',
  finished_at: 'timestamptz?',
  deleted: 'jsonb',
  held: 'int4',
  interrupted: 'bool',
} as const
export type SweepRow = RowOf<typeof sweepColumns>
const columns = Object.keys(sweepColumns).join(', ')

export const sweepById = statement('retention.sweep-by-id', {
  takes: { id: 'text' },
  returns: sweepColumns,
  isPrepared: true,
  sql: `SELECT ${columns} FROM retention_sweeps WHERE id = $id`,
})

/** Sweeps after a cursor, newest first. */
export const pageOfSweeps = statement('retention.page-of-sweeps', {
  takes: { after_at: 'timestamptz?', after_id: 'text?', limit: 'int4' },
  returns: sweepColumns,
  isPrepared: true,
  sql: `SELECT ${columns} FROM retention_sweeps WHERE $after_at IS NULL OR (started_at, id) < ($after_at, $after_id)
    ORDER BY started_at DESC, id DESC LIMIT $limit`,
})

export const countSweeps = statement('retention.count-sweeps', {
  takes: { limit: 'int4' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: 'SELECT count(*)::int4 AS n FROM (SELECT FROM retention_sweeps LIMIT $limit) AS counted',
})

/** The newest unfinished sweep that started after `since`. */
export const newestUnfinishedSweep = statement('retention.newest-unfinished', {
  takes: { since: 'timestamptz' },
  returns: sweepColumns,
  isPrepared: true,
  sql: `SELECT ${columns} FROM retention_sweeps WHERE started_at > $since AND finished_at IS NULL
    ORDER BY started_at DESC, id DESC LIMIT 1`,
})

/** Serializes changes of the periods until the end of the transaction. */
export const lockPeriods = statement('retention.lock-periods', {
  takes: {},
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtext('retention_periods'))::text AS lock`,
})

/** Serializes the starts of sweeps until the end of the transaction. */
export const lockSweepStart = statement('retention.lock-start', {
  takes: {},
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtext('retention_sweep_start'))::text AS lock`,
})

const lockScopes = {
  transaction: 'pg_try_advisory_xact_lock',
  connection: 'pg_try_advisory_lock',
  release: 'pg_advisory_unlock',
} as const
/** Takes the lock of the running sweep, for a transaction or for the connection, or releases that of the connection. */
export const sweepLock = statement('retention.sweep-lock', {
  takes: {},
  returns: { done: 'bool' },
  variants: ['transaction', 'connection', 'release'],
  sql: (scope: keyof typeof lockScopes) => `SELECT ${lockScopes[scope]}(hashtext('retention_sweep')) AS done`,
})

export const insertSweep = statement('retention.insert', {
  takes: { id: 'text', trigger: 'text', requested_by: 'text', policy: 'jsonb', now: 'timestamptz' },
  returns: 'count',
  sql: `INSERT INTO retention_sweeps (id, trigger, requested_by, policy, started_at)
    VALUES ($id, $trigger, $requested_by, $policy, $now)`,
})

export const finishSweep = statement('retention.finish', {
  takes: { id: 'text', now: 'timestamptz', held: 'int4' },
  returns: sweepColumns,
  isPrepared: true,
  sql: `UPDATE retention_sweeps SET finished_at = $now, held = $held WHERE id = $id RETURNING ${columns}`,
})

export const storeDeletedCounts = statement('retention.store-deleted-counts', {
  takes: { id: 'text', deleted: 'jsonb' },
  returns: 'count',
  sql: 'UPDATE retention_sweeps SET deleted = $deleted WHERE id = $id',
})

/** Waits for a hold that is being set, until the end of the transaction. */
export const lockHoldsForSweep = statement('retention.lock-holds', {
  takes: {},
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock_shared(hashtext('legal_holds'))::text AS lock`,
})

/** SQL expressions for the values that the deletion log needs. */
export interface SweptDeletionValues extends Pick<AuditValues, 'uuids' | 'at'> {
  requestedBy: string
  reason: string
  scope: string
  results: string
}
/** Returns SQL of a WITH query that writes one deletion entry for each row of the query `of`, which must have a column `id`. */
export type DeletionRows = (of: string, at: SweptDeletionValues) => string
interface BatchSource extends Pick<Expiring, 'removal'> {
  deletionRows: DeletionRows
}

/** The parameters of {@link Expiring.removal}, by their number. */
const removalParameters = ['visibility', 'from', 'before', 'now', 'limit'] as const
const withNames = (removal: string): string =>
  removal.replace(/\$([1-5])\b/g, (_, n: string) => `$${removalParameters[Number(n) - 1] ?? ''}`)

const exampleBatch: BatchSource = {
  removal: 'due AS (SELECT $4 AS stored_at WHERE $1 IS NULL), gone AS (SELECT $1 AS id WHERE false)',
  deletionRows: () => 'logged AS (SELECT 1)',
}

/** Deletes a batch of expired records and writes an audit entry and a deletion entry for each. */
export const deleteExpiredBatch = statement('retention.delete-batch', {
  takes: {
    visibility: 'text',
    from: 'timestamptz',
    before: 'timestamptz',
    now: 'timestamptz',
    limit: 'int4',
    uuids: 'text',
    actor: 'text',
    resource_type: 'text',
    ip: 'text',
    details: 'jsonb',
    scope: 'text',
    results: 'jsonb',
  },
  returns: { seen: 'int4', upto: 'timestamptz?', removed: 'int4' },
  variants: [exampleBatch],
  sql: ({ removal, deletionRows }: BatchSource) => `WITH ${withNames(removal)},
    ${auditRows('gone', {
      uuids: '$uuids',
      at: '$now',
      action: "'delete'",
      actorId: '$actor',
      resourceType: '$resource_type',
      ip: '$ip',
      details: '$details',
    })},
    ${deletionRows('gone', {
      uuids: '$uuids',
      at: '$now',
      requestedBy: '$actor',
      reason: "'retention'",
      scope: '$scope',
      results: '$results',
    })}
    SELECT (SELECT count(*)::int4 FROM due) AS seen, (SELECT max(stored_at) FROM due) AS upto,
      (SELECT count(*)::int4 FROM gone) AS removed`,
})

/** The number of transactions of this database, of all connections. The database updates it about once a second. */
export const countTransactions = statement('retention.count-transactions', {
  takes: {},
  returns: { n: 'float8' },
  sql: 'SELECT (xact_commit + xact_rollback)::float8 AS n FROM pg_stat_database WHERE datname = current_database()',
})

const newestFinished = `(SELECT finished_at FROM retention_sweeps WHERE finished_at IS NOT NULL AND NOT interrupted
  ORDER BY started_at DESC, id DESC LIMIT 1)`

/** When the last complete sweep ended, and totals of the sweeps that started after `since`. */
export const measureSweeps = statement('retention.measure', {
  takes: { since: 'timestamptz' },
  returns: { finished_at: 'timestamptz?', sweeps: 'int4', interrupted: 'int4', deleted: 'float8', held: 'int4' },
  isPrepared: true,
  sql: `SELECT ${newestFinished} AS finished_at,
      count(*)::int4 AS sweeps, count(*) FILTER (WHERE interrupted)::int4 AS interrupted,
      coalesce(sum((SELECT sum(value::numeric) FROM jsonb_each_text(deleted))), 0)::float8 AS deleted,
      coalesce((array_agg(held ORDER BY started_at DESC))[1], 0) AS held
    FROM retention_sweeps WHERE started_at > $since`,
})

/** When the last complete sweep ended, and how many were interrupted since a time. */
export const lastSweep = statement('retention.last-sweep', {
  takes: { since: 'timestamptz' },
  returns: { last: 'timestamptz?', interrupted: 'int4' },
  sql: `SELECT ${newestFinished} AS last,
    (SELECT count(*)::int4 FROM retention_sweeps WHERE interrupted AND started_at > $since) AS interrupted`,
})
