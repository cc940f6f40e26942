import { countrySpecs } from 'ibantools'
import { isAlphanumeric, isDigit } from '../matching.ts'
import { finding, lowConfidence, type SensitiveFinding } from '../findings.ts'
import { ipv4At } from './ip-addresses.ts'
import { cueReach, leadsToNumber } from './phone-cues.ts'
import { nationalAt, type PhoneCue } from './phones.ts'

const pairs = /^(?:\d\d\.){3}\d\d(?!\d)/

/** Names that people write directly before a number: `card4539…`, `ssn_536…`, `clientip84.23.…`. `cccccc969696` are colors. */
const gluedName = /(?:card|(?<![A-Fa-f])cc|visa|pan|mastercard|amex|ssn|ip|addr|host)(?:no|nr|num|number)?$/i
/** Whether the name that ends here says what the number after it is. */
const isGlued = (text: string, end: number, cue: PhoneCue): boolean =>
  (cue.end === end && !cue.isAmbiguous) || gluedName.test(text.slice(Math.max(0, end - 20), end))

/** The number at the end of a word that begins with its name: `Tel0301234567`. */
export function gluedNumberAt(text: string, start: number, end: number, cue: PhoneCue): SensitiveFinding | undefined {
  return isGlued(text, start, cue) ? numbersAt(text, start, end, cue) : undefined
}

/**
 * Whether the number is part of something else: an id, a decimal, an amount with thousands separators. A comma between columns separates
 * numbers.
 */
function isInside(text: string, start: number, end: number, cue: PhoneCue): boolean {
  const before = text.charCodeAt(start - 1)
  if (before === 95) return !isGlued(text, start - 1, cue)
  if (before === 36) return true
  if (before === 44) return end - start === 3 && isDigit(text, start - 2) && !/^[-.) ]\d/.test(text.slice(end, end + 2))
  if ((before !== 46 && before !== 45) || (before === 45 && isGlued(text, start - 1, cue))) return false
  // `Tel.030 …`
  if (cue.end >= 0 && start - cue.end < 2) return false
  return isAlphanumeric(text, start - 2) || (before === 46 && text.charCodeAt(start - 2) !== 46)
}

interface NumberGroups {
  digits: string[]
  ends: number[]
  gaps: string[]
}
const gap = /(?:[ \u00a0\u202f]{1,2}|[-.\u2010-\u2013]|[ \t]{0,4}\r?\n[ \t>*]{0,6})(?=\d)/y
const max = 6

/** Groups of digits from here, at most six and none longer than a card number, with the text between them. */
function groupsFrom(text: string, start: number): NumberGroups {
  const groups: NumberGroups = { digits: [], ends: [], gaps: [] }
  for (let at = start; groups.digits.length < max; ) {
    let end = at
    while (end - at < 20 && isDigit(text, end)) end += 1
    if (end === at) break
    groups.digits.push(text.slice(at, end))
    groups.ends.push(end)
    let between: string | undefined
    // Most gaps are one space or hyphen.
    const code = text.charCodeAt(end)
    if ((code === 32 || code === 45) && isDigit(text, end + 1)) between = code === 32 ? ' ' : '-'
    else if (code === 44 || code === 59) between = undefined
    else {
      gap.lastIndex = end
      between = gap.exec(text)?.[0]
    }
    if (between === undefined) break
    groups.gaps.push(between)
    at = end + between.length
  }
  return groups
}

const areGrouped = (groups: NumberGroups, form: readonly number[]): boolean =>
  form.every((length, at) => groups.digits[at]?.length === length)

/** Whether enough digits follow for the shortest card, social security or phone number, with gaps and brackets. */
function hasManyDigits(text: string, start: number): boolean {
  let digits = 0
  const limit = Math.min(text.length, start + 28)
  for (let at = start, between = 0; at < limit && between < 4; at++) {
    const code = text.charCodeAt(at)
    if (code >= 48 && code <= 57) {
      digits += 1
      if (digits === 7) return true
      between = 0
    } else if (code === 32 || (code > 39 && code < 48 && code !== 44) || code === 10 || code === 13 || code > 127)
      between += 1
    else return false
  }
  return false
}

/** Numbers that documentation uses. */
const published = new Set(['123456789', '111223333', '111111111', '123121234', '222334444', '333224444'])
const social = /ssn|social[ -]?security|taxpayer id/i
/**
 * Rules of the Social Security Administration: no area 000, 666 or 9xx, no group 00, no serial 0000, and not the two published sample
 * numbers.
 */
