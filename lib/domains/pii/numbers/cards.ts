import { isAlphanumeric } from '#lib/domains/pii/character-classes.ts'
import { finding, type SensitiveFinding } from '#lib/domains/pii/findings.ts'
import { areGrouped, type NumberGroups } from './number-groups.ts'

/** ISO/IEC 7812-1: Luhn. */
function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let at = digits.length - 1, place = 0; at >= 0; at--, place++) {
    const value = Number(digits[at]) * (place % 2 === 1 ? 2 : 1)
    sum += value > 9 ? value - 9 : value
  }
  return sum % 10 === 0
}

/** Number ranges of the card networks by their first six digits, with the lengths of the numbers. */
const issuers: readonly (readonly [from: number, to: number, lengths: readonly number[]])[] = [
  [400000, 499999, [13, 16, 19]], // Visa
  [510000, 559999, [16]], // Mastercard
  [222100, 272099, [16]],
  [340000, 349999, [15]], // American Express
  [370000, 379999, [15]],
  [300000, 305999, [14, 16]], // Diners Club
  [309500, 309599, [14, 16]],
  [360000, 369999, [14, 16]],
  [380000, 399999, [14, 16]],
  [601100, 601199, [16, 19]], // Discover
  [644000, 659999, [16, 19]],
  [352800, 358999, [16, 19]], // JCB
  [620000, 629999, [16, 17, 18, 19]], // UnionPay
  [810000, 817199, [16, 19]],
  [220000, 220499, [16, 19]], // Mir
  [500000, 509999, [16, 18, 19]], // Maestro, Verve, Elo
  [560000, 589999, [16, 18, 19]],
  [606985, 607984, [16]], // RuPay
  [608001, 608500, [16]],
  [630400, 630499, [16, 18, 19]],
  [636297, 636368, [16]],
  [675900, 676399, [16, 18, 19]],
  [979200, 979289, [16]], // Troy
]
/** Whether digits have a valid Luhn checksum, issuer prefix and length. */
function isCardNumber(digits: string): boolean {
  const lead = Number(digits.slice(0, 6))
  return (
    issuers.some(([from, to, lengths]) => lead >= from && lead <= to && lengths.includes(digits.length)) &&
    !/^(\d)\1+$/.test(digits) &&
    passesLuhn(digits)
  )
}

/** Groups of digits as printed on cards. */
const cardGroups = [
  [4, 4, 4, 4, 3],
  [4, 4, 4, 4],
  [4, 6, 5],
  [4, 6, 4],
  [6, 13],
  [4, 4, 4, 1],
  [19],
  [18],
  [17],
  [16],
  [15],
  [14],
  [13],
]
/** What may follow a card number on the same line: a year, or a month with a year. */
const expiry = /^(?:(?:19|20)\d{2}|(?:0[1-9]|1[0-2])\d{2})$/

/** The card number at the beginning of these groups of digits. */
export function cardAmong(text: string, start: number, groups: NumberGroups): SensitiveFinding | undefined {
  // Groups after the beginning of an IBAN with wrong check digits.
  if (/[A-Z]{2}\d{2}[\s-]$/.test(text.slice(Math.max(0, start - 5), start))) return undefined
  for (const form of cardGroups) {
    if (!areGrouped(groups, form)) continue
    const end = groups.ends[form.length - 1] ?? start
    const next = groups.gaps[form.length - 1]
    const following = groups.digits[form.length] ?? ''
    const isBeforeExpiry = groups.digits.length === form.length + 1 && expiry.test(following)
    if (isAlphanumeric(text, end)) continue
    if (/^[-.\u2010-\u2013]$/.test(next ?? '') && !isBeforeExpiry) continue
    // A longer sequence of groups of four is not a card.
    if (next !== undefined && form.length > 3 && following.length === 4 && !next.includes('\n') && !isBeforeExpiry)
      continue
    if (isCardNumber(groups.digits.slice(0, form.length).join(''))) return finding('card', start, end, 1)
  }
  return undefined
}
