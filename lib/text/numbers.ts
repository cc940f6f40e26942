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
  /** The signs before it. */
  before: string
}
const isJoint = /^[\s().\-–‐‑‒−/·]{1,4}$/u
const isTight = /^[.\-–‐‑/]$/
const isLetter = /[\p{L}\p{N}]/u

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
      if (isLetter.test(text[group.end] ?? '')) continue
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

/** What a number is compared by: as written, and without the prefix of an international call and the code of a country. */
export function comparedForms({ digits, isInternational }: WrittenNumber): string[] {
  if (!isInternational) return [digits]
  const called = digits.replace(/^(?:011|00)/, '')
  // A code of a country has one to three digits.
  return [digits, called, ...[1, 2, 3].map((length) => called.slice(length))].filter((one) => one.length >= leastDigits)
}
