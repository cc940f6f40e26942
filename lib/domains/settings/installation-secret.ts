import type { ClientBase } from 'pg'
import { z } from 'zod'
import { secretFingerprint } from '#lib/config/secret.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** The row that identifies the secret with which keys are sealed, and the former secrets. */
const recordName = 'installation_secret'
const SecretRecord = z.object({ mark: z.string(), former: z.array(z.string()) })
export type SecretRecord = z.output<typeof SecretRecord>

/** The table that a rotation locks, so that the record does not change while it seals keys. */
export const secretRecordTable = 'settings'

export async function secretRecord(client: ClientBase): Promise<SecretRecord | undefined> {
  const { rows } = await client.query<{ value: unknown }>('SELECT value FROM settings WHERE name = $1', [recordName])
  return rows[0] && SecretRecord.parse(rows[0].value)
}

export async function storeSecretRecord(client: ClientBase, record: SecretRecord, now: Date): Promise<void> {
  await client.query(
    `INSERT INTO settings (name, value, updated_at, updated_by) VALUES ($1, $2, $3, 'system:secret')
     ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
    [recordName, JSON.stringify(record), now],
  )
}

/**
 * Prevents a process with a replaced secret from sealing values that no other process could open. @throws `unavailable` if the secret
 * was replaced while this process ran
 */
export async function assertPresentSecret(tx: Transaction, secret: string): Promise<void> {
  const row = await tx.setting.findUnique({ where: { name: recordName } })
  if (!row || SecretRecord.parse(row.value).mark === secretFingerprint(secret)) return
  throw new Problem('unavailable', {
    detail:
      'The installation’s secret was replaced while this process ran. Nothing was lost: restart it, then repeat this.',
    headers: { 'Retry-After': '60' },
  })
}
