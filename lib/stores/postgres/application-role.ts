import { readFileSync } from 'node:fs'
import { type ClientBase, escapeIdentifier, escapeLiteral } from 'pg'
import { deriveKey } from '#lib/config/secret.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { DatabaseFault } from './fault.ts'
import { grantsFile } from './migration-history.ts'

export type ApplicationAccess = { appUrl: string; warning?: string }

const userOf = (url: string) => decodeURIComponent(new URL(url).username)

const ALTERABLE =
  'The application runs as the owner of the database, so nothing but its own code keeps it from altering the audit log.'

/** The same URL with another user and password. */
function as(url: string, user: string, password: string): string {
  const own = new URL(url)
  own.username = user
  own.password = password
  return own.href
}

const madeRole = (database: string, secret: string) => ({
  name: `${database}_app`,
  password: deriveKey(secret, 'kp postgres app role').toString('base64url'),
})

/** The URL of the role that {@link applicationAccess} creates. It works once an installation with this secret was started there. */
export function madeRoleUrl(ownerUrl: string, secret: string): string {
  const { name, password } = madeRole(decodeURIComponent(new URL(ownerUrl).pathname.slice(1)).slice(0, 59), secret)
  return as(ownerUrl, name, password)
}

async function makeRole(owner: ClientBase, ownerUrl: string, secret: string): Promise<string> {
  const { rows } = await owner.query<{ name: string }>('SELECT left(current_database(), 59) AS name')
  const { name, password } = madeRole(rows[0]?.name ?? 'kp', secret)
  const exists = await owner.query('SELECT FROM pg_roles WHERE rolname = $1', [name])
  const attributes = `LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD ${escapeLiteral(password)}`
  await owner.query(`${exists.rowCount ? 'ALTER' : 'CREATE'} ROLE ${escapeIdentifier(name)} ${attributes}`)
  return as(ownerUrl, name, password)
}

// A partition that the purge dropped, or a grant that the start of another database changed, between reading the catalogue and granting.
const CHANGED_MEANWHILE = ['42P01', 'XX000']

/** Grants `role` its rights (prisma/grants.sql). Idempotent. */
async function grant(owner: ClientBase, role: string, attempts = 3): Promise<void> {
  await owner.query('BEGIN')
  try {
    await owner.query(`SELECT set_config('kp.app_role', $1, true)`, [role])
    await owner.query(readFileSync(grantsFile, 'utf8'))
    await owner.query('COMMIT')
  } catch (error) {
    await owner.query('ROLLBACK')
    if (attempts > 1 && CHANGED_MEANWHILE.includes(errorCode(error) ?? '')) return grant(owner, role, attempts - 1)
    throw error
  }
}

async function givenRole(owner: ClientBase, appUrl: string): Promise<ApplicationAccess> {
  const role = userOf(appUrl)
  const { rows } = await owner.query<{ mayAlter: boolean }>(
    `SELECT rolsuper OR pg_has_role(oid, current_user, 'member') AS "mayAlter" FROM pg_roles WHERE rolname = $1`,
    [role],
  )
  const found = rows[0]
  if (!found) {
    throw new DatabaseFault(
      'NO_ROLE',
      `The user "${role}" of DATABASE_URL does not exist on the server. Create it (CREATE ROLE ${escapeIdentifier(role)} LOGIN PASSWORD '…'), or leave DATABASE_MIGRATION_URL alone to have one made.`,
    )
  }
  await grant(owner, role)
  if (!found.mayAlter) return { appUrl }
  return {
    appUrl,
    warning: `The user "${role}" of DATABASE_URL has the owner's rights, so nothing but our own code keeps it from altering the audit log.`,
  }
}

/**
 * Gives the application a role that reads and writes but cannot alter the schema or append-only tables. If `appUrl` has another user
 * than the owner's, that role is used. Otherwise `<database>_app` is created, with a password derived from `secret`. If the owner may
 * not create roles, the application runs as the owner, with a warning. @throws DatabaseFault NO_ROLE
 */
export async function applicationAccess(
  owner: ClientBase,
  { ownerUrl, appUrl, secret }: { ownerUrl: string; appUrl?: string | undefined; secret?: string | undefined },
): Promise<ApplicationAccess> {
  if (appUrl && userOf(appUrl) !== userOf(ownerUrl)) return givenRole(owner, appUrl)
  const advice = 'Give an ordinary user in DATABASE_URL and the owner in DATABASE_MIGRATION_URL.'
  if (!secret) return { appUrl: appUrl ?? ownerUrl, warning: `${ALTERABLE} ${advice}` }
  try {
    const made = await makeRole(owner, appUrl ?? ownerUrl, secret)
    await grant(owner, userOf(made))
    return { appUrl: made }
  } catch (error) {
    if (errorCode(error) !== '42501') throw error // insufficient_privilege
    return { appUrl: appUrl ?? ownerUrl, warning: `${ALTERABLE} ${advice}` }
  }
}
