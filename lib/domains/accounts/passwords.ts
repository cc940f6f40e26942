import { randomBytes, randomInt } from 'node:crypto'
import { hash, verify } from '@node-rs/argon2'
import { normalisePassword, type PasswordFault } from './rules.ts'

/** Argon2id (RFC 9106): 19 MiB, two passes, one lane: OWASP's first choice for a server that also does other work. */
const parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** The password's hash in PHC form. */
export const hashPassword = (password: string): Promise<string> => hash(normalisePassword(password), parameters)

/** In words, for who is refused. */
export const faultWords: Record<PasswordFault, string> = {
  is_email: 'is your e-mail address',
  is_current: 'is the password you have now',
  repetitive: 'repeats the same few characters',
}

let decoy: Promise<string> | undefined

/**
 * Whether the password belongs to the hash. Without one, an equally costly check of a password that nobody has is made, so that
 * the time of the answer does not tell whether there is an account.
 */
export async function isPassword(passwordHash: string | null | undefined, password: string): Promise<boolean> {
  decoy ??= hashPassword(randomBytes(32).toString('base64'))
  const stored = passwordHash ?? (await decoy)
  const isRight = await verify(stored, normalisePassword(password))
  return isRight && typeof passwordHash === 'string'
}

const unmistakable = 'abcdefghijkmnpqrstuvwxyz23456789'

/** Four groups of five characters out of 32 that nobody confuses: 100 random bits, and easy to type. */
export const oneTimePassword = (): string =>
  Array.from({ length: 4 }, () =>
    Array.from({ length: 5 }, () => unmistakable.charAt(randomInt(unmistakable.length))).join(''),
  ).join('-')
