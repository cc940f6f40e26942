import { parsePhoneNumberFromString } from 'libphonenumber-js'
import { type Finding, finding } from './findings.ts'
import { isAlphanumeric, isDigit } from './signs.ts'

/** ISO/IEC 7812-1: Luhn. */
function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let at = digits.length - 1, place = 0; at >= 0; at--, place++) {
    const value = Number(digits[at]) * (place % 2 === 1 ? 2 : 1)
    sum += value > 9 ? value - 9 : value
  }
  return sum % 10 === 0
}

/** The first digits that the networks issue, as ranges of their first six, with the lengths of their numbers. */
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
/** Luhn, and the issuer's digits and length. Digits alone. */
function isCardNumber(digits: string): boolean {
  const lead = Number(digits.slice(0, 6))
  return (
    issuers.some(([from, to, lengths]) => lead >= from && lead <= to && lengths.includes(digits.length)) &&
    !/^(\d)\1+$/.test(digits) &&
    passesLuhn(digits)
  )
}

interface Groups {
  digits: string[]
  ends: number[]
  gaps: string[]
}
const gap = /^(?:[ \u00a0\u202f]{1,2}|[-.\u2010-\u2013]|[ \t]{0,4}\r?\n[ \t>*]{0,6})/
/** Groups of digits from there, six at most and none longer than a card, with what stands between them. */
function groupsFrom(text: string, start: number): Groups {
  const groups: Groups = { digits: [], ends: [], gaps: [] }
  for (let at = start; groups.digits.length < 6; ) {
    let end = at
    while (end - at < 20 && isDigit(text, end)) end += 1
    if (end === at) break
    groups.digits.push(text.slice(at, end))
    groups.ends.push(end)
    const between = gap.exec(text.slice(end, end + 14))?.[0] ?? ''
    if (between === '' || !isDigit(text, end + between.length)) break
    groups.gaps.push(between)
    at = end + between.length
  }
  return groups
}

/** As cards are printed. */
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
const isIn = (groups: Groups, form: readonly number[]): boolean =>
  form.every((length, at) => groups.digits[at]?.length === length)

function cardAmong(text: string, start: number, groups: Groups): Finding | undefined {
  for (const form of cardGroups) {
    if (!isIn(groups, form)) continue
    const end = groups.ends[form.length - 1] ?? start
    const next = groups.gaps[form.length - 1]
    if (isAlphanumeric(text, end) || /^[-.\u2010-\u2013]$/.test(next ?? '')) continue
    // A row of more groups of four is no card.
    if (next !== undefined && form.length > 3 && groups.digits[form.length]?.length === 4 && !next.includes('\n'))
      continue
    if (isCardNumber(groups.digits.slice(0, form.length).join(''))) return finding('card', start, end, 1)
  }
  return undefined
}

const social = /ssn|social[ -]?security|taxpayer id/i
/** The Social Security Administration's: no area 000, 666 or 9xx, no group 00, no serial 0000, and not the two that were printed for show. */
const isSocialSecurity = (digits: string): boolean =>
  /^(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}$/.test(digits) && digits !== '078051120' && digits !== '219099999'

function socialAmong(text: string, start: number, groups: Groups): Finding | undefined {
  const isWhole = groups.digits[0]?.length === 9
  if (!isWhole && !isIn(groups, [3, 2, 4])) return undefined
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
  return finding('ssn', start, end, isCalledSo ? 0.95 : 0.85)
}

const calling =
  /(?:\btel(?:ephone|efon|éfono|efono)?|t[ée]l(?:éphone)?|phone|mobile|cell|fax|call(?: me| us)?(?: at| on)?|handy|mobil|ring|whatsapp|sms|hotline|电话|手机|電話|携帯|전화)(?: number| no| nr)?[^\p{L}\p{N}\n]{0,12}(?:is |at |on |war |ist )?$/iu
const national = ['GB', 'DE', 'FR', 'JP', 'AU', 'IN'] as const
const phoneRun = /[+(]?\d(?:[\d\u00a0\u202f ().\u2010-\u2013/-]|\r?\n[ >*]{0,6}(?=\d)){5,32}/y

/** A number to call, as long as it can be: what follows a gap falls away until the rest is one. */
function callable(text: string, start: number, region?: 'US' | 'CN' | (typeof national)[number]): number | undefined {
  phoneRun.lastIndex = start
  const run = phoneRun.exec(text)?.[0]
  if (run === undefined) return undefined
  const upToLine = /\r?\n/.exec(run)?.index
  const ends = new Set([upToLine ?? run.length, run.length])
  for (const match of [...run.matchAll(/\D+/g)].reverse()) if (ends.size < 6) ends.add(match.index)
  for (const length of ends) {
    const ended = run.slice(0, length).replace(/[^\d)]+$/, '')
    const written = ended.includes('(') ? ended : ended.replace(/[^\d]+$/, '')
    const digits = written.replace(/\D/g, '').length
    if (digits < 7 || digits > 15 || isDigit(text, start + written.length)) continue
    if (isAlphanumeric(text, start + written.length) && !/^x\d/i.test(text.slice(start + written.length))) continue
    if (parsePhoneNumberFromString(written.replaceAll('\n', ' '), region)?.isValid()) return start + written.length
  }
  return undefined
}
const phone = (start: number, end: number | undefined, score: number): Finding | undefined =>
  end === undefined ? undefined : finding('phone', start, end, score)

/** ITU-T E.164: the number behind a `+` there, valid in its country. */
export function internationalAt(text: string, at: number): Finding | undefined {
  if (isAlphanumeric(text, at - 1) || text.charAt(at - 1) === '+') return undefined
  let digits = 0
  for (let next = at + 1; next < at + 24; next++) if (isDigit(text, next)) digits += 1
  return digits < 7 ? undefined : phone(at, callable(text, at), 0.95)
}

