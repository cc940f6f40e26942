import { isAlphanumeric, isDigit } from '#lib/domains/pii/matching.ts'
import { finding, lowConfidence, type SensitiveFinding } from '#lib/domains/pii/findings.ts'
import { cueReach, leadsToNumber, mayLeadToNumber } from './phone-cues.ts'
import { isAmericanForm, isInternationalNumber, isNationalNumber, isNumberIn } from './phone-plans.ts'

/** The last word before a number that announces one. */
export interface PhoneCue {
  /** End of the word; -1 without one. */
  end: number
  /** Whether the word also has other meanings. */
  isAmbiguous: boolean
}

const extension =
  /[ ,;]{0,2}(?:x|ext\.?|extension|durchwahl|poste|int\.|anexo|ramal|доб\.?|分机|内線)[ .:]?\d{1,6}(?!\d)/iy
const day = '(?:0?[1-9]|[12]\\d|3[01])'
const month = '(?:0[1-9]|1[0-2])'
const date = new RegExp(
  `^\\(?(?:(?:19|20)\\d\\d(?:[-/. ]0?[1-9]|[-/. ]1[0-2])[-/. ]${day}|(?:19|20)\\d\\d${month}${day}|${day}[-/. ]${day}[-/. ](?:19|20)\\d\\d|${day}[-/.]${day}[-/.]\\d\\d(?![-/. ]\\d\\d(?!:)))(?!\\d)`,
)
/** A range of years, a time after a year. */
const years = /^(?:19|20)\d\d ?[-/–—] ?(?:(?:19|20)\d\d|\d\d(?!\d| \d))/
/** The number of a law: `Lei 14.534/2023`. */
const law = /^\d{1,3}(?:\.\d{3})+\/(?:19|20)\d\d(?!\d)/
/** A count rather than a phone number: long and in one piece without a leading zero, or a round number. */
const counted = /^[1-9]\d{11,}$|0{6}$|^00\d{0,2}0{4}$/
/** Digits that documentation uses: rising digits, one digit repeated, the numbers of the USA that are reserved for fiction. */
const rising = /^[01]?(?:12345678|98765432)/
/** Numbers that Ofcom, Arcep and ACMA reserve for fiction. */
const fictional =
  /^(?:0|0?0?44\(?0?\)?)(?:207946|1(?:1[3-8]|21|31|41|51|61)496|1914980|1632960|7700900|8081570|9098790|3069990)\d{3,4}$|^(?:0|33)(?:1990|2619|3531|4657|5363|6399)\d{5}$|^(?:0|61)(?:[2378](?:5550|7010)\d{4}|49157\d{4})$/
const isPublishedNumber = (digits: string): boolean =>
  (/[26]345|[68]765|555/.test(digits) && isSample(digits)) ||
  fictional.test(digits) ||
  (digits.charCodeAt(digits.length - 1) === digits.charCodeAt(digits.length - 2) &&
    digits.endsWith(digits.charAt(digits.length - 1).repeat(7)))
const isSample = (digits: string): boolean =>
  rising.test(digits) ||
  /^\d{2,4}12345678$|123456789$|^1?555\d{7}$|^555\d{4}$|^555123\d{3}$/.test(digits) ||
  (digits.startsWith('55501', digits.length - 7) && isAmericanForm(digits.slice(-10)))

function withExtension(text: string, end: number): number {
  const code = text.charCodeAt(end)
  // An extension begins with a space, a sign, x or e, or with a letter of another script.
  if (code !== 32 && code !== 44 && code !== 59 && (code | 32) !== 120 && (code | 32) !== 101 && !(code > 127))
    return end
  extension.lastIndex = end
  return end + (extension.exec(text)?.[0].length ?? 0)
}

const isSeparator = (code: number): boolean =>
  code === 32 ||
  (code > 39 && code < 42) ||
  (code > 44 && code < 48) ||
  code === 0xa0 ||
  code === 0x202f ||
  (code > 0x200f && code < 0x2014)

