import { createHash } from 'node:crypto'
import { Problem } from '#lib/kernel/problem.ts'
import { normaliseEmail } from './rules.ts'

/** Counts tries in windows of one minute. */
export interface Tries {
  consume(key: string, limit: number): Promise<{ allowed: boolean; resetAt: Date }>
}
/**
 * The windows of one minute that a sign-in counts in. The narrow one is the pair's, so that a stranger elsewhere cannot lock
 * somebody out; the account's own is wide, and bounds guesses that come from everywhere. An address is counted by its hash.
 */
export function signInWindows(email: string, address: string): { key: string; limit: number }[] {
  const who = createHash('sha256').update(normaliseEmail(email)).digest('base64url').slice(0, 22)
  return [
    { key: `sign-in:${address}`, limit: 20 },
    { key: `sign-in:${who}:${address}`, limit: 5 },
    { key: `sign-in:${who}`, limit: 30 },
  ]
}
/** Throws `rate_limited` with the time of the next try when any of the windows is full. */
export async function countTry(tries: Tries, windows: { key: string; limit: number }[], now: Date): Promise<void> {
  const counted = await Promise.all(windows.map(({ key, limit }) => tries.consume(key, limit)))
  const full = counted.filter(({ allowed }) => !allowed).map(({ resetAt }) => resetAt.getTime())
  if (full.length === 0) return
  const seconds = Math.max(1, Math.ceil((Math.max(...full) - now.getTime()) / 1000))
  throw new Problem('rate_limited', {
    detail: `Too many tries. Nothing was changed; try again in ${seconds} seconds.`,
    headers: { 'Retry-After': String(seconds) },
  })
}
