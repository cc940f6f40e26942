import { createHmac } from 'node:crypto'
import { normaliseEmail, signInPlaceRemembered } from '#lib/domains/accounts/rules.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { signInMark } from './repository.ts'

/** The networks from which accounts signed in recently, stored as keyed hashes that do not reveal the network. */
export function rememberedSignIns(db: Database, markKey: () => Uint8Array) {
  const markOf = (email: string, limitKey: string) =>
    createHmac('sha256', markKey())
      .update(`${normaliseEmail(email)}\0${limitKey}`)
      .digest()

  return {
    /**
     * Returns true when the account with this address signed in from this network within 30 days. Runs the same query
     * for unknown addresses.
     */
    async has(email: string, limitKey: string, now: Date): Promise<boolean> {
      const records = await signInMark(db, {
        mark: markOf(email, limitKey),
        after: new Date(now.getTime() - signInPlaceRemembered),
      })
      return records.length > 0
    },
    async note(tx: Transaction, account: { id: string; email: string }, limitKey: string, now: Date): Promise<void> {
      const mark = markOf(account.email, limitKey)
      await tx.knownSignIn.upsert({
        where: { mark },
        create: { mark, accountId: account.id, lastAt: now },
        update: { accountId: account.id, lastAt: now },
      })
    },
  }
}
