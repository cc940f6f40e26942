import { randomBytes, randomInt } from 'node:crypto'
import { hash, verify } from '@node-rs/argon2'
import { normalisePassword } from './rules.ts'

/** Argon2id (RFC 9106) with 19 MiB, two passes and one lane, a configuration recommended by OWASP. */
const parameters = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** Returns the password's hash in PHC format. */
export const hashPassword = (password: string): Promise<string> => hash(normalisePassword(password), parameters)

let decoy: Promise<string> | undefined

/**
 * Returns true when the password matches the hash. Without a hash it verifies against a random one, so that the
 * response time does not reveal whether an account exists.
 */
export async function isPassword(passwordHash: string | null | undefined, password: string): Promise<boolean> {
  decoy ??= hashPassword(randomBytes(32).toString('base64'))
  const stored = passwordHash ?? (await decoy)
  const isRight = await verify(stored, normalisePassword(password))
  return isRight && typeof passwordHash === 'string'
}

const unmistakable = 'abcdefghijkmnpqrstuvwxyz23456789'

/** Four groups of five characters from 32 unambiguous ones: 100 random bits that are easy to type. */
export const oneTimePassword = (): string =>
  Array.from({ length: 4 }, () =>
    Array.from({ length: 5 }, () => unmistakable.charAt(randomInt(unmistakable.length))).join(''),
  ).join('-')
