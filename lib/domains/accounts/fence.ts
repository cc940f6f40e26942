import type { Transaction } from '#lib/kernel/context.ts'
import { endSessions } from './account-status.ts'
import { lockedAddress } from './repository.ts'

/** Locks the account exclusively and ends its sessions. Returns the stored email address; null without an account. */
export async function raiseAccountFence(tx: Transaction, accountId: string, now: Date): Promise<string | null> {
  const [row] = await lockedAddress(tx, { id: accountId })
  if (!row) return null
  await endSessions(tx, accountId, now)
  return row.email
}