/** Digit groups from a position: the digits, and for each group its end and the number of digits up to it. */
interface Groups {
  digits: string
  ends: number[]
  counts: number[]
  /** Separators between the groups: `gaps[n]` precedes group n + 1. */
  gaps: string[]
  /** Index of the last group of the first line. */
  lineEnd: number
}
const maxDigits = 17
/** Reads digit groups with at most three separators between them. With `isWrapped`, a number may continue in the next line. */
function groupsAt(text: string, start: number, isWrapped: boolean): Groups | undefined {
  const groups: Groups = { digits: '', ends: [], counts: [], gaps: [], lineEnd: -1 }
  const first = text.charCodeAt(start)
  let at = first === 43 || first === 40 ? start + 1 : start
  if (first === 43 && text.charCodeAt(at) === 40) at += 1
  while (groups.digits.length < maxDigits) {
    const from = at
    while (isDigit(text, at)) at += 1
    if (at === from) break
    if (at - from > maxDigits) break
    groups.digits += text.slice(from, at)
    groups.ends.push(at)
    groups.counts.push(groups.digits.length)
    const gap = at
    let signs = 0
    while (signs < 4 && isSeparator(text.charCodeAt(at))) {
      at += 1
      signs += 1
    }
    if (isWrapped && /[\r\n]/.test(text.charAt(at))) {
      const line = /^\r?\n[ >*]{0,6}(?=\d)/.exec(text.slice(at, at + 10))?.[0]
      if (line === undefined) break
      groups.lineEnd = groups.ends.length - 1
      at += line.length
    }
    if (at === gap || !isDigit(text, at)) break
    groups.gaps.push(text.slice(gap, at))
  }
  return groups.digits.length < 7 ? undefined : groups
}

const maxEnds = 6
/** End of the longest valid phone number: drops trailing groups until the rest is valid. */
function callable(
  text: string,
  start: number,
  { digits, ends, counts, lineEnd }: Groups,
  isNumber: (digits: string) => boolean,
): { end: number; digits: string; isCut: boolean } | undefined {
  // A national prefix in brackets after a calling code is not dialled with the code.
  const shown =
    text.charCodeAt(start) === 43 ? /^\+\d[\d ]{0,3}\(0\)/.exec(text.slice(start, start + 9))?.[0] : undefined
  const skipped = shown === undefined ? 0 : shown.replace(/\D/g, '').length
  const isOpened = text.charCodeAt(start) === 40
  for (let tried = lineEnd >= 0 ? -1 : 0, group = ends.length - 1; tried < maxEnds && group >= 0; tried++) {
    const index = tried < 0 ? lineEnd : group
    if (tried >= 0) group -= 1
    const count = counts[index] ?? 0
    const end = ends[index] ?? 0
    if (count < 7) break
    if (count > 15) continue
    if (isAlphanumeric(text, end) && !/^(?:x|ext)/i.test(text.slice(end, end + 3))) {
      // The next word may begin without a gap: `+4930…Fax`.
      if (text.charCodeAt(start) !== 43 || !/^[A-Z][a-z]/.test(text.slice(end, end + 2))) continue
    }
    if (isOpened && !text.slice(start, end).includes(')')) continue
    const dialled = skipped > 0 ? digits.slice(0, skipped - 1) + digits.slice(skipped, count) : digits.slice(0, count)
    if (isNumber(dialled)) return { end, digits: dialled, isCut: index < ends.length - 1 }
  }
  return undefined
}
function phone(text: string, start: number, end: number, digits: string, score: number): SensitiveFinding {
  const found = finding('phone', start, withExtension(text, end), score)
  return isPublishedNumber(digits) ? lowConfidence(found) : found
}

/** A word before a plus sign without a gap: `Tel+4930…`. */
const gluedCue = /(?:^|[^A-Za-z])(?:tel|phone|telephone|mobile?|cell|fax|whatsapp|sms|call|fon|telefon)$/i
/** Addresses of services that end in a number with its country code. */
const inAddress = /(?:wa\.me\/|send\/?\?phone=)$/

