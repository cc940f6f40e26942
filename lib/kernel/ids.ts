import { randomBytes } from 'node:crypto'
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
