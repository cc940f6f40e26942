import type { TierName } from '#lib/domains/tokens/rules.ts'

/** Limits of what is stored; null: none. */
export interface StorageQuota {
  bytes: number | null
  rows: number | null
}
export interface StorageUse {
  bytes: number
  rows: number
}

const mebibyte = 1024 ** 2
export const tierQuotas: Record<TierName, StorageQuota> = {
  free: { bytes: 100 * mebibyte, rows: 10_000 },
  pro: { bytes: 5 * 1024 * mebibyte, rows: 1_000_000 },
  enterprise: { bytes: null, rows: null },
}
/** From this share on, people are warned. */
export const warnFrom = 0.8
/** A measurement of this age is used again while this share of the quota is free: milliseconds, share. */
export const measuredFor = 5_000
export const ampleShare = 0.1

/** The larger share of the two that is used; 0 without a limit. */
export function shareUsed(use: StorageUse, quota: StorageQuota): number {
  const share = (used: number, limit: number | null) =>
    limit === null ? 0 : limit === 0 ? Number.POSITIVE_INFINITY : used / limit
  return Math.max(share(use.bytes, quota.bytes), share(use.rows, quota.rows))
}

/** Whether that much more is above a limit. An organization at its limit can still store what needs neither bytes nor rows. */
export const exceeds = (use: StorageUse, more: StorageUse, { bytes, rows }: StorageQuota): boolean =>
  (bytes !== null && more.bytes > 0 && use.bytes + more.bytes > bytes) ||
  (rows !== null && more.rows > 0 && use.rows + more.rows > rows)
