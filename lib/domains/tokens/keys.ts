import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { base62 } from '#lib/kernel/ids.ts'

const secretLength = 43
const checkLength = 6
const form = new RegExp(`^kp_[0-9A-Za-z]{${secretLength + checkLength}}$`)
/** Number of characters of a key that are stored in clear text to identify it. */
const prefixLength = 11

const checksum = (text: string): string => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(text))
  return base62(bytes, checkLength)
}

/** Generates a raw key: `kp_`, 32 random bytes as 43 base62 characters, and a CRC-32 as 6 characters. It is shown once and never stored. */
export function makeKey(): string {
  const body = `kp_${base62(randomBytes(32), secretLength)}`
  return body + checksum(body)
}

/** Whether the text has a key's format and checksum. Needs no database, so scanners can detect leaked keys offline. */
export const isTokenKey = (text: string): boolean =>
  form.test(text) && checksum(text.slice(0, -checkLength)) === text.slice(-checkLength)

export const prefixOf = (key: string): string => key.slice(0, prefixLength)
