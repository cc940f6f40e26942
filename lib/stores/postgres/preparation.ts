import { Logger, runMigrations } from 'graphile-worker'
import { type ClientBase, escapeIdentifier } from 'pg'
import { errorCode } from '#lib/kernel/error-code.ts'
import { applicationAccess } from './application-role.ts'
import { prepareCheckpointTables } from './checkpoint-tables.ts'
import { withConnection } from './connection.ts'
import { DatabaseFault } from './fault.ts'
import { deploy } from './migration-history.ts'
import { createPool } from './pool.ts'

export interface ConfirmedSecret {
  secret: string
  /** A one-line note for the operator. */
  warning?: string
}

export type PreparationOptions = {
  ownerUrl: string
  /** The application's URL. If it is missing or has the owner's user, a role is created. */
  appUrl?: string | undefined
  /**
   * The installation's secret, from which the password of a created role is derived; or a function that determines it after the
   * migrations.
   */
  secret?: string | undefined | ((owner: ClientBase) => Promise<ConfirmedSecret>)
  /** Create the database if it does not exist: only for our own server, where a mistyped name cannot be the reason. */
  mayCreateDatabase?: boolean
}

export type PreparedDatabase = {
  appUrl: string
  ownerUrl: string
  /** The migrations that this call applied. */
  applied: string[]
  /** What the operator should change, one item per line. */
  warning?: string
}

const LEAST_VERSION = 15
export const PREPARATION_LOCK = 0x6b70_0001 // one process at a time per database

async function createDatabase(ownerUrl: string) {
  const name = decodeURIComponent(new URL(ownerUrl).pathname.slice(1))
  const maintenance = new URL(ownerUrl)
  maintenance.pathname = '/postgres'
  await withConnection(maintenance.href, async (client) => {
    const found = await client.query('SELECT FROM pg_database WHERE datname = $1', [name])
    if (found.rowCount) return
    try {
      await client.query(`CREATE DATABASE ${escapeIdentifier(name)}`)
    } catch (error) {
      if (!['42P04', '23505'].includes(errorCode(error) ?? '')) throw error // otherwise another start created it in the meantime
    }
  })
}

async function checkServer(client: ClientBase) {
  const { rows } = await client.query<{ version: number; encoding: string }>(
    `SELECT current_setting('server_version_num')::int / 10000 AS version, current_setting('server_encoding') AS encoding`,
  )
  const { version = 0, encoding = '' } = rows[0] ?? {}
  if (version < LEAST_VERSION) {
    throw new DatabaseFault(
      'OTHER_VERSION',
      `The server is PostgreSQL ${version}; KnowledgePulse needs ${LEAST_VERSION} or newer.`,
    )
  }
  if (encoding !== 'UTF8') {
    throw new DatabaseFault(
      'FOREIGN_DATABASE',
      `The database stores text as ${encoding}; KnowledgePulse needs one with ENCODING 'UTF8'.`,
    )
  }
}

/** Creates the tables of the job queue. The queue's own pool would close later, when nothing listens for its errors any more. */
export async function prepareQueue(ownerUrl: string): Promise<void> {
  const pgPool = createPool({ connectionString: ownerUrl, max: 1 })
  try {
    await runMigrations({ pgPool, logger: quiet })
  } finally {
    await pgPool.end()
  }
}

/**
 * Makes a database ready to serve: our migrations, the job queue's, LangGraph's, and the application's role and rights. Safe to repeat
 * and to run concurrently from several processes. It takes a few milliseconds if there is nothing to do. @throws DatabaseFault
 */
export async function prepareDatabase(options: PreparationOptions): Promise<PreparedDatabase> {
  const { ownerUrl } = options
  const variable = options.appUrl && options.appUrl !== ownerUrl ? 'DATABASE_MIGRATION_URL' : 'DATABASE_URL'
  if (options.mayCreateDatabase) await createDatabase(ownerUrl)
  const prepared = await withConnection(
    ownerUrl,
    async (owner) => {
      await checkServer(owner)
      await owner.query('SELECT pg_advisory_lock($1)', [PREPARATION_LOCK]) // released with the connection
      const applied = await deploy(owner)
      await prepareQueue(ownerUrl)
      await prepareCheckpointTables(owner, ownerUrl)
      const settled = typeof options.secret === 'function' ? await options.secret(owner) : undefined
      const secret = typeof options.secret === 'function' ? settled?.secret : options.secret
      const access = await applicationAccess(owner, { ...options, secret })
      const warnings = [settled, access].flatMap((reported) => reported?.warning ?? [])
      return { ownerUrl, applied, ...access, ...(warnings.length > 0 && { warning: warnings.join('\n') }) }
    },
    variable,
  )
  await withConnection(prepared.appUrl, (app) => app.query('SELECT 1'))
  return prepared
}

const quiet = new Logger(() => (level, message) => {
  if (level === 'error' || level === 'warning') console.error(`job queue: ${message}`)
})
