import type { Transaction } from '#lib/kernel/context.ts'
import { countEmptyNamed, deleteIfEmpty, organisationsWithPeople } from './repository.ts'

export interface StorageQuotaOverride {
  bytes: number | null
  rows: number | null
}

/** Deletes an organization without people and agents. */
export const dropOrganisationIfEmpty = (tx: Transaction, id: string): Promise<unknown> => deleteIfEmpty(tx, { id })

/** Queries and changes of organizations for other domains, within their transaction, or with `db.prisma` outside of one. */
export const organisationDirectory = {
  exists: async (tx: Transaction, id: string): Promise<boolean> => (await tx.organisation.count({ where: { id } })) > 0,

  /** Ids of the organizations that have people, in order, after `after`. */
  async withPeople(tx: Transaction, after: string, limit: number): Promise<string[]> {
    const rows = await organisationsWithPeople(tx, { after, limit })
    return rows.map(({ id }) => id)
  },

  /** Number of organizations with one of these names that have neither people nor agents. */
  async countEmptyNamed(tx: Transaction, names: readonly string[]): Promise<number> {
    const [row] = await countEmptyNamed(tx, { names })
    return row?.n ?? 0
  },

  /** Sets the quota that replaces the quota of the tier; null restores it. */
  setStorageQuota: (tx: Transaction, id: string, { bytes, rows }: StorageQuotaOverride): Promise<unknown> =>
    tx.organisation.update({ where: { id }, data: { quotaBytes: bytes, quotaRows: rows } }),

  /** Records since when the storage is nearly full; null when it no longer is. Returns true when that changed. */
  async noteStorageWarning(tx: Transaction, id: string, since: Date | null): Promise<boolean> {
    const { count } = await tx.organisation.updateMany({
      where: { id, storageWarnedAt: since === null ? { not: null } : null },
      data: { storageWarnedAt: since },
    })
    return count > 0
  },
}
