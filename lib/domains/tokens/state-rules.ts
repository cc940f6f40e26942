// Separate from rules.ts, which uses hashes that are unavailable in browsers.

export interface TokenLife {
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
