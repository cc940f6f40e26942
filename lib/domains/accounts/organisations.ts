import type { Transaction } from '#lib/kernel/context.ts'

export interface StorageQuotaOverride {
  bytes: number | null
  rows: number | null
}

/** Queries and changes of organisations for other domains, within their transaction, or with `db.prisma` outside of one. */
export const organisationDirectory = {
  exists: async (tx: Transaction, id: string): Promise<boolean> => (await tx.organisation.count({ where: { id } })) > 0,

  /** Ids of the organisations that have people, in order, after `after`. */
  async withPeople(tx: Transaction, after: string, limit: number): Promise<string[]> {
    const rows = await tx.$queryRaw<{ id: string }[]>`
      SELECT id FROM organisations o WHERE id > ${after} AND EXISTS (SELECT FROM accounts a WHERE a.organisation_id = o.id)
      ORDER BY id LIMIT ${limit}::int`
    return rows.map(({ id }) => id)
  },

  /** Number of organisations with one of these names that have neither people nor agents. */
  async countEmptyNamed(tx: Transaction, names: readonly string[]): Promise<number> {
    const [row] = await tx.$queryRaw<{ n: number }[]>`
      SELECT count(*)::int AS n FROM organisations o WHERE o.name = ANY(${[...names]}::text[])
        AND NOT EXISTS (SELECT FROM agent_names a WHERE a.organisation_id = o.id)
        AND NOT EXISTS (SELECT FROM accounts p WHERE p.organisation_id = o.id)`
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
