import type { TierName } from '#lib/domains/tokens/rules.ts'

/** Storage limits. Null: unlimited. */
export interface StorageQuota {
  bytes: number | null
  rows: number | null
}
export interface StorageUsage {
  bytes: number
  rows: number
}

const mebibyte = 1024 ** 2
export const tierQuotas: Record<TierName, StorageQuota> = {
  free: { bytes: 100 * mebibyte, rows: 10_000 },
  pro: { bytes: 5 * 1024 * mebibyte, rows: 1_000_000 },
  enterprise: { bytes: null, rows: null },
}
/** The used share from which people are warned. */
export const warnFrom = 0.8
/** A measurement is reused for this long (milliseconds), while at least this share of the quota is free. */
export const measuredFor = 5_000
export const ampleShare = 0.1

/** The larger used share of bytes and rows. 0 without a limit. */
export function shareUsed(use: StorageUsage, quota: StorageQuota): number {
  const share = (used: number, limit: number | null) =>
    limit === null ? 0 : limit === 0 ? Number.POSITIVE_INFINITY : used / limit
  return Math.max(share(use.bytes, quota.bytes), share(use.rows, quota.rows))
}

/** Whether `more` exceeds a limit. At the limit, writes without additional bytes or rows are still allowed. */
export const exceeds = (use: StorageUsage, more: StorageUsage, { bytes, rows }: StorageQuota): boolean =>
  (bytes !== null && more.bytes > 0 && use.bytes + more.bytes > bytes) ||
  (rows !== null && more.rows > 0 && use.rows + more.rows > rows)
