import { type CountryCode, parsePhoneNumberFromString } from 'libphonenumber-js'
import type { Span } from './layer.ts'

/** Fewer digits occur in other numbers by chance. */
export const leastDigits = 7
const maxDigits = 17
const maxGroups = 7

/** A sequence of groups of digits that may be a telephone number. */
export interface WrittenNumber extends Span {
  /** ASCII digits without separators and without a trunk prefix in brackets. */
  digits: string
  /** It begins with a plus sign, or with `00` or `011` as it is dialed. */
  isInternational: boolean
}

const digit = /^\p{Nd}/u
/** The value of a decimal digit of any script: Unicode stores the ten digits of a script one after the other. */
function digitOf(sign: string): string {
  const unit = sign.codePointAt(0) ?? 0
  if (unit >= 48 && unit <= 57) return sign
  let value = 0
  while (value < 9 && digit.test(String.fromCodePoint(unit - value - 1))) value++
  return String(value)
}
const asciiDigits = (digits: string): string =>
  digits.charCodeAt(0) < 58 && digits.charCodeAt(digits.length - 1) < 58 ? digits : Array.from(digits, digitOf).join('')
export const digitsIn = (text: string): string => Array.from(text.match(/\p{Nd}/gu) ?? [], digitOf).join('')

interface Group extends Span {
  digits: string
  /** The characters between the previous group of digits and this one. */
  before: string
}
const isJoint = /^[\s().\-–‐‑‒−/·]{1,4}$/u
const isTight = /^[.\-–‐‑/]$/
const isLetter = /[\p{L}\p{N}]/u
/** An extension directly after a telephone number: `ext. 12`, `#12`. */
const extension =
  /(?:[\s,;]{0,4}(?:ext(?:ension)?|x|доб|dw|poste|int|anexo|ramal)\.?[\s=:]{0,4}|\s{0,4}#\s{0,4})\p{Nd}{1,6}(?![\p{L}\p{N}])/iu
const beginsExtension = new RegExp(`^${extension.source}`, 'iu')

/** Whether a UTF-16 code unit is a decimal digit of any script. */
const digitUnits = new Uint8Array(0x10000)
for (let unit = 0; unit < 0x10000; unit++) if (digit.test(String.fromCharCode(unit))) digitUnits[unit] = 1

/** The ranges of a text that may be a telephone number: every sequence of groups that is not a part of a longer number. */
export function* numbersIn(text: string): Generator<WrittenNumber> {
  let groups: Group[] = []
  let until = -1
  for (let at = 0; at < text.length; at++) {
    if (digitUnits[text.charCodeAt(at)] !== 1) continue
    let end = at + 1
    while (end < text.length && digitUnits[text.charCodeAt(end)] === 1) end++
    const distance = at - until
    const before = groups.length > 0 && distance <= 4 ? text.slice(until, at) : ''
    if (groups.length > 0 && before !== ' ' && (before.includes('\n') || !isJoint.test(before))) {
      if (groups.length > 1 || (groups[0]?.digits.length ?? 0) >= leastDigits) yield* candidates(text, groups)
      groups = []
    }
    groups.push({
      digits: end - at > maxDigits ? '' : asciiDigits(text.slice(at, end)),
      start: at,
      end,
      before: groups.length > 0 ? before : '',
    })
    until = end
    at = end - 1
  }
  if (groups.length > 0) yield* candidates(text, groups)
}

function* candidates(text: string, groups: readonly Group[]): Generator<WrittenNumber> {
  for (let from = 0; from < groups.length; from++) {
    const first = groups[from]
    if (!first || first.digits === '') continue
    const previous = text[first.start - 1] ?? ''
    if (isLetter.test(previous)) continue
    const plus = plusBefore(text, first.start)
    if (from > 0 && plus < 0 && isPartBefore(groups[from - 1], first)) continue
    let digits = ''
    for (let to = from; to < groups.length && to - from < maxGroups; to++) {
      const group = groups[to]
      if (!group || group.digits === '') break
      // `+43 (0) 660`: the zero is not dialed from abroad.
      const isTrunk = to > from && group.digits === '0' && group.before.includes('(')
      if (!isTrunk) digits += group.digits
      if (digits.length > maxDigits) break
      if (digits.length < leastDigits || isTrunk) continue
      if (isLetter.test(text[group.end] ?? '') && !beginsExtension.test(text.slice(group.end, group.end + 20))) continue
      const next = groups[to + 1]
      if (next && isPartAfter(next, plus >= 0)) continue
      const isInternational = plus >= 0 || /^(?:00|011)/.test(digits)
      const start = plus >= 0 ? plus : first.start
      // A bracket around the code of an area belongs to the number.
      const bracket = text[start - 1] === '(' && text.slice(start, group.end).includes(')') ? 1 : 0
      yield { start: start - bracket, end: group.end, digits, isInternational }
    }
  }
}
function plusBefore(text: string, start: number): number {
  const at = text[start - 1] === '(' || text[start - 1] === ' ' ? start - 2 : start - 1
  return text[at] === '+' || text[at] === '＋' ? at : -1
}
/** Cards and account numbers consist of groups of three or four digits. */
const isOfLonger = ({ length }: string): boolean => length === 3 || length === 4
const isPartBefore = (group: Group | undefined, { before }: Group): boolean =>
  group !== undefined && (isTight.test(before) || (before.length === 1 && isOfLonger(group.digits)))
const isPartAfter = ({ digits, before }: Group, isPlus: boolean): boolean =>
  isTight.test(before) ||
  (before.length === 1 && isOfLonger(digits) && !isPlus) ||
  (isPlus && isOfLonger(digits) && before.length === 1)

/** Prefixes of an international call. */
const callPrefixes = ['00', '011', '0011', '010', '009', '810']
const afterPrefix = (digits: string): string[] =>
  callPrefixes.flatMap((prefix) => (digits.startsWith(prefix) ? [digits.slice(prefix.length)] : []))

/** What a number in a text is compared by. `needs`: the form counts only if the number is one of a country, with this number inside it. */
export function comparedForms({ digits, isInternational }: WrittenNumber): { form: string; needs?: string }[] {
  const found: { form: string; needs?: string }[] = [{ form: digits }]
  const wholes = isInternational && !digits.startsWith('0') ? [digits] : [digits, ...afterPrefix(digits)]
  for (const whole of wholes) {
    const isCertain = isInternational && (whole !== digits || !digits.startsWith('0'))
    if (isCertain && whole !== digits) found.push({ form: whole })
    // A code of a country has one to three digits.
    for (const length of [1, 2, 3]) {
      const form = whole.slice(length)
      if (form.length < leastDigits) continue
      if (isCertain) found.push({ form })
      else if (whole.length >= leastDigits + 2) found.push({ form: ofUnknownCountry(form), needs: whole })
    }
  }
  return found
}
/** Whether `digits`, a number with its country code, is a valid telephone number whose national part is `national`. */
export function isNumberOfCountry(digits: string, national: string): boolean {
  const parsed = parsePhoneNumberFromString(`+${digits}`)
  return parsed?.isValid() === true && ofUnknownCountry(parsed.nationalNumber) === national
}
/** The form of a number whose country nobody knows: it is compared with complete numbers of every country. */
const ofUnknownCountry = (national: string): string => `?${national}`

/** Countries that dial another prefix than zero before a number inside the country, or another number. */
const otherPrefixes: readonly CountryCode[] = ['AR', 'BY', 'HU', 'KZ', 'PM', 'RU', 'TM']

/** The digits of every form in which somebody may dial or store a written number. */
export function dialedForms(written: string): string[] {
  const forms = new Set<string>()
  const ascii = Array.from(written.normalize('NFKC'), (sign) => (digit.test(sign) ? digitOf(sign) : sign)).join('')
  const own = ascii.replace(new RegExp(`${extension.source}$`, 'iu'), '')
  const [longest] = [...numbersIn(own)].sort((one, other) => other.digits.length - one.digits.length)
  const digits = longest?.digits ?? digitsIn(own)
  const add = (form: string) => {
    const bare = digitsIn(form)
    if (bare.length >= leastDigits) forms.add(bare)
  }
  add(digits)
  const isCalled = longest?.isInternational === true
  const dialed = isCalled && !digits.startsWith('0') ? [digits] : [...afterPrefix(digits), digits]
  let isKnown = false
  for (const one of dialed) {
    const parsed = parsePhoneNumberFromString(`+${one}`)
    const isDialed = isCalled && !one.startsWith('0')
    if (!parsed || !(parsed.isValid() || (isDialed && parsed.isPossible()))) continue
    // A number in national form may look like one of another country: then it is both.
    isKnown = isCalled
    for (const form of [parsed.number, parsed.nationalNumber, parsed.formatNational()]) add(form)
    for (const prefix of ['0', '00', '011', '0011', '010', '810'])
      add(prefix + (prefix === '0' ? parsed.nationalNumber : digitsIn(parsed.number)))
  }
  if (isKnown) return [...forms]
  const bare = digits.replace(/^0+/, '')
  add(bare)
  add(`0${bare}`)
  for (const one of [bare, `0${bare}`]) if (one.length >= leastDigits) forms.add(ofUnknownCountry(one))
  // `8 912 345-67-89` and `06 20 123 4567`: without the country, only the complete number is certain.
  for (const country of otherPrefixes) {
    const parsed = parsePhoneNumberFromString(digits, country)
    if (parsed?.isValid() === true && parsed.country === country && parsed.nationalNumber !== digits) add(parsed.number)
  }
  return [...forms]
}
