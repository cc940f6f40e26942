import type { Transaction } from '#lib/kernel/context.ts'
import { endSessions } from './account-status.ts'

/** Locks the account exclusively and ends its sessions. Returns the stored email address; null without an account. */
export async function raiseAccountFence(tx: Transaction, accountId: string, now: Date): Promise<string | null> {
  const [row] = await tx.$queryRaw<
    { email: string }[]
  >`SELECT coalesce(invited_email, email) AS email FROM accounts WHERE id = ${accountId} FOR UPDATE`
  if (!row) return null
  await endSessions(tx, accountId, now)
  return row.email
}
