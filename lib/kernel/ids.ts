import { createHash, randomBytes } from 'node:crypto'
import { v7 } from 'uuid'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Big-endian bytes as base62, padded to `width` characters. */
export function base62(bytes: Uint8Array, width: number): string {
  let rest = BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`)
  let text = ''
  while (rest > 0n) {
    text = alphabet[Number(rest % 62n)] + text
    rest /= 62n
  }
  return text.padStart(width, '0')
}

/** `<prefix>_` and 128 random bits in base62 (22 characters). The id cannot be guessed and reveals nothing. */
export const newId = (prefix: string): string => `${prefix}_${base62(randomBytes(16), 22)}`

/** A time-ordered UUID (RFC 9562, version 7). */
export const newUuid = (): string => v7()

/** Milliseconds from the start of the Gregorian calendar (1582-10-15), which UUIDs of the versions 1 and 6 count from, to 1970. */
const gregorian = 12_219_292_800_000
/** When a UUID of version 1, 6 or 7 (RFC 9562) was made; undefined for other texts. */
export function timeOfUuid(text: string): Date | undefined {
  const [, high = '', mid = '', version, rest = ''] =
    /^([0-9a-f]{8})-([0-9a-f]{4})-([167])([0-9a-f]{3})-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i.exec(text) ?? []
  if (version === undefined) return undefined
  if (version === '7') return new Date(Number.parseInt(high + mid, 16))
  const ticks = BigInt(`0x${version === '6' ? high + mid + rest : rest + mid + high}`)
  return new Date(Number(ticks / 10_000n) - gregorian)
}

/**
 * Time-ordered UUIDs (RFC 9562, version 7) for the rows of one statement. `text` is the SQL that builds one, `value` the value of its
 * placeholder. Rows of one statement are adjacent in the index.
 */
export const uuidsInSql = {
  text: (placeholder: string): string => `(${placeholder}::text || substr(gen_random_uuid()::text, 16))`,
  value: (): string => v7().slice(0, 15),
}

/**
 * 3 to 64 characters. The only colons are those of the prefix `kp:agent:`, which ids of the open-source registry have: `user:<id>`,
 * `system:<job>` and ids of units use colons too.
 */
export const agentIdForm = /^(?=.{3,64}$)(?:kp:agent:)?[A-Za-z0-9][A-Za-z0-9_.-]*$/

/** The SHA-256 hash stored in place of a secret code. Codes have at least 100 random bits, so they need no salt or key stretching. */
export const hashOf = (code: string): Buffer<ArrayBuffer> => createHash('sha256').update(code).digest()
