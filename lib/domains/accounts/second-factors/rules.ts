export const factorKinds = ['passkey', 'totp'] as const

/** The most second factors of one account. */
export const mostFactors = 10
/** How many recovery codes a person gets at once. */
export const recoveryCodeCount = 10
/** For how many milliseconds a passkey challenge is valid. */
export const challengeLife = 5 * 60_000
/** Within how many milliseconds a new authenticator app must be confirmed with a code. */
export const confirmationLife = 15 * 60_000
/** After this many wrong codes in a row, codes are refused until {@link codeLock} has passed since the last one. */
export const mostWrongCodes = 10
/** In milliseconds. */
export const codeLock = 60 * 60_000
