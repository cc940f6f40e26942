// Separate from rules.ts, which uses hashes that are unavailable in browsers.

export const tokenScopes = ['read', 'write', 'admin'] as const
export type TokenScope = (typeof tokenScopes)[number]
export const tiers = ['free', 'pro', 'enterprise'] as const
export type TierName = (typeof tiers)[number]

/** Limits of a tier: reads and writes per minute, `batch` in units, `unitBytes` in bytes, `tokens` active at the same time. */
export interface TierLimits {
  reads: number
  writes: number
  batch: number
  unitBytes: number
  exportsPerDay: number | null
  tokens: number
}
export const tierLimits: Record<TierName | 'anonymous', TierLimits> = {
  anonymous: { reads: 60, writes: 0, batch: 0, unitBytes: 0, exportsPerDay: 0, tokens: 0 },
  free: { reads: 300, writes: 30, batch: 10, unitBytes: 256 * 1024, exportsPerDay: 10, tokens: 5 },
  pro: { reads: 1_000, writes: 200, batch: 100, unitBytes: 1024 * 1024, exportsPerDay: 100, tokens: 20 },
  enterprise: {
    reads: 10_000,
    writes: 2_000,
    batch: 1_000,
    unitBytes: 4 * 1024 * 1024,
    exportsPerDay: null,
    tokens: 100,
  },
}
