import type { ClientBase } from 'pg'
import type { Env } from '#lib/config/env.ts'
import { adoptNextSecret, installationSecret, pendingSecret, secretFingerprint } from '#lib/config/secret.ts'
import { secretRecord } from '#lib/domains/settings/service.ts'
import { fileLedger } from '#lib/stores/ledger/ledger.ts'
import { ledgerKeyOf, openHead } from '#lib/stores/ledger/ledger-head.ts'
import { type LedgerSettings, ledgerFolder, ledgerMark, moveFormerLedger } from '#lib/stores/ledger/ledger-place.ts'
import { DatabaseFault } from '#lib/stores/postgres/fault.ts'
import type { ConfirmedSecret } from '#lib/stores/postgres/preparation.ts'
import { type LedgerDecisions, requireLedger, settleLedger } from './ledger-settling.ts'
import { type Resealed, reseal, type StoredKey } from './resealing.ts'

export type SecretSettings = Pick<Env, 'KP_DATA_DIR' | 'KP_SECRET' | 'KP_SECRET_PREVIOUS'> &
  LedgerSettings &
  LedgerDecisions

/**
 * Opens the installation's ledger for appending and closes it afterwards. Until the secret `to` is in use, rows are authenticated with a
 * key of `from`, which both secrets have. @throws DatabaseFault LEDGER_AWAY
 */
export async function withLedger<T>(
  owner: ClientBase,
  settings: SecretSettings,
  { from, to }: { from: readonly string[]; to: string },
  work: (keep: StoredKey) => Promise<T>,
): Promise<T> {
  const folder = ledgerFolder(settings)
  const heads = await Promise.all(from.map((secret) => openHead(folder, ledgerKeyOf(secret))))
  const present = from.find((_, index) => heads[index] !== undefined && heads[index] !== 'foreign') ?? to
  await requireLedger(owner, settings, { from, to })
  const ledger = fileLedger(folder, { secret: () => present, mark: ledgerMark(settings) })
  try {
    return await work((id, sealed) =>
      ledger.append({ kind: 'key', id, at: new Date().toISOString(), sealed: sealed.toString('base64') }),
    )
  } finally {
    await ledger.close()
  }
}

const names: Record<string, string> = {
  signing_keys: 'signing keys',
  suppression_keys: 'suppression keys',
  privacy_requests: 'contacts of privacy requests',
}
const warningOf = ({ lost }: Resealed): string | undefined =>
  Object.keys(lost).length === 0
    ? undefined
    : `The secret differs from the one with which ${Object.entries(lost)
        .map(([table, count]) => `${count} ${names[table] ?? table}`)
        .join(
          ', ',
        )} are sealed. Receipts are signed with a new key, and subjects erased under a lost suppression key are not recognized. If you have the former secret, start once with it in KP_SECRET_PREVIOUS.`

const acceptLostSecretCommand = 'kp keys accept-lost-secret'

/**
 * Determines the installation's secret before anything uses it. It finishes a rotation that a crash interrupted, and seals with the current
 * secret what was sealed with KP_SECRET_PREVIOUS. The database must be migrated, and the caller must hold the preparation lock.
 * @throws DatabaseFault SECRET_REPLACED: the configured secret is a former one. SECRET_FOREIGN: it belongs to another database. LEDGER_AWAY
 */
export async function settleSecret(owner: ClientBase, settings: SecretSettings): Promise<ConfirmedSecret> {
  const { KP_DATA_DIR, KP_SECRET, KP_SECRET_PREVIOUS: previous } = settings
  await moveFormerLedger(settings)
  const record = await secretRecord(owner)
  // If the database is already sealed with the next secret, only the renaming of the file is missing. Otherwise the rotation had no effect.
  const pending = KP_SECRET === undefined ? pendingSecret(KP_DATA_DIR) : undefined
  if (pending !== undefined && record?.mark === secretFingerprint(pending)) adoptNextSecret(KP_DATA_DIR)
  const secret = installationSecret(KP_DATA_DIR, KP_SECRET)
  const mark = secretFingerprint(secret)
  const isTurnedBack = previous !== undefined && record?.mark === secretFingerprint(previous)
  if (record?.former.includes(mark) && !isTurnedBack)
    throw new DatabaseFault(
      'SECRET_REPLACED',
      `The installation’s secret was replaced, and ${KP_SECRET === undefined ? `${KP_DATA_DIR}/secret` : 'KP_SECRET'} contains the former secret. Set the current secret. If it is lost, set a new secret, and this one as KP_SECRET_PREVIOUS.`,
    )
  if (record?.mark === mark && previous === undefined) return { secret }
  const isKnown = record === undefined || record.mark === mark || isTurnedBack
  if (!isKnown && !settings.isSecretLost)
    throw new DatabaseFault(
      'SECRET_FOREIGN',
      `This database was sealed with another secret than ${KP_SECRET === undefined ? `the one in ${KP_DATA_DIR}/secret` : 'KP_SECRET'}${previous === undefined ? '' : ' and KP_SECRET_PREVIOUS'}. Nothing was changed. Set the secret of this database, or set it as KP_SECRET_PREVIOUS for one start. If it is lost, run ${acceptLostSecretCommand}.`,
    )
  const from = previous === undefined || previous === secret ? [] : [previous]
  const warning = warningOf(
    await withLedger(owner, settings, { from, to: secret }, (keep) => reseal(owner, { from, to: secret, keep })),
  )
  return { secret, ...(warning !== undefined && { warning }) }
}

/** Determines the secret, and checks the erasure ledger with it. @throws DatabaseFault */
export async function settleInstallation(owner: ClientBase, settings: SecretSettings): Promise<ConfirmedSecret> {
  const { secret, warning } = await settleSecret(owner, settings)
  const lines = [warning, await settleLedger(owner, settings, secret)].filter((line) => line !== undefined)
  return { secret, ...(lines.length > 0 && { warning: lines.join('\n') }) }
}
