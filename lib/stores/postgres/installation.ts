import type { Env } from '#lib/env.ts'
import { installationSecret } from '#lib/secret.ts'
import { type EmbeddedDatabase, startEmbedded } from './embedded.ts'
import { type PreparedDatabase, prepareDatabase } from './preparation.ts'

export type Installation = PreparedDatabase & {
  /** Present when the database is ours to run; whoever opened the installation stops it. */
  embedded?: EmbeddedDatabase
}

type Settings = Pick<Env, 'DATABASE_URL' | 'DATABASE_MIGRATION_URL' | 'KP_DATA_DIR' | 'KP_SECRET'>

/**
 * The installation's database, running and prepared: the one that DATABASE_URL names, else the embedded one in KP_DATA_DIR.
 * @throws DatabaseFault
 */
export async function openInstallation(settings: Settings): Promise<Installation> {
  const { DATABASE_URL: appUrl, DATABASE_MIGRATION_URL, KP_DATA_DIR } = settings
  const secret = installationSecret(KP_DATA_DIR, settings.KP_SECRET)
  const ownerUrl = DATABASE_MIGRATION_URL ?? appUrl
  if (ownerUrl) return prepareDatabase({ ownerUrl, appUrl, secret })
  const embedded = await startEmbedded(KP_DATA_DIR)
  try {
    const prepared = await prepareDatabase({ ownerUrl: embedded.ownerUrl('kp'), secret, mayCreateDatabase: true })
    return { ...prepared, embedded }
  } catch (error) {
    await embedded.stop()
    throw error
  }
}
