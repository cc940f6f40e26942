import { isAlphanumeric } from '#lib/domains/pii/character-classes.ts'
import { finding, lowConfidence, type SensitiveFinding } from '#lib/domains/pii/findings.ts'
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
  [350000, 359999, [16, 19]], // JCB, with ranges that it reserves
  [180000, 180099, [15]],
  [213100, 213199, [15]],
  [620000, 629999, [16, 17, 18, 19]], // UnionPay
  [810000, 817199, [16, 19]],
  [220000, 220499, [16, 19]], // Mir
  [500000, 509999, [16, 17, 18, 19]], // Maestro, Verve, Elo
  [560000, 589999, [16, 17, 18, 19]],
  [639000, 639099, [16, 17, 18, 19]],
  [670000, 679999, [16, 17, 18, 19]],
  [604000, 604099, [16]],
  [606985, 607984, [16]], // RuPay
  [608001, 608500, [16]],
  [630400, 630499, [16, 18, 19]],
  [636297, 636368, [16]],
  [675900, 676399, [16, 18, 19]],
  [979200, 979289, [16]], // Troy
]
const matches = (lead: number, length: number): boolean =>
  issuers.some(([from, to, lengths]) => lead >= from && lead <= to && lengths.includes(length))
/** Prefixes of Maestro, whose older numbers have 12 to 15 digits. */
const maestro = /^(?:50[0-9]{2}|5[6-8]|6304|6759|676[1-3]|6390|0604|67)/

/** Words for a payment card. */
const cardWord =
  /(?:card|credit|debit|visa|mastercard|maestro|amex|american express|jcb|discover|diners|unionpay|karte|carte|tarjeta|cartão|cartao|carta|kort|karta|kartę|kártya|kortti|kart|карт[аыеу]|卡|カード|카드|κάρτα|بطاقة|כרטיס|कार्ड|บัตร|thẻ|kartu|pan|cc)(?![a-z])[^\n]{0,32}$/i
/** Words for other numbers of the same length. */
const otherWord =
  /(?:account|arn|tracking|order|invoice|isbn|ean|upc|gtin|barcode|serial|imei|timestamp|time|date|epoch|ms|id|uid|sku|phone|tel|mobile)["']?[ #:=]{0,4}["']?$/i

/** Numbers of cards that networks and payment providers publish for tests. */
const testCards = new Set(
  '4242424242424242 4000056655665556 5555555555554444 2223003122003222 5200828282828210 5105105105105100 378282246310005 371449635398431 6011111111111117 6011000990139424 6011981111111113 3056930009020004 36227206271667 6555900000604105 3566002020360505 6200000000000005 6200000000000047 6205500000000000004 30569309025904 38520000023237 4012888888881881 4222222222222 3530111333300000 378734493671000 4111111111111111 4000000000000002 4000000000009995 4000000000000077 4000002500003155 5454545454545454 5500000000000004 340000000000009 30000000000004 6011000000000004 2201382000000013 4917610000000000 6759649826438453 6331101999990016 5019717010103742 4988438843884305 4166676667666746 4646464646464644 5136333333333335 5585558555855583 2222400070000005 4005519200000004 4009348888881881 4012000033330026 4012000077777777 4217651111111119 4500600000000061 5019555544445555 3700000000000002 6007220000000004'.split(
    ' ',
  ),
)

type Certainty = 'sure' | 'likely'
/** Whether digits are a card's number: Luhn, and the prefix and length of an issuer, or a word for a card before. */
function cardCertainty(digits: string, isCalled: boolean, isGrouped: boolean): Certainty | undefined {
  if (digits.length < 12 || digits.length > 19 || /^(\d)\1+$/.test(digits) || !passesLuhn(digits)) return undefined
  if (matches(Number(digits.slice(0, 6)), digits.length) || isCalled) return 'sure'
  if (digits.length < 16 && maestro.test(digits)) return isGrouped ? 'sure' : 'likely'
  return undefined
}

/** Groups of digits as printed on cards. */
const cardGroups = [
  [4, 4, 4, 4, 3],
  [4, 4, 4, 4],
  [4, 6, 5],
  [4, 6, 4],
  [6, 13],
  [4, 4, 4, 1],
  [4, 4, 4, 2],
  [4, 4, 4, 3],
  [4, 4, 4],
  [4, 4, 5],
  [4, 5, 6],
  [19],
  [18],
  [17],
  [16],
  [15],
  [14],
  [13],
  [12],
]
/** What may follow a card number on the same line: a year, or a month with a year. */
const expiry = /^(?:(?:19|20)\d{2}|(?:0[1-9]|1[0-2])\d{2})$/

/** The card number at the beginning of these groups of digits. */
export function cardAmong(text: string, start: number, groups: NumberGroups): SensitiveFinding | undefined {
  const [first = '', second = ''] = groups.digits
  if (first.length < 12 && second.length !== 4 && second.length !== 6 && second.length !== 5 && second.length !== 13)
    return undefined
  // Groups after the beginning of an IBAN with wrong check digits.
  if (/[A-Z]{2}\d{2}[\s-]$/.test(text.slice(Math.max(0, start - 5), start))) return undefined
  const before = text.slice(Math.max(0, start - 56), start)
  let isCalled: boolean | undefined
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
    const digits = groups.digits.slice(0, form.length).join('')
    if (!passesLuhn(digits)) continue
    isCalled ??= cardWord.test(before)
    const certainty = cardCertainty(digits, isCalled, form.length > 1)
    if (certainty === undefined || (certainty === 'likely' && otherWord.test(before))) continue
    // One in ten integers of 64 bits has a valid check digit.
    if (digits.length === 19 && form.length === 1 && !isCalled && !testCards.has(digits)) continue
    const found = finding('card', start, end, certainty === 'sure' ? 1 : 0.6)
    return testCards.has(digits) || /0{6}/.test(digits) || certainty === 'likely' ? lowConfidence(found) : found
  }
  return undefined
}
