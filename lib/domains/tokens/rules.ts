import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Actor } from '#lib/kernel/context.ts'
import { base62 } from '#lib/kernel/ids.ts'
import { type TierName, type TokenScope, tierLimits, tokenScopes } from './tier-rules.ts'

export { type TierLimits, type TierName, type TokenScope, tierLimits, tiers, tokenScopes } from './tier-rules.ts'

const secretLength = 43
const checkLength = 6
const form = new RegExp(`^kp_[0-9A-Za-z]{${secretLength + checkLength}}$`)
/** Number of characters of a key that are stored in clear text to identify it. */
const prefixLength = 11

const checksum = (text: string): string => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(text))
  return base62(bytes, checkLength)
}

/** Generates a raw key: `kp_`, 32 random bytes as 43 base62 characters, and a CRC-32 as 6 characters. It is shown once and never stored. */
export function makeKey(): string {
  const body = `kp_${base62(randomBytes(32), secretLength)}`
  return body + checksum(body)
}

/** Whether the text has a key's format and checksum. Needs no database, so scanners can detect leaked keys offline. */
export const isTokenKey = (text: string): boolean =>
  form.test(text) && checksum(text.slice(0, -checkLength)) === text.slice(-checkLength)

export const prefixOf = (key: string): string => key.slice(0, prefixLength)

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

/** Returns the scopes in canonical order without duplicates. */
export const tokenScopesInOrder = (wanted: readonly string[]): TokenScope[] =>
  tokenScopes.filter((scope) => wanted.includes(scope))

/**
 * Scopes that the actor may grant: all for an admin in a session, `read` and `write` for a person, its own for a token. A token never
 * grants `admin`.
 */
export function grantable(actor: Pick<Actor, 'kind' | 'isAdmin' | 'scopes'>): readonly TokenScope[] {
  if (actor.kind === 'person') return actor.isAdmin ? tokenScopes : ['read', 'write']
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
