import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { storageOfNetwork, storageOfOrganisation } from './repository.ts'
import { type StorageQuota, type StorageUsage, tierQuotas } from './rules.ts'

/** The subject of a quota: an organization, or the unclaimed agents of one network (keyed hash, hexadecimal). */
export interface StorageSubject {
  kind: 'organisation' | 'network'
  id: string
}
export interface Measured extends StorageUsage {
  quota: StorageQuota
  /** Whether an admin set the quota. */
  isOverride: boolean
}

/** Current storage and quota of a subject, from the counts that triggers maintain. */
export async function measureStorage(on: Queryable, { kind, id }: StorageSubject): Promise<Measured> {
  if (kind === 'network') {
    const [row] = await storageOfNetwork(on, { network: id })
    return { bytes: row?.bytes ?? 0, rows: row?.rows ?? 0, quota: tierQuotas.free, isOverride: false }
  }
  const [row] = await storageOfOrganisation(on, { organisation: id })
  const ofTier = tierQuotas[row?.tier ?? 'free']
  return {
    bytes: row?.bytes ?? 0,
    rows: row?.rows ?? 0,
    quota: { bytes: row?.quota_bytes ?? ofTier.bytes, rows: row?.quota_rows ?? ofTier.rows },
    isOverride: (row?.quota_bytes ?? row?.quota_rows ?? null) !== null,
  }
}
