import type { TierName } from '#lib/domains/tokens/rules.ts'
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

const sumOf = (
  agents: string,
  projects: string,
) => `SELECT coalesce(sum(c.bytes), 0)::float8 AS bytes, coalesce(sum(c.rows), 0)::float8 AS rows FROM (
    SELECT bytes, rows FROM storage_counts WHERE agent_id IN (${agents})
    UNION ALL SELECT bytes, rows FROM storage_counts WHERE project_id IN (${projects})) AS c`
const ofNetwork = "FROM agent_states WHERE network = decode($1, 'hex') AND owner_id IS NULL AND tier = 'free'"

const selectNetwork = sumOf(
  `SELECT id ${ofNetwork}`,
  `SELECT id FROM project_organisations WHERE organisation_id IN (SELECT organisation_id ${ofNetwork})`,
)
const selectOrganisation = `SELECT u.bytes, u.rows, o.quota_bytes::float8, o.quota_rows::float8,
    (SELECT max(tier)::text FROM agent_states WHERE organisation_id = $1) AS tier
  FROM (${sumOf('SELECT id FROM agent_states WHERE organisation_id = $1', 'SELECT id FROM project_organisations WHERE organisation_id = $1')}) AS u
  LEFT JOIN organisation_quotas o ON o.id = $1`

interface OrganisationRow extends StorageUsage {
  quota_bytes: number | null
  quota_rows: number | null
  tier: TierName | null
}

/** Queries the database, within a transaction or outside. */
export type StorageQuery = <R extends Record<string, unknown>>(
  name: string,
  text: string,
  values: readonly unknown[],
) => Promise<R[]>

/** Current storage and quota of a subject, from the counts that triggers maintain. */
export async function measureStorage(ask: StorageQuery, { kind, id }: StorageSubject): Promise<Measured> {
  if (kind === 'network') {
    const [row] = await ask<StorageUsage & Record<string, unknown>>('storage-of-network', selectNetwork, [id])
    return { bytes: row?.bytes ?? 0, rows: row?.rows ?? 0, quota: tierQuotas.free, isOverride: false }
  }
  const [row] = await ask<OrganisationRow & Record<string, unknown>>('storage-of-organisation', selectOrganisation, [
    id,
  ])
  const ofTier = tierQuotas[row?.tier ?? 'free']
  return {
    bytes: row?.bytes ?? 0,
    rows: row?.rows ?? 0,
    quota: { bytes: row?.quota_bytes ?? ofTier.bytes, rows: row?.quota_rows ?? ofTier.rows },
    isOverride: (row?.quota_bytes ?? row?.quota_rows ?? null) !== null,
  }
}
