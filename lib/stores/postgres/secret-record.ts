import { z } from 'zod'
import { secretMark } from '#lib/config/secret.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** The settings row that identifies the secret with which keys are sealed, and the former secrets. */
export const secretRecordName = 'installation_secret'
export const SecretRecord = z.object({ mark: z.string(), former: z.array(z.string()) })
export type SecretRecord = z.output<typeof SecretRecord>

/**
 * Prevents a process with a replaced secret from sealing values that no other process could open. @throws `unavailable` if the secret
 * was replaced while this process ran
 */
export async function assertPresentSecret(tx: Transaction, secret: string): Promise<void> {
  const row = await tx.setting.findUnique({ where: { name: secretRecordName } })
  if (!row || SecretRecord.parse(row.value).mark === secretMark(secret)) return
  throw new Problem('unavailable', {
    detail:
      'The installation’s secret was replaced while this process ran. Nothing was lost: restart it, then repeat this.',
    headers: { 'Retry-After': '60' },
  })
}
