import type { ClientBase } from 'pg'
import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import { settingNamed, storeSetting } from './repository.ts'

/** The row that identifies the installation's erasure ledger, so that another one, or none, is not mistaken for it. */
const recordName = 'erasure_ledger'
const LedgerRecord = z.object({ id: z.string() })

/** The id of the ledger of this database. Undefined before the first start. */
export async function recordedLedger(client: ClientBase): Promise<string | undefined> {
  const [row] = await settingNamed(client, { name: recordName })
  return row && LedgerRecord.parse(row.value).id
}

export const recordLedger = (client: ClientBase, id: string, now: Date): Promise<unknown> =>
  storeSetting(client, { name: recordName, value: { id }, now, by: 'system:ledger' })

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
