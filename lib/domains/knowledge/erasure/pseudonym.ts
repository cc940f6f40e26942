import { createHmac } from 'node:crypto'
import type { AuthorPseudonym } from './suppression.ts'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const length = 12

/**
 * One-way pseudonyms for erased names in others' records: `erased-` and 12 base62 digits (71 bits) of an HMAC-SHA256. Equal names get equal
 * pseudonyms, so two traces of one agent stay linked. Without the key, names cannot be tested against them.
 */
export const authorPseudonyms =
  (key: () => Uint8Array): AuthorPseudonym =>
  (value) => {
    let rest = BigInt(`0x${createHmac('sha256', key()).update(value).digest('hex')}`)
    let text = ''
    for (let n = 0; n < length; n++) {
      text += digits[Number(rest % 62n)]
      rest /= 62n
    }
    return `erased-${text}`
  }
