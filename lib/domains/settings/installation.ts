import type { ClientBase } from 'pg'
import { z } from 'zod'
import { secretFingerprint } from '#lib/config/secret.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { settingNamed, storeSetting } from './repository.ts'

/** The row that identifies the secret with which keys are sealed, and the former secrets. */
const recordName = 'installation_secret'
const SecretRecord = z.object({ mark: z.string(), former: z.array(z.string()) })
type SecretRecord = z.output<typeof SecretRecord>

/** The table that a rotation locks, so that the record does not change while it seals keys. */
export const secretRecordTable = 'settings'

export async function secretRecord(client: ClientBase): Promise<SecretRecord | undefined> {
  const [row] = await settingNamed(client, { name: recordName })
  return row && SecretRecord.parse(row.value)
}

export const storeSecretRecord = (client: ClientBase, record: SecretRecord, now: Date): Promise<unknown> =>
  storeSetting(client, { name: recordName, value: record, now, by: 'system:secret' })

/**
 * Prevents a process with a replaced secret from sealing values that no other process could open. @throws `unavailable` if the secret
 * was replaced while this process ran
 */
export async function assertPresentSecret(tx: Transaction, secret: string): Promise<void> {
  const row = await tx.setting.findUnique({ where: { name: recordName } })
  if (!row || SecretRecord.parse(row.value).mark === secretFingerprint(secret)) return
  throw new Problem('unavailable', {
    detail:
      'The installation’s secret was replaced while this process ran, so nothing was stored. Restart the process, then try again.',
    headers: { 'Retry-After': '60' },
  })
}

/** The row that identifies the installation's erasure ledger, so that another one, or none, is not mistaken for it. */
const ledgerName = 'erasure_ledger'
const LedgerRecord = z.object({ id: z.string() })

/** The id of the ledger of this database. Undefined before the first start. */
export async function recordedLedger(client: ClientBase): Promise<string | undefined> {
  const [row] = await settingNamed(client, { name: ledgerName })
  return row && LedgerRecord.parse(row.value).id
}

export const recordLedger = (client: ClientBase, id: string, now: Date): Promise<unknown> =>
  storeSetting(client, { name: ledgerName, value: { id }, now, by: 'system:ledger' })

const repeatedName = 'repeated_erasures'
const Repeated = z.object({ receipts: z.array(z.string()) })

/** Receipt ids of erasures of the ledger that a replay began and could not finish. */
export async function repeatedErasures(tx: Transaction): Promise<string[]> {
  const row = await tx.setting.findUnique({ where: { name: repeatedName } })
  return row === null ? [] : Repeated.parse(row.value).receipts
}

export async function storeRepeatedErasures(tx: Transaction, receipts: readonly string[], now: Date): Promise<void> {
  const content = { value: { receipts: [...receipts] }, updatedAt: now, updatedBy: 'system:admin.replay' }
  await tx.setting.upsert({
    where: { name: repeatedName },
    create: { name: repeatedName, ...content },
    update: content,
  })
}
