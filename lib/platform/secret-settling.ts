import type { ClientBase } from 'pg'
import { markIn } from '#lib/config/data-folder.ts'
import type { Env } from '#lib/config/env.ts'
import { adoptNextSecret, installationSecret, pendingSecret, secretFingerprint } from '#lib/config/secret.ts'
import { secretRecord } from '#lib/domains/settings/installation-secret.ts'
import { ledgerAddresses } from '#lib/domains/stores/ledgers.ts'
import { folderMarkPath } from '#lib/stores/folder-mark.ts'
import { fileLedger, ledgerFolder } from '#lib/stores/ledger/ledger.ts'
import { DatabaseFault } from '#lib/stores/postgres/fault.ts'
import type { ConfirmedSecret } from '#lib/stores/postgres/preparation.ts'
import { addressHash } from '#lib/stores/registered-store.ts'
import { type Resealed, reseal, type StoredKey } from './resealing.ts'

export type SecretSettings = Pick<Env, 'KP_DATA_DIR' | 'KP_SECRET' | 'KP_SECRET_PREVIOUS' | 'KP_LEDGER_URL'>
/** Entries written to another folder than the ledger's would be missing there. */
async function refuseAnother(owner: ClientBase, folder: string): Promise<void> {
  const addresses = await ledgerAddresses(owner)
  const mark = await markIn(folderMarkPath(folder))
  const own = mark === undefined ? undefined : addressHash('files', mark)
  if (addresses.some((address) => address !== own))
    throw new DatabaseFault(
      'LEDGER_AWAY',
      `${folder} is not the folder of the erasure ledger that was used before. Check that its disk is mounted and that KP_LEDGER_URL is correct. Nothing was changed.`,
    )
}

/** Opens the installation's ledger for appending and closes it afterwards. @throws DatabaseFault LEDGER_AWAY */
export async function withLedger<T>(
  owner: ClientBase,
  settings: SecretSettings,
  work: (keep: StoredKey) => Promise<T>,
): Promise<T> {
  const folder = ledgerFolder(settings)
  await refuseAnother(owner, folder)
  const ledger = fileLedger(folder)
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

/**
 * Determines the installation's secret before anything uses it: finishes a rotation that a crash interrupted, and reseals what
 * KP_SECRET_PREVIOUS opens. The database must be migrated, and the caller must hold the preparation lock. @throws DatabaseFault
 * SECRET_REPLACED, LEDGER_AWAY
 */
export async function settleSecret(owner: ClientBase, settings: SecretSettings): Promise<ConfirmedSecret> {
  const { KP_DATA_DIR, KP_SECRET, KP_SECRET_PREVIOUS: previous } = settings
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
  const from = previous === undefined || previous === secret ? [] : [previous]
  const warning = warningOf(await withLedger(owner, settings, (keep) => reseal(owner, { from, to: secret, keep })))
  return { secret, ...(warning !== undefined && { warning }) }
}
