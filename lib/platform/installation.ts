import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ClientBase } from 'pg'
import type { Env } from '#lib/config/env.ts'
import { installationSecret } from '#lib/config/secret.ts'
import { madeRoleUrl } from '#lib/stores/postgres/application-role.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type EmbeddedDatabase, findEmbedded, startEmbedded } from '#lib/stores/postgres/embedded.ts'
import { DatabaseFault } from '#lib/stores/postgres/fault.ts'
import { historyDifference } from '#lib/stores/postgres/migration-history.ts'
import { type PreparedDatabase, prepareDatabase } from '#lib/stores/postgres/preparation.ts'
import { type SecretSettings, settleInstallation } from './secret-settling.ts'

export type Installation = PreparedDatabase & {
  /** Set if we run the database ourselves. The caller that opened the installation stops it. */
  embedded?: EmbeddedDatabase
}

type Settings = Pick<Env, 'DATABASE_URL' | 'DATABASE_MIGRATION_URL'> &
  Partial<Pick<Env, 'DATABASE_DIRECT_URL'>> &
  SecretSettings

/**
 * Prepares an installation's database that is running.
 * @param embeddedUrl the owner's URL of the embedded database; without it, the settings name the database
 * @throws DatabaseFault
 */
export async function prepareInstallation(settings: Settings, embeddedUrl?: string): Promise<PreparedDatabase> {
  const { DATABASE_URL: appUrl, DATABASE_MIGRATION_URL, DATABASE_DIRECT_URL: directUrl } = settings
  const secret = (owner: ClientBase) => settleInstallation(owner, settings)
  if (embeddedUrl !== undefined) return prepareDatabase({ ownerUrl: embeddedUrl, secret, mayCreateDatabase: true })
  const ownerUrl = DATABASE_MIGRATION_URL ?? appUrl
  if (!ownerUrl) throw new TypeError('The settings name no database.')
  const prepared = await prepareDatabase({ ownerUrl, appUrl, secret })
  if (directUrl !== undefined && directUrl !== appUrl) await checkPooler(prepared.appUrl, directUrl)
  return prepared
}

/**
 * Checks that the pooler leads to the database and user of the direct address, and that its sessions have time limits, which it cannot take from us.
 * @throws DatabaseFault OTHER_DATABASE, OTHER_USER, NO_TIME_LIMITS
 */
async function checkPooler(pooledUrl: string, directUrl: string): Promise<void> {
  const identity = `SELECT (SELECT system_identifier FROM pg_control_system()) || ' ' || current_database() AS identity, current_user AS role,
    current_setting('statement_timeout') AS statements, current_setting('lock_timeout') AS locks`
  const seenBy = (url: string, variable: string) =>
    withConnection(
      url,
      async (client) => (await client.query<Record<string, string>>(identity)).rows[0] ?? {},
      variable,
    )
  const [pooled, direct] = [await seenBy(pooledUrl, 'DATABASE_URL'), await seenBy(directUrl, 'DATABASE_DIRECT_URL')]
  if (pooled.identity !== direct.identity)
    throw new DatabaseFault(
      'OTHER_DATABASE',
      'DATABASE_URL and DATABASE_DIRECT_URL lead to different databases. Give both the address of the same one.',
    )
  // If the worker signed in as another user, for instance the owner, it would have rights that the start revokes from the application.
  if (pooled.role !== direct.role)
    throw new DatabaseFault(
      'OTHER_USER',
      'DATABASE_URL and DATABASE_DIRECT_URL sign in as different users. Give both the user of the application, and DATABASE_MIGRATION_URL the owner.',
    )
  if (pooled.statements === '0' || pooled.locks === '0')
    throw new DatabaseFault(
      'NO_TIME_LIMITS',
      "The pooler of DATABASE_URL sets no time limits. Add connect_query='SET statement_timeout = 15000; SET lock_timeout = 14000' to its database.",
    )
}

/**
 * The installation's database, running and prepared: the one that DATABASE_URL names, otherwise the embedded one in KP_DATA_DIR. @throws
 * DatabaseFault
 */
export async function openInstallation(settings: Settings): Promise<Installation> {
  if (settings.DATABASE_MIGRATION_URL || settings.DATABASE_URL) return prepareInstallation(settings)
  const embedded = await startEmbedded(settings.KP_DATA_DIR)
  try {
    const prepared = await prepareInstallation(settings, embedded.ownerUrl('kp'))
    return { ...prepared, embedded }
  } catch (error) {
    await embedded.stop()
    throw error
  }
}