const isSocialSecurity = (digits: string): boolean =>
  /^(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}$/.test(digits) && digits !== '078051120' && digits !== '219099999'

/** The social security number at the beginning of these groups of digits. */
function socialAmong(text: string, start: number, groups: NumberGroups): SensitiveFinding | undefined {
  const isWhole = groups.digits[0]?.length === 9
  if (!isWhole && !areGrouped(groups, [3, 2, 4])) return undefined
  const parts = isWhole ? 1 : 3
  const end = groups.ends[parts - 1] ?? start
  const hasHyphens = !isWhole && groups.gaps.slice(0, 2).every((between) => /^[-\u2010-\u2013]$/.test(between))
  const before = text.charAt(start - 1)
  if (
    before === '-' ||
    before === '.' ||
    isAlphanumeric(text, end) ||
    /^[-.\u2010-\u2013]$/.test(groups.gaps[parts - 1] ?? '')
  )
    return undefined
  if (!isSocialSecurity(groups.digits.slice(0, parts).join(''))) return undefined
  const isCalledSo = social.test(text.slice(Math.max(0, start - 48), start))
  if (!hasHyphens && !isCalledSo) return undefined
  const found = finding('ssn', start, end, isCalledSo ? 0.95 : 0.85)
  return published.has(groups.digits.slice(0, parts).join('')) ? lowConfidence(found) : found
}

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
  [135400, 135499, [15]], // UATP
  [636000, 636999, [16, 19]], // InterPayment
  [637000, 637999, [16]], // InstaPayment, Hiper
  [860000, 860099, [16]], // Uzcard
  [986000, 986099, [16]], // Humo
]
const matches = (lead: number, length: number): boolean =>
  issuers.some(([from, to, lengths]) => lead >= from && lead <= to && lengths.includes(length))
/** Prefixes of Maestro, whose older numbers have 12 to 15 digits. */
const maestro = /^(?:50[0-9]{2}|5[6-8]|6304|6759|676[1-3]|6390|0604|67)/