/** ITU-T E.164: the valid international number after this `+`. */
export function internationalAt(text: string, at: number): SensitiveFinding | undefined {
  if (text.charCodeAt(at - 1) === 43) return undefined
  if (isAlphanumeric(text, at - 1) && !gluedCue.test(text.slice(Math.max(0, at - 12), at))) return undefined
  if (!isDigit(text, at + 1) && text.charCodeAt(at + 1) !== 40) return undefined
  // A sum: `n[0]+3614090360`.
  if (text.charCodeAt(at - 1) === 93 && /(?:^|\W)\w\[\d{1,3}\]$/.test(text.slice(Math.max(0, at - 15), at)))
    return undefined
  const groups = groupsAt(text, at, true)
  if (
    groups === undefined ||
    isDecimal(groups) ||
    (groups.gaps.slice(0, 2).every((gap) => gap === '.') && groups.gaps.length === 1)
  )
    return undefined
  // `+(1/24/60)` is arithmetic.
  if (text.charCodeAt(at + 1) === 40 && groups.gaps.filter((gap) => gap === '/').length > 1) return undefined
  const found = callable(text, at, groups, isInternationalNumber)
  return found && phone(text, at, found.end, found.digits, 0.95)
}

const american =
  /(?:(?:00)?1[ .\u2010-\u2013-]{1,2})?(?:\([2-9]\d{2}\)[ \u00a0.\u2010-\u2013-]{0,2}|[2-9]\d{2}[ \u00a0.\u2010-\u2013-]{1,2})[2-9]\d{2}[ \u00a0.\u2010-\u2013-]\d{4}(?!\d|[-.]\d)/y
const chinese = /1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\d|[-.]\d)/y

/** An integer that a program assigns: `const bytes = 15032385536;`. */
const isLiteral = (text: string, start: number, end: number): boolean =>
  text.charCodeAt(end) === 59 && /[^=]=\s?$/.test(text.slice(Math.max(0, start - 4), start))
/** A quantity in a program or its data: a factor, a term, a value of a field for sizes. */
const isQuantity = (text: string, start: number, end: number): boolean =>
  /^ ?(?:\*(?!\*)|\^|\/(?= ?[\d.(])(?!\d{11}))/.test(text.slice(end, end + 13)) ||
  /(?:[=(,] ?-|(?<!\*)\* ?|\^ ?|(?:value|size|bytes|count|total|amount|limit|memory|capacity|length|offset|time|stamp|sum|max|min|quota)["']?\s?[:=]\s?["']?)$/i.test(
    text.slice(Math.max(0, start - 16), start),
  )
/** A count that a line of a program or a report gives to a name: `TotalMemory = 17078214656`. */
const isCount = (text: string, start: number): boolean => /[\w\])] = $/.test(text.slice(Math.max(0, start - 4), start))
/** A range of round numbers: `800-1200`. */
const roundRange = /^[1-9]\d?00 ?[-–] ?[1-9]\d{1,2}00(?!\d)/
/** The number of a release, which people also give in support. */
const version = /^\d{1,3}\.\d{1,3}\.\d{4,6}(?![\d.])/
/** Four parts of a release with a single digit, which may also be a telephone number. */
const release = /^[1-9]\d?\.\d{1,2}\.\d\.\d{1,6}(?![\d.])/

/** The address of a page before the number that identifies it: `https://forum.host/topic/`. */
const ofPage =
  /https?:\/\/[^\s"'<>]{3,100}\/(?:topics?|threads?|questions?|status(?:es)?|issues?|comments?|posts?|articles?|news|videos?|items?|products?|releases?|assets|builds?|runs?|jobs?|pages?|[adq])\/$/i

/** Words for numbers of programs: `hash: 15926535897`, `seed = 18612345670`. */
const numberName =
  /(?:^|[^A-Za-z])(?:(?:hash|seed|prime|modulus|crc\d{0,2}|checksum|nonce|epoch|bits|mask|flags?|ticks?|nanos?|cycles|ptr)["']?\s?[:=]\s?["']?|(?:offset|byte|position) )$/i
/** Functions of numbers. */
const numberFunction =
  /(?:^|[^\w$])(?:hash|seed|srand|rand|random|mix|mod|pow|sqrt|abs|crc\d{0,2}|checksum|bigint|u?int\d{0,2}|is_?prime)\($/i
/** Words near a list whose numbers may be those of people: `INSERT INTO users VALUES (1, 13…, 30)`, `to: [13…, 5]`. */
const ofPeople =
  /(?:phone|mobile|cell|tel|sms|call|dial|contact|customer|user|people|person|member|employee|recipient|notify|send|whatsapp|wechat|insert|values|name|(?:^|[^a-z])(?:to|from|cc|who))/i
/**
 * Whether a number in one piece, without a word for telephones before it, is an element of a list of small integers, an operand or an argument
 * of a function of numbers, or the value of a name for other numbers. It may be a telephone number all the same.
 */
function mayBeInteger(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 120), start)
  if (numberName.test(before.slice(-24))) return true
  const after = text.slice(end, end + 80)
  if (numberFunction.test(before.slice(-24))) return /^\s{0,4}[),]/.test(after)
  // `[7, 13…, 5]`: other numbers of the list with more digits may be those of telephones.
  const first = /[[(]\s{0,8}((?:-?\d{1,6}\s{0,4},\s{0,8}){0,12})$/.exec(before)
  const last = /^((?:\s{0,4},\s{0,8}-?\d{1,6}){0,12})\s{0,4}[\])]/.exec(after)
  if (first && last && `${first[1]}${last[1]}` !== '')
    return !ofPeople.test(before.slice(Math.max(0, first.index - 48), first.index))
  return /[\w\])]\s?[*%^&|<>]=?\s?$/.test(before) && /^\s{0,4}[;)]/.test(after)
}

