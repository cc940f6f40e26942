import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClientBase } from 'pg'
import { DatabaseFault } from './fault.ts'

const prismaFolder = join(import.meta.dirname, '../../../prisma')
export const schemaFolder = join(prismaFolder, 'schema')
export const migrationsFolder = join(prismaFolder, 'migrations')
export const grantsFile = join(prismaFolder, 'grants.sql')

export type Migration = { name: string; sql: string }

/** The migrations in prisma/migrations, in the order in which they are applied. */
export const localMigrations = (): Migration[] =>
  existsSync(migrationsFolder)
    ? readdirSync(migrationsFolder, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => ({ name, sql: readFileSync(join(migrationsFolder, name, 'migration.sql'), 'utf8') }))
        .sort((a, b) => (a.name < b.name ? -1 : 1))
    : []

const checksum = (sql: string) => createHash('sha256').update(sql).digest('hex')

// Exactly Prisma's own table, so that its tools read the same history.
const HISTORY = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id varchar(36) PRIMARY KEY NOT NULL,
  checksum varchar(64) NOT NULL,
  finished_at timestamptz,
  migration_name varchar(255) NOT NULL,
  logs text,
  rolled_back_at timestamptz,
  started_at timestamptz NOT NULL DEFAULT now(),
  applied_steps_count integer NOT NULL DEFAULT 0
)`

type Applied = { name: string; checksum: string; isFinished: boolean }

async function appliedMigrations(client: ClientBase): Promise<Applied[] | undefined> {
  const { rows: tables } = await client.query<{ history: boolean; others: number }>(
    `SELECT to_regclass('public._prisma_migrations') IS NOT NULL AS history,
            (SELECT count(*)::int FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
                AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')) AS others`,
  )
  if (tables[0]?.history) {
    const { rows } = await client.query<Applied>(
      `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS "isFinished"
         FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY migration_name`,
    )
    return rows
  }
  if (tables[0]?.others) {
    throw new DatabaseFault(
      'FOREIGN_DATABASE',
      'The database contains tables of another application. Nothing was changed. Use an empty database for KnowledgePulse.',
    )
  }
  return undefined
}

export type HistoryDifference = {
  /** Names of the migrations that are in prisma/migrations and were not applied to the database. */
  missing: string[]
  /** In the database but not in prisma/migrations: created by a newer version. */
  unknown: string[]
}

/** How the database's history differs from prisma/migrations; undefined if it has no history. Changes nothing. */
export async function historyDifference(
  client: ClientBase,
  local: Migration[] = localMigrations(),
): Promise<HistoryDifference | undefined> {
  const found = await appliedMigrations(client)
  if (found === undefined) return undefined
  const applied = new Set(found.filter(({ isFinished }) => isFinished).map(({ name }) => name))
  const known = new Set(local.map(({ name }) => name))
  return {
    missing: [...known].filter((name) => !applied.has(name)),
    unknown: [...applied].filter((name) => !known.has(name)),
  }
}

/**
 * Applies the migrations that the database lacks, in order. Each runs in one transaction with its entry in the history, so that after a
 * kill a migration is either complete or not begun. (Prisma's engine writes the entry separately and needs manual repair if it is killed
 * between the two.) @returns the names of the applied migrations @throws DatabaseFault SCHEMA_NEWER, MIGRATION_CHANGED,
 * MIGRATION_FAILED, FOREIGN_DATABASE
 */
export async function deploy(client: ClientBase, local: Migration[] = localMigrations()): Promise<string[]> {
  const found = await appliedMigrations(client)
  const applied = new Map(found?.map((migration) => [migration.name, migration]))
  const known = new Map(local.map((migration) => [migration.name, migration]))
  const unknown = [...applied.keys()].filter((name) => !known.has(name))
  if (unknown.length > 0) {
    throw new DatabaseFault(
      'SCHEMA_NEWER',
      `The database is newer than this version of KnowledgePulse (it has ${unknown.at(-1)}); nothing was changed. Start the newer version again, or restore a backup made before the update.`,
    )
  }
  for (const { name, checksum: before, isFinished } of applied.values()) {
    if (!isFinished) {
      throw new DatabaseFault(
        'MIGRATION_FAILED',
        `Another tool started migration ${name} and did not finish it. Repair it with that tool (prisma migrate resolve), then start again.`,
      )
    }
    if (checksum(known.get(name)?.sql ?? '') !== before) {
      throw new DatabaseFault(
        'MIGRATION_CHANGED',
        `prisma/migrations/${name} was changed after it was applied to this database. Nothing was changed. Restore the file and put the change into a new migration.`,
      )
    }
  }
  if (found === undefined) await client.query(HISTORY)
  const fresh = local.filter(({ name }) => !applied.has(name))
  for (const migration of fresh) await apply(client, migration)
  return fresh.map(({ name }) => name)
}

async function apply(client: ClientBase, { name, sql }: Migration) {
  try {
    await client.query('BEGIN')
    await client.query(sql)
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
       VALUES ($1, $2, $3, now(), clock_timestamp(), 1)`,
      [randomUUID(), checksum(sql), name],
    )
    await client.query('COMMIT')
  } catch (cause) {
    await client.query('ROLLBACK')
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new DatabaseFault(
      'MIGRATION_FAILED',
      `Migration ${name} failed and was rolled back. Stored data is unchanged. PostgreSQL reported: ${why}`,
      { cause },
    )
  }
}
