import type { ClientBase } from 'pg'
import type { Transaction } from '#lib/kernel/context.ts'
import { usedLedgers } from './repository.ts'

/** Address hashes of the erasure ledgers that were used and that no admin declared empty. */
export async function ledgerAddresses(client: ClientBase): Promise<string[]> {
  const rows = await usedLedgers(client, {})
  return rows.map(({ address }) => address)
}

/** When an admin last stated that a ledger is lost; null if never. A newer ledger contains nothing from before. */
export async function ledgerLostAt(tx: Transaction): Promise<Date | null> {
  const { _max: last } = await tx.knownStore.aggregate({ where: { port: 'ledger' }, _max: { retiredAt: true } })
  return last.retiredAt
}
