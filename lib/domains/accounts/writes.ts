import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type AccountNotice, noticeJob } from './notices.ts'
import { deleteIfEmpty } from './repository.ts'

/** Enqueues a notice, which is sent only if the transaction commits. */
export const enqueueNotice = (tx: Transaction, notice: AccountNotice): Promise<void> =>
  enqueue(tx, noticeJob, notice, { maxAttempts: 12 })

/** Creates an organization and returns its id. */
export async function createOrganisation(tx: Transaction, name: string, now: Date): Promise<string> {
  const { id } = await tx.organisation.create({ data: { id: newId('org'), name, createdAt: now } })
  return id
}

/** Deletes an organization without people and agents. */
export const dropOrganisationIfEmpty = (tx: Transaction, id: string): Promise<unknown> => deleteIfEmpty(tx, { id })

/** Sets the quota that replaces the quota of the tier; null restores it. */
export const setStorageQuota = (
  tx: Transaction,
  id: string,
  { bytes, rows }: { bytes: number | null; rows: number | null },
): Promise<unknown> => tx.organisation.update({ where: { id }, data: { quotaBytes: bytes, quotaRows: rows } })

/** Records since when the storage is nearly full; null when it no longer is. Returns true when that changed. */
export async function noteStorageWarning(tx: Transaction, id: string, since: Date | null): Promise<boolean> {
  const { count } = await tx.organisation.updateMany({
    where: { id, storageWarnedAt: since === null ? { not: null } : null },
    data: { storageWarnedAt: since },
  })
  return count > 0
}
