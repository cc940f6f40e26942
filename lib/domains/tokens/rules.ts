import type { Actor } from '#lib/kernel/context.ts'

/** How long the old key keeps working after a rotation, in milliseconds. */
export const overlaps = {
  '0s': 0,
  '1m': 60_000,
  '15m': 900_000,
  '1h': 3_600_000,
  '6h': 21_600_000,
  '24h': 86_400_000,
} as const
export type Overlap = keyof typeof overlaps

/** Milliseconds within which the third 429 for a limit key revokes the tokens that share it. */
export const refusalWindow = 3_600_000
export const refusalsToRevoke = 3

/** Milliseconds after creation during which an ended token still counts towards its agent's limit; equals the rate limit window. */
export const endedTokenCounted = 60_000

/** Start of the revocation window. The window is half-open: a refusal exactly one hour ago does not count. */
export const countsSince = (now: Date): Date => new Date(now.getTime() - refusalWindow)

export const tokenScopes = ['read', 'write', 'privacy', 'admin'] as const
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

/** Returns the scopes in canonical order without duplicates. */
export const tokenScopesInOrder = (wanted: readonly string[]): TokenScope[] =>
  tokenScopes.filter((scope) => wanted.includes(scope))

const personal: readonly TokenScope[] = ['read', 'write', 'privacy']

/**
 * Scopes that the actor may grant: all for an admin in a session, all except `admin` for a person, its own for a token. A token never grants
 * `admin`. The scope `privacy` reaches only projects that the owner of the agent owns.
 */
export function grantable(actor: Pick<Actor, 'kind' | 'isAdmin' | 'scopes'>): readonly TokenScope[] {
  if (actor.kind === 'person') return actor.isAdmin ? tokenScopes : personal
  if (actor.kind !== 'agent') return []
  return actor.isAdmin ? ['read', 'write'] : tokenScopesInOrder(actor.scopes.filter((scope) => scope !== 'admin'))
}

/** Maximum and default lifetime of a token with scope `admin`, in milliseconds. */
export const adminTokenLife = 90 * 86_400_000

/** Whether the expiry `wanted` is later than `own`; null means no expiry. */
export const outlives = (wanted: Date | null, own: Date | null): boolean =>
  own !== null && (wanted === null || wanted > own)

/**
 * Whether an agent with this many active tokens may rotate one. Without overlap the number does not change; with overlap the agent may
 * exceed its tier's limit by one token until the overlap ends.
 */
export const mayRotate = (inUse: number, tier: TierName, overlap: number): boolean =>
  overlap === 0 || inUse <= tierLimits[tier].tokens

/** When the old key stops working: at the end of the overlap, or at its own earlier expiry. */
export function overlapEnd(expiresAt: Date | null, overlap: number, now: Date): Date {
  const end = new Date(now.getTime() + overlap)
  return expiresAt && expiresAt < end ? expiresAt : end
}

const day = 86_400_000
/** Retention of refusals and of ended tokens, in milliseconds. */
export const refusalRetention = 7 * day
export const endedTokenRetention = 90 * day

interface TokenLife {
  expiresAt: Date | null
  revokedAt: Date | null
  revokedReason: string | null
}
export const tokenStates = ['active', 'rotated', 'expired', 'revoked'] as const
export type TokenState = (typeof tokenStates)[number]
/** `rotated` means replaced but still valid until the overlap ends; its reason is `rotation` and it is not revoked. */
export function tokenStateOf({ expiresAt, revokedAt, revokedReason }: TokenLife, now: Date): TokenState {
  if (revokedAt) return 'revoked'
  if (expiresAt && expiresAt <= now) return 'expired'
  return revokedReason === 'rotation' ? 'rotated' : 'active'
}
/** Whether a token in this state is valid, so that it can be revoked. */
export const isValidState = (state: TokenState): boolean => state === 'active' || state === 'rotated'

/** Request counts: admitted reads and writes, and requests refused by the rate limit. */
export interface Use {
  reads: number
  writes: number
  refused: number
}
export interface UsePoint extends Use {
  /** Start of the hour or day (UTC). */
  at: Date
}

const hour = 3_600_000
/** Retention of usage counts, in milliseconds. */
export const usageRetention = 90 * day

const floored = (at: Date, step: number): Date => new Date(Math.floor(at.getTime() / step) * step)
export const hourOf = (at: Date): Date => floored(at, hour)

/** Number of points in a usage view and the length of each in milliseconds; the last point is the current hour or day. */
export const usePeriods = {
  '24h': { points: 24, step: hour },
  '7d': { points: 168, step: hour },
  '30d': { points: 30, step: day },
  '90d': { points: 90, step: day },
} as const
type UsePeriod = keyof typeof usePeriods
export const usePeriodNames = ['24h', '7d', '30d', '90d'] as const satisfies readonly UsePeriod[]

/** Start of the period's first point. */
export function startOf(period: UsePeriod, now: Date): Date {
  const { points, step } = usePeriods[period]
  return new Date(floored(now, step).getTime() - (points - 1) * step)
}

/** Returns one point per hour or day of the period, oldest first, including those without usage. */
export function usagePointsOf(period: UsePeriod, rows: readonly UsePoint[], now: Date): UsePoint[] {
  const { points, step } = usePeriods[period]
  const start = startOf(period, now).getTime()
  const made = Array.from({ length: points }, (_, n) => ({
    at: new Date(start + n * step),
    reads: 0,
    writes: 0,
    refused: 0,
  }))
  for (const { at, ...use } of rows) {
    const point = made[Math.floor((at.getTime() - start) / step)]
    if (!point) continue
    point.reads += use.reads
    point.writes += use.writes
    point.refused += use.refused
  }
  return made
}

export const sumOf = (points: readonly Use[]): Use =>
  points.reduce<Use>(
    (sum, { reads, writes, refused }) => ({
      reads: sum.reads + reads,
      writes: sum.writes + writes,
      refused: sum.refused + refused,
    }),
    { reads: 0, writes: 0, refused: 0 },
  )