const american = /\(?[2-9]\d{2}\)?[ \u00a0.\u2010-\u2013-]{1,2}[2-9]\d{2}[ \u00a0.\u2010-\u2013-]\d{4}(?!\d|[-.]\d)/y
const chinese = /1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\d|[-.]\d)/y

/** A national number without a code: the USA's written as a number, a mainland mobile, and others' where the text says that it is one to call. */
function nationalAt(text: string, start: number): Finding | undefined {
  const from = text.charAt(start - 1) === '(' ? start - 1 : start
  const lead = text.charAt(start)
  if (lead === '1') {
    chinese.lastIndex = start
    const written = chinese.exec(text)?.[0]
    if (
      written !== undefined &&
      !isAlphanumeric(text, start + written.length) &&
      parsePhoneNumberFromString(written, 'CN')?.isValid()
    )
      return finding('phone', start, start + written.length, 0.85)
  }
  for (const place of from === start ? [start] : [from, start]) {
    american.lastIndex = place
    const written = american.exec(text)?.[0]
    const isWhole = written !== undefined && written.includes('(') === written.includes(')')
    if (
      isWhole &&
      !isAlphanumeric(text, place + written.length) &&
      parsePhoneNumberFromString(written, 'US')?.isValid()
    )
      return finding('phone', place, place + written.length, 0.85)
  }
  if ((lead === '0' || text.charAt(start - 1) === '(') && calling.test(text.slice(Math.max(0, from - 40), from))) {
    if (text.startsWith('00', start)) {
      const end = callable(`+${text.slice(start + 2, start + 48)}`, 0)
      if (end !== undefined) return phone(from, start + 1 + end, 0.85)
    }
    for (const region of national) {
      const end = callable(text, from, region)
      if (end !== undefined) return phone(from, end, 0.75)
    }
  }
  return undefined
}

const octets = /(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}/y
const versioned =
  /(?:version|release|build|firmware|section|chapter|clause|figure|table|§|\bv|\bver|\boid|版本)[.:]? {0,2}$/i
/** Of nobody: this network, one's own machine, masks and groups. */
const ofNobody = /^(?:0|127|22[4-9]|23\d|24\d|25\d)\./
function ipv4At(text: string, start: number): Finding | undefined {
  octets.lastIndex = start
  const written = octets.exec(text)?.[0]
  if (written === undefined || ofNobody.test(written)) return undefined
  const end = start + written.length
  if (isAlphanumeric(text, end) || (text.charAt(end) === '.' && isDigit(text, end + 1))) return undefined
  if (versioned.test(text.slice(Math.max(0, start - 12), start))) return undefined
  return finding('ip', start, end, 0.9)
}

/** Whether what stands before a number says that it is a part of something else: of a decimal, an id, an amount. */
function isInside(text: string, start: number): boolean {
  const before = text.charCodeAt(start - 1)
  if (before === 95 || before === 36) return true
  return (before === 46 || before === 44 || before === 45) && isAlphanumeric(text, start - 2)
}

/** What a number of the word from `start` to `end` begins: a card, a social security number, a telephone number, an address of IPv4. */
export function numbersAt(text: string, start: number, end: number): Finding | undefined {
  if (isInside(text, start)) return undefined
  const length = end - start
  if (length <= 3 && text.charAt(end) === '.') {
    const ip = ipv4At(text, start)
    if (ip) return ip
  }
  // Most numbers stand alone and are short: a year, an amount, a line of a list.
  if (length < 7 && !goesOn(text, end)) return undefined
  const groups = groupsFrom(text, start)
  return cardAmong(text, start, groups) ?? socialAmong(text, start, groups) ?? nationalAt(text, start)
}
/** Whether more digits follow behind one or two signs, or behind the end of the line. */
function goesOn(text: string, end: number): boolean {
  const next = text.charCodeAt(end)
  if (next === 10 || next === 13) return true
  return isDigit(text, end + 1) || (isDigit(text, end + 2) && !isAlphanumeric(text, end + 1))
}

const hexOrColon = /[0-9a-fA-F:.]/
/** Global unicast, unique local, link local, NAT64, and IPv4 mapped: what else is written so is seldom an address. */
const usualFirst = /^(?:[23][0-9a-f]{3}|f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]|64):/i
function isIpv6(written: string): boolean {
  const halves = written.split('::')
  if (halves.length > 2) return false
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')))
  const last = groups.at(-1) ?? ''
  let count = groups.length
  if (last.includes('.')) {
    octets.lastIndex = 0
    if (octets.exec(last)?.[0] !== last) return false
    groups.pop()
    count += 1
  }
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return false
  return halves.length === 2 ? count < 8 : count === 8
}

/** RFC 4291: the address of IPv6 whose first colon stands there. */
export function ipv6Around(text: string, colon: number): Finding | undefined {
  const next = text.charAt(colon + 1)
  if (!hexOrColon.test(next)) return undefined
  let start = colon
  while (start > 0 && colon - start < 5 && /[0-9a-fA-F]/.test(text.charAt(start - 1))) start -= 1
  if (colon - start > 4 || isAlphanumeric(text, start - 1) || /[:._-]/.test(text.charAt(start - 1))) return undefined
  let end = colon + 1
  while (end < text.length && end - start < 48 && hexOrColon.test(text.charAt(end))) end += 1
  if (isAlphanumeric(text, end)) return undefined
  let written = text.slice(start, end)
  while (/[.]$|[^:]:$/.test(written)) written = written.slice(0, -1)
  const isUsual = usualFirst.test(written) || /^::ffff:\d/i.test(written)
  return isUsual && isIpv6(written) ? finding('ip', start, start + written.length, 0.9) : undefined
}
