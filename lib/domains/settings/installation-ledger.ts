import type { ClientBase } from 'pg'
import { z } from 'zod'
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
