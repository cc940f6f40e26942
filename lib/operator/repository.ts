import { statement } from '#lib/stores/postgres/statement.ts'

/** Waits for another first run, until the end of the transaction. */
export const lockFirstRun = statement('operator.lock-first-run', {
  takes: {},
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtext('first-run'))::text AS lock`,
})

/** The role of the connection, and whether it can change or delete entries of the audit logs. */
export const auditLogRights = statement('operator.audit-log-rights', {
  takes: {},
  returns: { role: 'name', may: 'bool' },
  sql: `SELECT current_user AS role,
      bool_or(has_table_privilege(t, 'UPDATE') OR has_table_privilege(t, 'DELETE') OR has_table_privilege(t, 'TRUNCATE')) AS may
    FROM unnest(ARRAY['audit_entries', 'deletion_audit_log']) AS t`,
})

/**
 * Counts workers and jobs that are more than five minutes late. Each worker listens for jobs on its own connection; the application's role
 * sees connections of the same role.
 */
export const workersAndLateJobs = statement('operator.workers-and-late-jobs', {
  takes: {},
  returns: { workers: 'int4', overdue: 'int4' },
  sql: `SELECT (SELECT count(*)::int4 FROM pg_stat_activity
        WHERE datname = current_database() AND query ILIKE '%LISTEN "jobs:insert"%' AND pid <> pg_backend_pid()) AS workers,
      (SELECT count(*)::int4 FROM graphile_worker.jobs
        WHERE run_at < now() - interval '5 minutes' AND locked_at IS NULL AND attempts < max_attempts) AS overdue`,
})

/** The clock of the database. */
export const databaseTime = statement('operator.database-time', {
  takes: {},
  returns: { now: 'timestamptz' },
  sql: 'SELECT clock_timestamp() AS now',
})
