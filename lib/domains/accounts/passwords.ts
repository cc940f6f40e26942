import { createHash, randomBytes, randomInt } from 'node:crypto'
import { hash, verify } from '@node-rs/argon2'
import { widerWindow } from '#lib/kernel/network-keys.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { normaliseEmail, normalisePassword } from './rules.ts'

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

/** Counts attempts in windows of one minute of system time, not of the business clock. */
export interface Tries {
  consume(key: string, limit: number): Promise<{ allowed: boolean; resetAt: Date }>
}
export interface TryWindow {
  key: string
  limit: number
}
/**
 * Returns the one-minute windows that count a sign-in; an address is counted by its hash. `limitKey` is the caller's
 * network.
 * `near`: the windows of the network, and of the network with this account. `everywhere`: the account's window, which
 * limits guesses from many networks. Only attempts that the near windows allow count in it, so a single network cannot
 * fill it.
 */
export function signInWindows(email: string, limitKey: string): { near: TryWindow[]; everywhere: TryWindow } {
  const who = createHash('sha256').update(normaliseEmail(email)).digest('base64url').slice(0, 22)
  return {
    near: [
      { key: `sign-in:${limitKey}`, limit: 20 },
      { key: `sign-in:${who}:${limitKey}`, limit: 5 },
    ],
    everywhere: { key: `sign-in:${who}`, limit: 30 },
  }
}
/** Counts an attempt, also in the windows of the /48 networks. Returns the problem `rate_limited` with the time of the next attempt when a window is full. */
export async function refusalOfTry(tries: Tries, windows: readonly TryWindow[]): Promise<Problem | undefined> {
  const counted = await Promise.all(
    [...windows, ...windows.flatMap((window) => widerWindow(window) ?? [])].map(({ key, limit }) =>
      tries.consume(key, limit),
    ),
  )
  const full = counted.filter(({ allowed }) => !allowed).map(({ resetAt }) => resetAt.getTime())
  if (full.length === 0) return undefined
  const left = Math.ceil((Math.max(...full) - Date.now()) / 1000)
  const seconds = Math.min(60, Math.max(1, left)) // also if the clocks of two machines differ
  return new Problem('rate_limited', {
    detail: `Too many attempts. Nothing was changed. Try again in ${seconds} seconds.`,
    headers: { 'Retry-After': String(seconds) },
  })
}
/** Like {@link refusalOfTry}, but throws the problem. */
export async function countTry(tries: Tries, windows: readonly TryWindow[]): Promise<void> {
  const refusal = await refusalOfTry(tries, windows)
  if (refusal) throw refusal
}
