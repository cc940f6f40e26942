import { escapeIdentifier } from 'pg'
import { ownSchema } from '#lib/stores/checkpoints/connected-checkpoints.ts'
import { statement } from '#lib/stores/postgres/statement.ts'

export const checkDatabase = statement('platform.check-database', {
  takes: {},
  returns: { one: 'int4' },
  sql: 'SELECT 1 AS one',
})

/** The full name of a table, or null if it does not exist. */
export const existingTable = statement('platform.existing-table', {
  takes: { name: 'text' },
  returns: { name: 'text?' },
  sql: 'SELECT to_regclass($name)::text AS name',
})

const checkpointTables = ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes', 'store'] as const
export const qualifiedCheckpointTables = checkpointTables.map((table) => `${ownSchema}.${table}` as const)

/** One row if the table of checkpoints has any. */
export const anyCheckpointRow = statement('platform.any-checkpoint-row', {
  takes: {},
  returns: { one: 'int4' },
  variants: qualifiedCheckpointTables,
  sql: (table: (typeof qualifiedCheckpointTables)[number]) => `SELECT 1 AS one FROM ${table} LIMIT 1`,
})

/** Blocks writes to these tables until the end of the transaction. */
export const lockTables = statement('platform.lock-tables', {
  takes: {},
  returns: 'count',
  variants: [['pg_type']],
  sql: (tables: readonly string[]) =>
    `LOCK TABLE ${tables.map(escapeIdentifier).join(', ')} IN SHARE ROW EXCLUSIVE MODE`,
})

/** Takes the lock under which an installation is prepared, which ends with the connection. */
export const lockPreparation = statement('platform.lock-preparation', {
  takes: { lock: 'int8' },
  returns: { lock: 'text' },
  sql: 'SELECT pg_advisory_lock($lock)::text AS lock',
})

/** The number of other connections to this database, without those of PostgreSQL itself. */
export const countOtherConnections = statement('platform.count-other-connections', {
  takes: {},
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int4 AS n FROM pg_stat_activity
    WHERE datname = current_database() AND usename IS NOT NULL AND pid <> pg_backend_pid()`,
})
