import { randomBytes } from './encoding.ts'
import { SealingRefusal } from './sealing-refusal.ts'

/** Crockford's: no I, L, O, U, which are taken for others. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** 130 random bits. */
const secretSigns = 26
/** A prime: any one sign that differs, and any two neighbours that changed places, give another remainder. */
const modulus = 1021

/** Two signs that say whether the others hold a slip. */
function checkOf(signs: string): string {
  const rest = [...signs].reduce((sum, sign) => (sum * 32 + alphabet.indexOf(sign)) % modulus, 0)
  return alphabet.charAt(rest >> 5) + alphabet.charAt(rest & 31)
}

/** A new one: seven groups of four signs. */
export function newCode(): string {
  const secret = [...randomBytes(secretSigns)].map((byte) => alphabet.charAt(byte & 31)).join('')
  return (secret + checkOf(secret)).replace(/(.{4})(?=.)/g, '$1-')
}

/** The signs that the secret is made of, however the code was typed; throws `mistyped_recovery_code`. */
export function secretOf(code: string): string {
  const signs = code.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1')
  const secret = signs.slice(0, secretSigns)
  const isWhole = signs.length === secretSigns + 2 && [...signs].every((sign) => alphabet.includes(sign))
  if (!isWhole || checkOf(secret) !== signs.slice(secretSigns)) throw new SealingRefusal('mistyped_recovery_code')
  return secret
}