/** Words for a payment card. */
const cardWord =
  /(?:card|credit|debit|visa|mastercard|maestro|amex|american express|jcb|discover|diners|unionpay|karte|carte|tarjeta|cartão|cartao|carta|kort|karta|kartę|kártya|kortti|kart|карт[аыеу]|卡|カード|카드|κάρτα|بطاقة|כרטיס|कार्ड|บัตร|thẻ|kartu|pan|cc)(?:[_ -]?(?:number|num|nr|no)(?![a-z])|(?![a-z]))[^\n]{0,32}$/i
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
  [4, 4, 4, 4, 2],
  [4, 4, 4, 4, 1],
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
function cardAmong(text: string, start: number, groups: NumberGroups): SensitiveFinding | undefined {
  const [first = '', second = ''] = groups.digits
  if (first.length < 12 && second.length !== 4 && second.length !== 6 && second.length !== 5 && second.length !== 13)
    return undefined
  // Groups after the beginning of an IBAN with wrong check digits.
  if (/[A-Z]{2}\d{2}[\s-]$/.test(text.slice(Math.max(0, start - 5), start))) return undefined
  const before = text.slice(Math.max(0, start - 56), start)
  let isCalled: boolean | undefined
  // A row of numbers, such as a vector of prices.
  if (first.length === 4 && /\d{2,4}[ \t]$/.test(before) && !cardWord.test(before)) return undefined
  for (const form of cardGroups) {
    if (!areGrouped(groups, form)) continue
    const end = groups.ends[form.length - 1] ?? start
    const next = groups.gaps[form.length - 1]
    const following = groups.digits[form.length] ?? ''
    const isBeforeExpiry = groups.digits.length === form.length + 1 && expiry.test(following)
    // A label may follow a card that is called one: `card:4539…exp`.
    if (isAlphanumeric(text, end) && !(/^[A-Za-z]{3}/.test(text.slice(end, end + 3)) && cardWord.test(before))) continue
    if (/^[-.\u2010-\u2013]$/.test(next ?? '') && !isBeforeExpiry) continue
    // A longer sequence of groups of four is not a card.
    if (next !== undefined && form.length > 3 && following.length === 4 && !next.includes('\n') && !isBeforeExpiry)
      continue
    const digits = groups.digits.slice(0, form.length).join('')
    // Four round numbers in a row.
    if (!passesLuhn(digits) || /^(?:\d\d00){3,4}$/.test(digits)) continue
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

/**
 * The finding that starts with the number from `start` to `end`: a card, social security number, phone number or IPv4 address. `cue` is
 * the last word before it that announces a phone number.
 */
export function numbersAt(text: string, start: number, end: number, cue: PhoneCue): SensitiveFinding | undefined {
  if (isInside(text, start, end, cue)) return undefined
  if (end - start <= 3 && text.charCodeAt(end) === 46) {
    const ip = ipv4At(text, start)
    // `Tlf. 22.33.44.55`
    if (ip)
      return (
        (cue.end >= 0 &&
        !cue.isAmbiguous &&
        start - cue.end <= cueReach &&
        pairs.test(text.slice(start, start + 12)) &&
        leadsToNumber(text.slice(cue.end, start))
          ? nationalAt(text, start, end - start, cue)
          : undefined) ?? ip
      )
  }
  // Most numbers are isolated and short: a year, an amount, a line of a list.
  if (end - start < 7 && !hasManyDigits(text, start)) return undefined
  const length = end - start
  const mayBeCard = length === 4 || length === 6 || length >= 12
  // After a gap of one character, the second group of a social security number has two digits.
  const isNear = isDigit(text, end + 1)
  const mayBeSocial = length === 9 || (length === 3 && (!isNear || (isDigit(text, end + 2) && !isDigit(text, end + 3))))
  const groups = mayBeCard || mayBeSocial ? groupsFrom(text, start) : undefined
  const found = groups && (mayBeCard ? cardAmong(text, start, groups) : socialAmong(text, start, groups))
  return found ?? nationalAt(text, start, length, cue)
}

/** Length and form of the IBANs of each country that has them, also of countries that are not in SWIFT's registry (ISO 13616). */
const countries = new Map(
  Object.entries(countrySpecs).flatMap(([country, { chars, bban_regexp: form }]) =>
    chars && form
      ? [[country, { length: chars, form: new RegExp(`^..[0-9]{2}${form.replace(/^\^/, '')}`) }] as const]
      : [],
  ),
)
const longest = 34

/**
 * Whether it is a valid IBAN: length and structure of its country, and remainder 1 modulo 97. National check digits are not checked,
 * because a number with a wrong one still identifies its account. Expects capitals without gaps.
 */
function isIban(iban: string): boolean {
  const country = countries.get(iban.slice(0, 2))
  if (!country || iban.length !== country.length || !country.form.test(iban)) return false
  let rest = 0
  for (let place = 4; place < iban.length + 4; place++) {
    const code = iban.charCodeAt(place % iban.length)
    const value = code < 65 ? code - 48 : code - 55
    rest = (value > 9 ? rest * 100 + value : rest * 10 + value) % 97
  }
  return rest === 1
}

const ibanGap = /^(?:[ \u00a0\u202f-]|[ \t]{0,4}\r?\n[ \t>*]{0,6})/

/** The IBAN that starts at this word: in one piece, or in groups of four separated by spaces, hyphens or line ends. */
export function ibanAt(text: string, start: number): SensitiveFinding | undefined {
  const country = countries.get(text.slice(start, start + 2).toUpperCase())
  if (!country) return undefined
  let written = ''
  let at = start
  let isGrouped = false
  while (written.length < country.length && written.length < longest) {
    const from = at
    while (isAlphanumeric(text, at) && written.length + at - from < country.length) at += 1
    if (at > from) {
      written += text.slice(from, at)
      continue
    }
    if (written.length % 4 !== 0 || (!isGrouped && written.length > 4)) return undefined
    const between = text.charCodeAt(at) === 32 ? ' ' : ibanGap.exec(text.slice(at, at + 12))?.[0]
    if (between === undefined) return undefined
    isGrouped = true
    at += between.length
  }
  // A label may follow without a gap (`…3000BIC:`): only after a number in one piece and in capitals, which no other number continues.
  const next = text.charAt(at)
  if (/[A-Za-z0-9]/.test(next) && (isGrouped || !/[A-Z]/.test(next) || written !== written.toUpperCase()))
    return undefined
  return isIban(written.toUpperCase()) ? finding('iban', start, at, 1) : undefined
}

/** The IBAN behind the letters with which a word starts: `IBANDE8937…`. */
export function gluedIbanAt(text: string, start: number, end: number): SensitiveFinding | undefined {
  let at = start
  while (at < end && at - start < 16 && !/\d/.test(text.charAt(at))) at += 1
  return at - start > 2 && /^[A-Z]{2}\d\d$/.test(text.slice(at - 2, at + 2)) ? ibanAt(text, at - 2) : undefined
}
