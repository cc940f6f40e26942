import { randomBytes } from './encoding.ts'
import { SealingRefusal } from './sealing-refusal.ts'

/** Crockford's alphabet without I, L, O and U, which look like other characters. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** 130 random bits. */
const secretSigns = 26
/** A prime: every single wrong character and every swap of neighbours changes the remainder. */
const modulus = 1021

/** Two check characters that reveal typing errors. */
function checkOf(signs: string): string {
  const rest = [...signs].reduce((sum, sign) => (sum * 32 + alphabet.indexOf(sign)) % modulus, 0)
  return alphabet.charAt(rest >> 5) + alphabet.charAt(rest & 31)
}

/** Generates a code: seven groups of four characters. */
export function newCode(): string {
  const secret = [...randomBytes(secretSigns)].map((byte) => alphabet.charAt(byte & 31)).join('')
  return (secret + checkOf(secret)).replace(/(.{4})(?=.)/g, '$1-')
}

/** The secret characters of a typed code, ignoring case, spaces and hyphens. @throws SealingRefusal `mistyped_recovery_code` */
export function secretOf(code: string): string {
  const signs = code.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1')
  const secret = signs.slice(0, secretSigns)
  const isWhole = signs.length === secretSigns + 2 && [...signs].every((sign) => alphabet.includes(sign))
  if (!isWhole || checkOf(secret) !== signs.slice(secretSigns)) throw new SealingRefusal('mistyped_recovery_code')
  return secret
}
