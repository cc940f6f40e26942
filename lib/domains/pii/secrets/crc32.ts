const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1
  return value
})
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** CRC-32 (ISO-HDLC) of an ASCII text as six base62 characters: the checksum of GitHub's, npm's and our own tokens. */
export function crcInBase62(text: string): string {
  let crc = 0xffffffff
  for (let at = 0; at < text.length; at++) crc = (table[(crc ^ text.charCodeAt(at)) & 0xff] ?? 0) ^ (crc >>> 8)
  let rest = (crc ^ 0xffffffff) >>> 0
  let written = ''
  for (; rest > 0; rest = Math.floor(rest / 62)) written = (alphabet[rest % 62] ?? '') + written
  return written.padStart(6, '0')
}
