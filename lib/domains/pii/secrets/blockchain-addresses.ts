import { sha256 } from '@noble/hashes/sha2.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bech32, bech32m, createBase58check } from '@scure/base'
import { finding, lowConfidence, type SensitiveFinding } from '#lib/domains/pii/findings.ts'
import { isCalledKey } from './key-context.ts'

const checked = createBase58check(sha256)
const base58 = /^[1-9A-HJ-NP-Za-km-z]+$/
const hex = /^[0-9a-fA-F]+$/
/** The beginnings of the parameters of secp256k1 (SEC 2, 2.4.1), its endomorphism, and of P-256: no keys. */
const constants =
  /^(?:f{8}|0{8}|79be667ef9dcbbac|483ada7726a3c465|7ae96a2b657c0710|5363ad4cc05c30e0|3086d221a7d46bcd|e4437ed6010e8828|114ca50f7a8e2f3f|6b17d1f2e12c4247|4fe342e2fe1a7f9b|5ac635d8aa3a93e7)/i
const isConstant = (digits: string): boolean => constants.test(digits)
const ascii = new TextEncoder()

/** EIP-55: a mixed-case address encodes its checksum in the case; a single-case address has no checksum. */
function isEthereumAddress(digits: string): boolean {
  const lower = digits.toLowerCase()
  if (digits === lower || digits === digits.toUpperCase()) return true
  const hash = keccak_256(ascii.encode(lower))
  for (let at = 0; at < 40; at++) {
    const sign = digits.charAt(at)
    if (sign >= '0' && sign <= '9') continue
    const nibble = at % 2 === 0 ? (hash[at >> 1] ?? 0) >> 4 : (hash[at >> 1] ?? 0) & 15
    if (nibble >= 8 !== sign <= 'F') return false
  }
  return true
}

/** The bytes of a Base58Check text; undefined if its checksum is wrong. */
function base58Bytes(word: string): Uint8Array | undefined {
  if (!base58.test(word)) return undefined
  try {
    return checked.decode(word)
  } catch {
    // The library throws on a wrong checksum.
    return undefined
  }
}

/** BIP-173 and BIP-350: version 0 in Bech32, 1–16 in Bech32m. */
function isSegwit(word: string): boolean {
  const decoded = bech32.decodeUnsafe(word, 90) ?? bech32m.decodeUnsafe(word, 90)
  if (!decoded || !['bc', 'tb', 'bcrt'].includes(decoded.prefix)) return false
  const [version, ...rest] = decoded.words
  if (version === undefined || version > 16) return false
  const program = bech32.fromWordsUnsafe(rest)
  if (!program || program.length < 2 || program.length > 40) return false
  if (version === 0)
    return (program.length === 20 || program.length === 32) && bech32.decodeUnsafe(word, 90) !== undefined
  return bech32m.decodeUnsafe(word, 90) !== undefined
}

const addressVersions = new Set([0x00, 0x05, 0x6f, 0xc4])
/** BIP-32 and SLIP-132: prefixes of extended private keys. */
const extendedPrivate = /^[xyztuv]prv/i

/** Digits in the order of the keyboard, or one group repeated. */
const typedDigits = /^(?:1234567890|0123456789|abcdef){2}|^(.{1,4})\1{6}|^0{20}|0{20}$/i
/** Words before the fingerprint of an OpenPGP key, which has the form of an address. */
const ofFingerprint =
  /(?:keyserver\S{0,40}|(?:keyserver|gpg|pgp|apt[ _-]?key)[^\n]{0,60}(?:search|recv-keys?|fingerprint|fpr)\S{0,4}|fingerprint)[ :=]{0,3}(?:\S{0,40}=)?$|apt_key:\s{1,12}id: ?["']?$/i

/** Keys and addresses of Ethereum and Bitcoin in a word of at least 26 ASCII letters and digits. */
export function chainsIn(text: string, start: number, end: number): SensitiveFinding | undefined {
  const length = end - start
  const lead = text.charCodeAt(start)
  if (lead === 48 && (length === 42 || length === 66)) {
    const second = text.charAt(start + 1)
    const digits = text.slice(start + 2, end)
    if ((second !== 'x' && second !== 'X') || !hex.test(digits)) return undefined
    if (length === 42) {
      if (!isEthereumAddress(digits)) return undefined
      const found = finding('ethereum_address', start, end, 1)
      const isOther = typedDigits.test(digits) || ofFingerprint.test(text.slice(Math.max(0, start - 96), start))
      return isOther ? lowConfidence(found) : found
    }
    return !isConstant(digits) && isCalledKey(text, start, end) ? finding('private_key', start, end, 0.9) : undefined
  }
  if (length === 64 && hex.test(text.slice(start, end)))
    return !isConstant(text.slice(start, end)) && isCalledKey(text, start, end)
      ? finding('private_key', start, end, 0.85)
      : undefined
  if (length <= 35 && (lead === 49 || lead === 50 || lead === 51 || lead === 109 || lead === 110)) {
    const bytes = base58Bytes(text.slice(start, end))
    if (bytes?.length === 21 && addressVersions.has(bytes[0] ?? 0xff)) return finding('bitcoin_address', start, end, 1)
  }
  if (length === 51 || length === 52) {
    const bytes = base58Bytes(text.slice(start, end))
    const isOurs = bytes?.[0] === 0x80 || bytes?.[0] === 0xef
    if (isOurs && (bytes?.length === 33 || (bytes?.length === 34 && bytes[33] === 1)))
      return finding('private_key', start, end, 1)
  }
  if (length === 111 && extendedPrivate.test(text.slice(start, start + 4))) {
    const bytes = base58Bytes(text.slice(start, end))
    if (bytes?.length === 78) return finding('private_key', start, end, 1)
  }
  const hasPrefix = /^(?:bc1|tb1|bcrt1)/i.test(text.slice(start, start + 5))
  if (length <= 90 && hasPrefix && isSegwit(text.slice(start, end))) return finding('bitcoin_address', start, end, 1)
  return undefined
}
