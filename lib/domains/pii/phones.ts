import { type Finding, finding } from './findings.ts'
import { cueReach, leadsToNumber } from './phone-cues.ts'
import { isInternationalNumber, isNationalNumber, isNumberIn } from './phone-plans.ts'
import { isAlphanumeric, isDigit } from './signs.ts'

const run = /[+(]?\d(?:[\d\u00a0\u202f ().\u2010-\u2013/-]|\r?\n[ >*]{0,6}(?=\d)){5,32}/y
const extension = /[ ,;]{0,2}(?:x|ext\.?|extension|durchwahl|доб\.?|分机|内線)[ .:]?\d{1,6}(?!\d)/iy
const date =
  /^\(?(?:(?:19|20)\d\d[-/. ](?:0?[1-9]|1[0-2])[-/. ](?:0?[1-9]|[12]\d|3[01])|(?:0?[1-9]|[12]\d|3[01])[-/. ](?:0?[1-9]|[12]\d|3[01])[-/. ](?:19|20)?\d\d)(?!\d)/

function withExtension(text: string, end: number): number {
  extension.lastIndex = end
  return end + (extension.exec(text)?.[0].length ?? 0)
}

/** A number to call, as long as it can be: groups after a gap are left out until the rest is a number. */
function callable(text: string, start: number, isNumber: (digits: string) => boolean): number | undefined {
  run.lastIndex = start
  const written = run.exec(text)?.[0]
  if (written === undefined || date.test(written)) return undefined
  const ends = new Set([/\r?\n/.exec(written)?.index ?? written.length, written.length])
  for (const match of [...written.matchAll(/\D+/g)].reverse()) if (ends.size < 6) ends.add(match.index)
  for (const length of ends) {
    const ended = written.slice(0, length).replace(/[^\d)]+$/, '')
    const number = ended.includes('(') ? ended : ended.replace(/[^\d]+$/, '')
    const end = start + number.length
    // A national prefix in brackets after a calling code is left out when one dials the code.
    const digits = number.replace(/^(\+[\d ]{1,4})\(0\)/, '$1').replace(/\D/g, '')
    if (digits.length < 7 || digits.length > 15 || isDigit(text, end)) continue
    if (isAlphanumeric(text, end) && !/^(?:x|ext)/i.test(text.slice(end, end + 3))) continue
    if (isNumber(digits)) return withExtension(text, end)
  }
  return undefined
}
const phone = (start: number, end: number | undefined, score: number): Finding | undefined =>
  end === undefined ? undefined : finding('phone', start, end, score)

/** ITU-T E.164: the number after a `+` there, valid in its country. */
export function internationalAt(text: string, at: number): Finding | undefined {
  if (isAlphanumeric(text, at - 1) || text.charAt(at - 1) === '+') return undefined
  let digits = 0
  for (let next = at + 1; next < at + 24; next++) if (isDigit(text, next)) digits += 1
  return digits < 7 ? undefined : phone(at, callable(text, at, isInternationalNumber), 0.95)
}

const american =
  /(?:(?:00)?1[ .\u2010-\u2013-]{1,2})?(?:\([2-9]\d{2}\)[ \u00a0.\u2010-\u2013-]{0,2}|[2-9]\d{2}[ \u00a0.\u2010-\u2013-]{1,2})[2-9]\d{2}[ \u00a0.\u2010-\u2013-]\d{4}(?!\d|[-.]\d)/y
const chinese = /1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\d|[-.]\d)/y

function americanAt(text: string, place: number, isCalled: boolean): Finding | undefined {
  american.lastIndex = place
  const written = american.exec(text)?.[0]
  if (written === undefined) return undefined
  const end = withExtension(text, place + written.length)
  if (isAlphanumeric(text, end)) return undefined
  const digits = written.replace(/\D/g, '').slice(-10)
  // An area code in brackets is a telephone number's even where nobody has that code yet.
  const isOne = isCalled || written.includes('(') || isNumberIn('US', digits) || isNumberIn('CA', digits)
  return isOne ? finding('phone', place, end, 0.85) : undefined
}

/** A national number without a code: the USA's as people write one, a mainland mobile, and others' where a cue before it says so. */
export function nationalAt(text: string, start: number, cueEnd: number): Finding | undefined {
  const from = text.charAt(start - 1) === '(' ? start - 1 : start
  if (text.charCodeAt(start) === 49) {
    chinese.lastIndex = start
    const written = chinese.exec(text)?.[0]
    if (written !== undefined && !isAlphanumeric(text, start + written.length))
      if (isNumberIn('CN', written.replace(/\D/g, ''))) return finding('phone', start, start + written.length, 0.85)
  }
  const isCalled = cueEnd >= 0 && from - cueEnd <= cueReach && leadsToNumber(text.slice(cueEnd, from))
  for (const place of from === start ? [start] : [from, start]) {
    const found = americanAt(text, place, isCalled)
    if (found) return found
  }
  if (!isCalled) return undefined
  if (text.startsWith('00', start)) {
    const end = callable(text, from, (digits) => isInternationalNumber(digits.slice(2)))
    if (end !== undefined) return phone(from, end, 0.85)
  }
  return phone(from, callable(text, from, isNationalNumber), 0.75)
}
