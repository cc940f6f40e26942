import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { secretMark } from '#lib/secret.ts'

/** The row of settings that says which secret the keys are sealed with, and which were before. */
export const secretRecordName = 'installation_secret'
export const SecretRecord = z.object({ mark: z.string(), former: z.array(z.string()) })
export type SecretRecord = z.output<typeof SecretRecord>

/**
 * Throws `unavailable` where the database's keys are sealed with another secret than this process has: it was replaced while the
 * process ran. What the process sealed now, no other could open.
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
