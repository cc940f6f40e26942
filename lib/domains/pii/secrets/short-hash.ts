/**
 * FIPS 180-4: the first 32 bits of the fractional parts of roots of the first primes: square roots for the initial state, cube roots for
 * the round constants.
 */
function fractions(count: number, root: (prime: number) => number): Int32Array {
  const found: number[] = []
  for (let candidate = 2; found.length < count; candidate++)
    if (found.every((prime) => candidate % prime !== 0)) found.push(candidate)
  return Int32Array.from(found, (prime) => Math.floor((root(prime) % 1) * 2 ** 32) | 0)
}
const start = fractions(8, Math.sqrt)
const added = fractions(64, Math.cbrt)
/** Longest message, in 32-bit words, that fits into one block with its length. */
export const mostHashed = 13

const schedule = new Int32Array(64)
const rotated = (value: number, by: number): number => (value >>> by) | (value << (32 - by))
const of = (words: Int32Array, at: number): number => words[at] ?? 0

/**
 * Returns the first byte of the SHA-256 of the first `length` 32-bit words, at most {@link mostHashed}. The scanner tries a phrase at every
 * word, so hashing dominates the cost of adversarial texts: this uses one block and allocates nothing.
 */
export function firstHashByte(words: Int32Array, length: number): number {
  const message = schedule.fill(0, 0, 16)
  for (let at = 0; at < length; at++) message[at] = of(words, at)
  message[length] = 1 << 31
  message[15] = length * 32
  for (let at = 16; at < 64; at++) {
    const early = of(message, at - 15)
    const late = of(message, at - 2)
    const small = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3)
    const large = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10)
    message[at] = (of(message, at - 16) + small + of(message, at - 7) + large) | 0
  }
  let a = of(start, 0)
  let b = of(start, 1)
  let c = of(start, 2)
  let d = of(start, 3)
  let e = of(start, 4)
  let f = of(start, 5)
  let g = of(start, 6)
  let h = of(start, 7)
  for (let at = 0; at < 64; at++) {
    const upper = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const first = (h + upper + ((e & f) ^ (~e & g)) + of(added, at) + of(message, at)) | 0
    const lower = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
    const second = (lower + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  return (a + of(start, 0)) >>> 24
}
