import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Actor } from '#lib/kernel/context.ts'
import { base62 } from '#lib/kernel/ids.ts'
import { type Scope, scopes, type TierName, tierLimits } from './tier-rules.ts'

export { type Scope, scopes, type TierLimits, type TierName, tierLimits, tiers } from './tier-rules.ts'

const secretLength = 43
const checkLength = 6
const form = new RegExp(`^kp_[0-9A-Za-z]{${secretLength + checkLength}}$`)
/** How much of a key is kept readable, to recognise it by. */
const prefixLength = 11

const checksum = (text: string): string => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(text))
  return base62(bytes, checkLength)
}

/** A new raw key: `kp_`, 32 random bytes as 43 base62 characters, 6 of CRC-32. Shown once and kept nowhere. */
export function makeKey(): string {
  const body = `kp_${base62(randomBytes(32), secretLength)}`
  return body + checksum(body)
}

/** Whether the text has a key's form and checksum; needs no database, so a scanner finds a leaked one offline. */
export const isKey = (text: string): boolean =>
  form.test(text) && checksum(text.slice(0, -checkLength)) === text.slice(-checkLength)

export const prefixOf = (key: string): string => key.slice(0, prefixLength)

/** Overlaps that a rotation offers, in milliseconds: how long the old key still works. */
export const overlaps = {
  '0s': 0,
  '1m': 60_000,
  '15m': 900_000,
  '1h': 3_600_000,
  '6h': 21_600_000,
  '24h': 86_400_000,
} as const
export type Overlap = keyof typeof overlaps

/** The third 429 within this window, by one limit key, revokes the tokens that have it. */
export const refusalWindow = 3_600_000
export const refusalsToRevoke = 3

/** Milliseconds after it was made for which a token counts against its agent's number though it ended: the limiter's window. */
export const counted = 60_000

/** Whether a refusal at that time still counts towards the revocation: the window is half open, an hour ago is out. */
export const countsSince = (now: Date): Date => new Date(now.getTime() - refusalWindow)

/** The scopes in their fixed order, each once. */
export const inOrder = (wanted: readonly string[]): Scope[] => scopes.filter((scope) => wanted.includes(scope))

/** What an actor may put on a token: an admin in a session everything, a person `read` and `write`, a token what it has. No token gives `admin`. */
export function grantable(actor: Pick<Actor, 'kind' | 'isAdmin' | 'scopes'>): readonly Scope[] {
  if (actor.kind === 'person') return actor.isAdmin ? scopes : ['read', 'write']
  if (actor.kind !== 'agent') return []
  return actor.isAdmin ? ['read', 'write'] : inOrder(actor.scopes.filter((scope) => scope !== 'admin'))
}

/** Longest life of a token with scope `admin`, and its life unless it is given; milliseconds. */
export const adminTokenLife = 90 * 86_400_000

/** Whether a life up to `wanted` goes beyond one up to `own`; null has no end. */
export const outlives = (wanted: Date | null, own: Date | null): boolean =>
  own !== null && (wanted === null || wanted > own)

export interface TokenLife {
  expiresAt: Date | null
  revokedAt: Date | null
  revokedReason: string | null
}
export const tokenStates = ['active', 'rotated', 'expired', 'revoked'] as const
/** rotated: replaced, and good until its overlap ends. Its reason is `rotation` while it is not revoked. */
export function stateOf({ expiresAt, revokedAt, revokedReason }: TokenLife, now: Date): (typeof tokenStates)[number] {
  if (revokedAt) return 'revoked'
  if (expiresAt && expiresAt <= now) return 'expired'
  return revokedReason === 'rotation' ? 'rotated' : 'active'
}

/** {@link stateOf} as a condition of SQL on `tokens`; `now` is SQL for the present. */
export const inState = (state: (typeof tokenStates)[number], now: string): string => {
  const works = `revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})`
  switch (state) {
    case 'revoked':
      return 'revoked_at IS NOT NULL'
    case 'expired':
      return `revoked_at IS NULL AND expires_at <= ${now}`
    case 'rotated':
      return `${works} AND revoked_reason = 'rotation'`
    case 'active':
      return `${works} AND revoked_reason IS DISTINCT FROM 'rotation'`
  }
}

/**
 * Whether an agent with so many tokens in use may rotate one. Without overlap their number stays; with one it may be one over the
 * tier's for as long as that lasts, and never two.
 */
export const mayRotate = (inUse: number, tier: TierName, overlap: number): boolean =>
  overlap === 0 || inUse <= tierLimits[tier].tokens

/** When the old key stops working: at the end of the overlap, or when it would have ended anyway. */
export function overlapEnd(expiresAt: Date | null, overlap: number, now: Date): Date {
  const end = new Date(now.getTime() + overlap)
  return expiresAt && expiresAt < end ? expiresAt : end
}

const day = 86_400_000
/** Milliseconds that evidence of refusals, and tokens that ended, are kept. */
export const refusalsKept = 7 * day
export const endedTokensKept = 90 * day
