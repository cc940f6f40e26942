import { isAlphanumeric, isDigit } from '#lib/domains/pii/character-classes.ts'
import { finding, type SensitiveFinding } from '#lib/domains/pii/findings.ts'
import { cueReach, leadsToNumber } from './phone-cues.ts'
import { isAmericanForm, isInternationalNumber, isNationalNumber, isNumberIn } from './phone-plans.ts'

const run = /[+(]?\d(?:[\d\u00a0\u202f ().\u2010-\u2013/-]|\r?\n[ >*]{0,6}(?=\d)){5,32}/y
const extension = /[ ,;]{0,2}(?:x|ext\.?|extension|durchwahl|доб\.?|分机|内線)[ .:]?\d{1,6}(?!\d)/iy
const day = '(?:0?[1-9]|[12]\\d|3[01])'
const month = '(?:0[1-9]|1[0-2])'
const date = new RegExp(
  `^\\(?(?:(?:19|20)\\d\\d(?:[-/. ]0?[1-9]|[-/. ]1[0-2])[-/. ]${day}|(?:19|20)\\d\\d${month}${day}|${day}[-/. ]${day}[-/. ](?:19|20)\\d\\d|${day}[-/.]${day}[-/.]\\d\\d(?![-/. ]\\d\\d(?!:)))(?!\\d)`,
)
/** A count rather than a phone number: long and in one piece without a leading zero, or a round number. */
const counted = /^[1-9]\d{11,}$|0{6}$/

function withExtension(text: string, end: number): number {
  extension.lastIndex = end
  return end + (extension.exec(text)?.[0].length ?? 0)
}

const mostEnds = 6

/** End of the longest valid phone number: drops trailing groups until the rest is valid. */
function callable(text: string, start: number, isNumber: (digits: string) => boolean): number | undefined {
  run.lastIndex = start
  const written = run.exec(text)?.[0]
  if (written === undefined || date.test(written)) return undefined
  let digits = ''
  /** Ends of digit groups, and the number of digits before each. */
  const ends: { at: number; count: number; isLineEnd: boolean }[] = []
  for (let at = 0; at <= written.length; at++) {
    const sign = written.charAt(at)
    if (sign >= '0' && sign <= '9') digits += sign
    else if (/\d/.test(written.charAt(at - 1))) ends.push({ at, count: digits.length, isLineEnd: /[\r\n]/.test(sign) })
  }
  const all = ends.reverse()
  const tried = [...all.filter(({ isLineEnd }) => isLineEnd).slice(-1), ...all].slice(0, mostEnds)
  // A national prefix in brackets after a calling code is not dialled with the code.
  const shown = /^\+\d[\d ]{0,3}\(0\)/.exec(written)?.[0].replace(/\D/g, '').length ?? 0
  for (const { at, count } of tried) {
    if (count < 7 || count > 15 || isAlphanumeric(text, start + at)) {
      if (!/^(?:x|ext)/i.test(text.slice(start + at, start + at + 3)) || count < 7 || count > 15) continue
    }
    const dialled = shown > 0 ? digits.slice(0, shown - 1) + digits.slice(shown, count) : digits.slice(0, count)
    const isOpen = written.lastIndexOf('(', at) > written.lastIndexOf(')', at - 1)
    if (!isOpen && isNumber(dialled)) return withExtension(text, start + at)
  }
  return undefined
}
const phone = (start: number, end: number | undefined, score: number): SensitiveFinding | undefined =>
  end === undefined ? undefined : finding('phone', start, end, score)

/** ITU-T E.164: the valid international number after this `+`. */
export function internationalAt(text: string, at: number): SensitiveFinding | undefined {
  if (isAlphanumeric(text, at - 1) || text.charAt(at - 1) === '+') return undefined
  let digits = 0
  for (let next = at + 1; next < at + 24; next++) if (isDigit(text, next)) digits += 1
  return digits < 7 ? undefined : phone(at, callable(text, at, isInternationalNumber), 0.95)
}

const american =
  /(?:(?:00)?1[ .\u2010-\u2013-]{1,2})?(?:\([2-9]\d{2}\)[ \u00a0.\u2010-\u2013-]{0,2}|[2-9]\d{2}[ \u00a0.\u2010-\u2013-]{1,2})[2-9]\d{2}[ \u00a0.\u2010-\u2013-]\d{4}(?!\d|[-.]\d)/y
const chinese = /1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\d|[-.]\d)/y

function americanAt(text: string, place: number, isCalled: boolean): SensitiveFinding | undefined {
  american.lastIndex = place
  const written = american.exec(text)?.[0]
  if (written === undefined) return undefined
  const end = withExtension(text, place + written.length)
  if (isAlphanumeric(text, end)) return undefined
  const digits = written.replace(/\D/g, '').slice(-10)
  const isShaped = /[-.(]/.test(written) && isAmericanForm(digits)
  const isOne = isCalled || isShaped || isNumberIn('US', digits) || isNumberIn('CA', digits)
  return isOne ? finding('phone', place, end, 0.85) : undefined
}

/** A national number without a code: in US notation, a mainland Chinese mobile, or another country's after a cue. */
export function nationalAt(text: string, start: number, length: number, cueEnd: number): SensitiveFinding | undefined {
  const from = text.charAt(start - 1) === '(' ? start - 1 : start
  const lead = text.charCodeAt(start)
  if (lead === 49 && (length === 3 || length === 7 || length === 11)) {
    chinese.lastIndex = start
    const written = chinese.exec(text)?.[0]
    if (written !== undefined && !isAlphanumeric(text, start + written.length))
      if (isNumberIn('CN', written.replace(/\D/g, ''))) return finding('phone', start, start + written.length, 0.85)
  }
  const isCalled = cueEnd >= 0 && from - cueEnd <= cueReach && leadsToNumber(text.slice(cueEnd, from))
  const mayBeAmerican = length === 3 || (length === 1 && lead === 49)
  for (const place of mayBeAmerican ? new Set([from, start]) : []) {
    const found = americanAt(text, place, isCalled)
    if (found) return found
  }
  if (!isCalled) return undefined
  if (text.startsWith('00', start)) {
    const end = callable(text, from, (digits) => isInternationalNumber(digits.slice(2)))
    if (end !== undefined) return phone(from, end, 0.85)
  }
  return phone(
    from,
    callable(text, from, (digits) => !counted.test(digits) && isNationalNumber(digits)),
    0.75,
  )
}
