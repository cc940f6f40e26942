import { createHmac } from 'node:crypto'
import type { PseudonymOf } from './suppression.ts'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const length = 12

/**
 * One-way pseudonyms for names of the erased in others' records: `erased-` and 12 digits of base 62 (71 bits) of an HMAC-SHA256. The same
 * name has the same, so that two traces of one agent stay one; who lacks the key learns nothing by trying names.
 */
export const pseudonyms =
  (key: () => Uint8Array): PseudonymOf =>
  (value) => {
    let rest = BigInt(`0x${createHmac('sha256', key()).update(value).digest('hex')}`)
    let text = ''
    for (let n = 0; n < length; n++) {
      text += digits[Number(rest % 62n)]
      rest /= 62n
    }
    return `erased-${text}`
  }
