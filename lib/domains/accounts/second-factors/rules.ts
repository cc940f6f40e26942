import type { Role } from '#lib/domains/accounts/rules.ts'

export const factorKinds = ['passkey', 'totp'] as const

/** The most second factors of one account. */
export const maxFactors = 10
/** How many recovery codes a person gets at once. */
export const recoveryCodeCount = 10
/** For how many milliseconds a passkey challenge is valid. */
export const challengeLife = 5 * 60_000
/** Within how many milliseconds a new authenticator app must be confirmed with a code. */
export const confirmationLife = 15 * 60_000
/** After this many wrong codes in a row, codes are refused until {@link codeLock} has passed since the last one. */
export const maxWrongCodes = 10
/** In milliseconds. */
export const codeLock = 60 * 60_000

/** How a session was opened. `identity-one-factor`: the identity provider reported that it asked for one factor. */
export type SignInWay = 'password' | 'passkey' | 'identity' | 'identity-one-factor'

export const factorRequirements = ['nobody', 'admins', 'everybody'] as const
export type FactorRequirement = (typeof factorRequirements)[number]
/** Who must have a second factor, and since or from when. */
export interface FactorPolicy {
  required_of: FactorRequirement
  /** ISO 8601. Null if nobody must. */
  from: string | null
}
/** For how many days in advance a requirement can be set. */
export const maxDaysAhead = 365
/** For how many milliseconds a person gets no second reminder. */
export const reminderPause = 24 * 60 * 60_000
/** The most reminders of one call. */
export const maxReminders = 1_000

/** When the requirement applies to an account with this role; undefined if it does not. */
export function requiredFrom({ required_of: who, from }: FactorPolicy, role: Role): Date | undefined {
  if (from === null || who === 'nobody' || (who === 'admins' && role !== 'admin')) return undefined
  return new Date(from)
}

/** Whether the requirement already applies to an account with this role. */
export function isRequired(policy: FactorPolicy, role: Role, now: Date): boolean {
  const from = requiredFrom(policy, role)
  return from !== undefined && from <= now
}

/**
 * Whether a session has what a requirement demands. The identity provider decides about its sign-ins. Any other session needs a second
 * factor of the account, which a password sign-in has verified, or which was added since.
 */
export const hasSecondFactor = (session: { signed_in_with: SignInWay | null; has_factor: boolean }): boolean =>
  session.signed_in_with === 'identity' || (session.has_factor && session.signed_in_with !== 'identity-one-factor')
