import type { ClientBase } from 'pg'
import { z } from 'zod'
import { secretFingerprint } from '#lib/config/secret.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { settingNamed, storeSetting } from './repository.ts'

/** The row that identifies the secret with which keys are sealed, and the former secrets. */
const recordName = 'installation_secret'
const SecretRecord = z.object({ mark: z.string(), former: z.array(z.string()) })
export type SecretRecord = z.output<typeof SecretRecord>

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