/** 2 ** 34 has the form of a mobile number of mainland China. */
const powerOfTwo = '17179869184'

function americanAt(text: string, place: number, isCalled: boolean): SensitiveFinding | undefined {
  american.lastIndex = place
  const written = american.exec(text)?.[0]
  if (written === undefined) return undefined
  const end = place + written.length
  if (isAlphanumeric(text, withExtension(text, end))) return undefined
  const digits = written.replace(/\D/g, '').slice(-10)
  const isShaped = /[-.(]/.test(written) && isAmericanForm(digits)
  // Three numbers in a row: a decimal, a column, a path of a drawing.
  const isRow = !isCalled && !/^\(/.test(written) && isInRow(text, place, end)
  const isOne = isCalled || (isShaped && !isRow) || (!isRow && (isNumberIn('US', digits) || isNumberIn('CA', digits)))
  if (!isOne) return undefined
  const found = phone(text, place, end, digits, 0.85)
  return isCalled && isFollowedByNumber(text, written, end) ? lowConfidence(found) : found
}
/** Whether the number is in groups separated by spaces only, and another short group follows: sizes of screens, a row of counts. */
const isFollowedByNumber = (text: string, written: string, end: number): boolean =>
  /^[1-9]\d*(?: \d+)+$/.test(written) && /^ \d{3,6}(?![\d-]| \d)/.test(text.slice(end, end + 9))
/** Whether another number stands directly before or after, separated by a space or a comma only. */
const isInRow = (text: string, start: number, end: number): boolean =>
  /\d[,.]? {1,2}$|[-+]$/.test(text.slice(Math.max(0, start - 4), start)) ||
  /^,? {1,2}[-+]?\d/.test(text.slice(end, end + 4))

/** Whether the digits are decimals: one dot, or dots beside spaces (`212.7 26.8`). */
function isDecimal({ digits, gaps, counts }: Groups): boolean {
  const dots = gaps.filter((gap) => gap === '.').length
  if (dots === 0) return false
  if (counts[0] === 1 && gaps[0] === '.') return true
  if (gaps.length === 1)
    return (!digits.startsWith('0') && (counts[0] ?? 0) < 3) || digits.startsWith('00') || counts[0] === 1
  return dots < gaps.length && gaps.some((gap) => /^[ \u00a0]+$/.test(gap))
}
/** Whether most groups have one digit, as in a row of numbers. */
const isRowOfDigits = ({ counts }: Groups): boolean =>
  counts.length > 3 && counts.filter((count, at) => count - (counts[at - 1] ?? 0) === 1).length * 2 > counts.length

/** Whether the number has the form of a phone number by itself: a trunk prefix, brackets, several groups, or the length of a mobile's. */
const hasForm = (text: string, from: number, { digits, gaps }: Groups, end: number): boolean =>
  text.charCodeAt(from) === 40 ||
  (digits.startsWith('0') && !digits.startsWith('000')) ||
  (/^(?:[6-9]\d{9}|1[3-9]\d{9}|8\d{10}|7\d{10}|380\d{9})$/.test(digits) && gaps.length === 0) ||
  (gaps.length >= 2 && digits.length >= 9 && !/[a-z%]/i.test(text.charAt(end)))

/** A national number without a code: in US notation, a mainland Chinese mobile, or another country's after a cue. */
export function nationalAt(text: string, start: number, length: number, cue: PhoneCue): SensitiveFinding | undefined {
  const from = text.charCodeAt(start - 1) === 40 ? start - 1 : start
  const lead = text.charCodeAt(start)
  if (lead === 49 && (length === 3 || length === 7 || length === 11)) {
    chinese.lastIndex = start
    const written = chinese.exec(text)?.[0]
    if (written !== undefined && !isAlphanumeric(text, start + written.length)) {
      const digits = written.replace(/\D/g, '')
      const isNoPhone =
        ofPage.test(text.slice(Math.max(0, start - 120), start)) ||
        isLiteral(text, start, start + written.length) ||
        ((cue.end < 0 || start - cue.end > 3) && isCount(text, start)) ||
        ((cue.end < 0 || start - cue.end > 24) && isQuantity(text, start, start + written.length))
      if (isNumberIn('CN', digits) && digits !== powerOfTwo && !isNoPhone) {
        const end = start + written.length
        const found = phone(text, start, end, digits, 0.85)
        const isBare = length === 11 && (cue.end < 0 || start - cue.end > cueReach)
        return isBare && mayBeInteger(text, start, end) ? lowConfidence(found) : found
      }
    }
  }
  const isNear = cue.end >= 0 && from - cue.end <= cueReach
  const between = isNear ? text.slice(cue.end, from) : ''
  const isLed = isNear && leadsToNumber(between)
  const isCalled = isLed || (isNear && mayLeadToNumber(between))
  // In an object after the cue, a number may be anything.
  const isAmbiguous = cue.isAmbiguous || between.includes('{') || (!isLed && !/[:：]\s?$/.test(between))
  if (length === 3 || (length === 1 && lead === 49)) {
    const found =
      americanAt(text, from, isCalled && !isAmbiguous) ??
      (from === start ? undefined : americanAt(text, start, isCalled && !isAmbiguous))
    if (found) return found
  }
  if (lead > 48 && inAddress.test(text.slice(Math.max(0, start - 12), start))) {
    const digits = text.slice(start, start + length)
    if (isInternationalNumber(digits)) return phone(text, start, start + length, digits, 0.9)
  }
  if (!isCalled) return undefined
  const groups = groupsAt(text, from, false)
  if (groups === undefined || isDecimal(groups) || isRowOfDigits(groups)) return undefined
  const last = groups.ends.at(-1) ?? from
  const written = text.slice(from, last)
  // A date begins with one or two digits or a year; the others begin with another digit than zero.
  const isLong = lead === 48 && isDigit(text, start + 1) && isDigit(text, start + 2)
  const isLaw = law.test(written) && from - cue.end > 3
  if (!isLong && (date.test(written) || years.test(written) || isLaw || roundRange.test(written))) return undefined
  if (groups.digits.startsWith('00')) {
    const found = callable(text, from, groups, (digits) => isInternationalNumber(digits.slice(2)))
    if (found) return phone(text, from, found.end, found.digits, 0.85)
  }
  if (isAmbiguous && (version.test(written) || !hasForm(text, from, groups, last))) return undefined
  const found = callable(text, from, groups, (digits) => !counted.test(digits) && isNationalNumber(digits))
  // A cut number after an ambiguous word is a row of numbers.
  if (found === undefined || (isAmbiguous && found.isCut)) return undefined
  // The form of a Brazilian postal code, whose name is the Turkish word for a mobile telephone.
  if (/^\d{5}-\d{3}$/.test(written) && /(?<!\p{L})cep$/iu.test(text.slice(Math.max(0, cue.end - 4), cue.end)))
    return undefined
  const called = phone(text, from, found.end, found.digits, 0.75)
  const isDoubtful =
    (isAmbiguous && release.test(written)) ||
    (found.isCut && isFollowedByNumber(text, text.slice(from, found.end), found.end))
  return isDoubtful ? lowConfidence(called) : called
}