export type JoinedInstallation = {
  appUrl: string
  ownerUrl: string
  /** Stops what joining started; a running installation is unaffected. */
  leave(): Promise<void>
}

const notPrepared = (why: string) =>
  new DatabaseFault('NOT_PREPARED', `${why} Run npm start, which prepares it, then repeat this.`)

/** The application's URL on an external server: the configured role, the role created for it, or the owner's if none could be created. */
async function givenAppUrl(
  ownerUrl: string,
  { DATABASE_URL: appUrl, KP_DATA_DIR, KP_SECRET }: Settings,
): Promise<string> {
  if (appUrl && new URL(appUrl).username !== new URL(ownerUrl).username) return appUrl
  if (!KP_SECRET && !existsSync(join(KP_DATA_DIR, 'secret'))) return appUrl ?? ownerUrl
  const secret = installationSecret(KP_DATA_DIR, KP_SECRET)
  const made = madeRoleUrl(appUrl ?? ownerUrl, secret)
  try {
    await withConnection(made, async () => {})
    return made
  } catch (error) {
    if (error instanceof DatabaseFault && error.code === 'ACCESS_DENIED') return appUrl ?? ownerUrl
    throw error
  }
}

async function checkPrepared(appUrl: string): Promise<void> {
  const difference = await withConnection(appUrl, (client) => historyDifference(client))
  if (!difference) throw notPrepared('The database is empty.')
  if (difference.unknown.length > 0)
    throw new DatabaseFault(
      'SCHEMA_NEWER',
      `The database is newer than this version of KnowledgePulse (it has ${difference.unknown.at(-1)}). Run this with the newer version.`,
    )
  if (difference.missing.length > 0)
    throw notPrepared(`The database lacks ${difference.missing.length} migrations of this version.`)
}

/**
 * Joins an installation's database. If it is running, it connects; if it is embedded and stopped, it starts the server temporarily. It
 * never migrates a database and never creates an installation. @throws DatabaseFault NOT_PREPARED, SCHEMA_NEWER, UNREACHABLE,
 * ACCESS_DENIED
 */
export async function joinInstallation(settings: Settings): Promise<JoinedInstallation> {
  const { DATABASE_URL, DATABASE_MIGRATION_URL, KP_DATA_DIR } = settings
  const givenUrl = DATABASE_MIGRATION_URL ?? DATABASE_URL
  const leave = async () => {}
  if (givenUrl) {
    const appUrl = await givenAppUrl(givenUrl, settings)
    await checkPrepared(appUrl)
    return { appUrl, ownerUrl: givenUrl, leave }
  }
  const location = await findEmbedded(KP_DATA_DIR)
  if (!location.exists) throw notPrepared(`There is no installation in ${KP_DATA_DIR} yet.`)
  if (location.ownerPid === undefined) {
    const { appUrl, ownerUrl, embedded } = await openInstallation(settings)
    return { appUrl, ownerUrl, leave: async () => embedded?.stop() }
  }
  const ownerUrl = location.ownerUrl('kp')
  const appUrl = madeRoleUrl(ownerUrl, installationSecret(KP_DATA_DIR, settings.KP_SECRET))
  await checkPrepared(appUrl)
  return { appUrl, ownerUrl, leave }
}

/**
 * Prepares an installation after its operator declared the ledger or the former secret lost. Starts the embedded database if it is
 * stopped. @throws DatabaseFault
 */
export async function acceptLoss(
  settings: Settings,
  decisions: Pick<Settings, 'isLedgerLost' | 'isSecretLost'>,
): Promise<JoinedInstallation> {
  const decided = { ...settings, ...decisions }
  const isEmbedded = !settings.DATABASE_MIGRATION_URL && !settings.DATABASE_URL
  const location = isEmbedded ? await findEmbedded(settings.KP_DATA_DIR) : undefined
  if (location?.exists === false) throw notPrepared(`There is no installation in ${settings.KP_DATA_DIR} yet.`)
  if (location?.ownerPid !== undefined) {
    const { appUrl, ownerUrl } = await prepareInstallation(decided, location.ownerUrl('kp'))
    return { appUrl, ownerUrl, leave: async () => {} }
  }
  const { appUrl, ownerUrl, embedded } = await openInstallation(decided)
  return { appUrl, ownerUrl, leave: async () => embedded?.stop() }
}
