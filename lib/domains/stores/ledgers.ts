import type { ClientBase } from 'pg'
import type { Transaction } from '#lib/kernel/context.ts'
import { retireOtherLedgers, usedLedgers } from './repository.ts'

/** The erasure ledgers that were used and that no admin declared empty, by address hash. */
export const ledgerAddresses = (client: ClientBase): Promise<{ address: string; shown: string }[]> =>
  usedLedgers(client, {})

/** Records an operator's statement that every ledger except the one with this address hash is lost. */
export const retireLedgers = (client: ClientBase, own: string, now: Date): Promise<unknown> =>
  retireOtherLedgers(client, {
    own,
    now,
    by: 'system:admin.accept-loss',
    said: 'An operator declared the ledger lost.',
  })

/** When an admin last stated that a ledger is lost; null if never. A newer ledger contains nothing from before. */
export async function ledgerLostAt(tx: Transaction): Promise<Date | null> {
  const { _max: last } = await tx.knownStore.aggregate({ where: { port: 'ledger' }, _max: { retiredAt: true } })
  return last.retiredAt
}
