import type { ClientBase } from 'pg'
import type { Env } from '#lib/config/env.ts'
import { adoptNextSecret, nextSecret } from '#lib/config/secret.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { findEmbedded } from '#lib/stores/postgres/embedded.ts'
import { DatabaseFault } from '#lib/stores/postgres/fault.ts'
import { PREPARATION_LOCK, prepareDatabase } from '#lib/stores/postgres/preparation.ts'
import { openInstallation } from './installation.ts'
import { countOtherConnections, lockPreparation } from './repository.ts'
import { type Resealed, reseal } from './resealing.ts'
import { type SecretSettings, settleInstallation, settleSecret, withLedger } from './secret-settling.ts'

/** The points at which tests simulate a crash. */
export type RotationPoint = 'begun' | 'next' | 'sealed' | 'committed' | 'adopted'
type Interrupt = (point: RotationPoint) => void

/**
 * Replaces the secret in `<KP_DATA_DIR>/secret`. The new secret is on disk before anything is sealed with it; sealing is one
 * transaction; the file is renamed last. After a crash at any point, {@link settleSecret} finishes or discards the rotation.
 */
async function rotate(owner: ClientBase, settings: SecretSettings, interrupt: Interrupt): Promise<Resealed> {
  await lockPreparation(owner, { lock: String(PREPARATION_LOCK) })
  const { secret } = await settleSecret(owner, settings)
  interrupt('begun')
  const to = nextSecret(settings.KP_DATA_DIR)
  interrupt('next')
  const made = await withLedger(owner, settings, { from: [secret], to }, (keep) =>
    reseal(owner, { from: [secret], to, keep, before: () => interrupt('sealed') }),
  )
  interrupt('committed')
  adoptNextSecret(settings.KP_DATA_DIR)
  interrupt('adopted')
  return made
}

const inUse = (by: string) =>
  new DatabaseFault(
    'IN_USE',
    `KnowledgePulse is running (${by}). Stop all its processes, then run the command again. Nothing was changed.`,
  )

/** @throws DatabaseFault IN_USE while any process uses the database, NOT_PREPARED if there is no installation */
export async function requireStopped({
  DATABASE_URL,
  DATABASE_MIGRATION_URL,
  KP_DATA_DIR,
}: Pick<Env, 'DATABASE_URL' | 'DATABASE_MIGRATION_URL' | 'KP_DATA_DIR'>): Promise<void> {
  const given = DATABASE_MIGRATION_URL ?? DATABASE_URL
  if (given) {
    const [counted] = await withConnection(given, (client) => countOtherConnections(client, {}))
    const others = counted?.n ?? 0
    if (others > 0) throw inUse(`${others} other connection(s) to its database are open`)
    return
  }
  const location = await findEmbedded(KP_DATA_DIR)
  if (!location.exists)
    throw new DatabaseFault(
      'NOT_PREPARED',
      `${KP_DATA_DIR} does not contain an installation. Run npm start to create one.`,
    )
  if (location.ownerPid !== undefined) throw inUse(`process ${location.ownerPid}`)
}

/**
 * Rotates the secret of a stopped installation that stores its secret in a file, and signs everybody out. Returns what was resealed.
 * @throws DatabaseFault IN_USE while it runs, NOT_PREPARED if there is none
 */
export async function rotateInstallationSecret(
  settings: Pick<Env, 'DATABASE_URL' | 'DATABASE_MIGRATION_URL'> & SecretSettings,
  interrupt: Interrupt = () => {},
): Promise<Resealed> {
  const { DATABASE_URL: appUrl } = settings
  // A running process has the former secret in memory: it could no longer open anything, and nobody could open what it seals.
  await requireStopped(settings)
  const { ownerUrl, embedded } = await openInstallation(settings)
  try {
    const made = await withConnection(ownerUrl, (owner) => rotate(owner, settings, interrupt))
    // The password of the application's role is derived from the secret.
    await prepareDatabase({ ownerUrl, appUrl, secret: (owner) => settleInstallation(owner, settings) })
    return made
  } finally {
    await embedded?.stop()
  }
}
