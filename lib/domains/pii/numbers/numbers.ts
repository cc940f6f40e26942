import { countrySpecs } from 'ibantools'
import { finding, lowConfidence, type SensitiveFinding } from '../findings.ts'
import { beginsWord, isAlphanumeric, isDigit, isHex } from '../matching.ts'
import { cueReach, leadsToNumber, nationalAt, type PhoneCue } from './phones.ts'

const octets = /(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}/y
/** Words before a version, a section or an object identifier of four numbers. */
const versioned =
  /(?:versions?|releases?|builds?|firmware|revision|sections?|chapters?|clauses?|articles?|figures?|tables?|items?|steps?|appendix|paragraphs?|requirements?|rules?|level|objectidentifier|§{1,2}|\bv|\bver|\brev|\boid|\bsec|版本|第|章节|バージョン|верси[яи]|abschnitt|kapitel|\bchrom(?:e|ium)|firefox|safari|electron|webview|webkit|gecko)["'\x60]?(?:attribute|number|info|string|range|prefix)?["'\x60(]{0,2}\s{0,2}[.:=>#]{0,2}\s{0,2}["'\x60(v]{0,2}$/i
/** Words that may precede a section, and an address as well. */
const specified =
  /\b(?:(?:spec(?:ification)?|standard|sect)[.:]?|802\.\d{1,2}[a-z]{0,3}(?:-\d{4})?|html5?(?: spec)?:?)\s{0,2}["'\x60(]{0,2}$/i
/** `update V8 to 13.6.233.8`, `"v8":"4.5.103.30"`. */
const upgraded = /(?:updat|upgrad|bump|patch|downgrad)\w{0,4} [^\n]{0,32}\bto [`"']?v?$|\bv8["']?\s?[:=]\s?["']$/i
/** `upgrade from 4.18.2.1 to 4.19`: two versions. */
const upgradedFrom = /(?:updat|upgrad|bump|downgrad|migrat)\w{0,4} (?:[\w.-]{1,24} )?from [`"']?v?$/i
/** Words for what has an address: `update the DNS record to 84.23.11.10`. */
const addressed = /(?<![a-z-])(?:ips?|address(?:es)?|records?|dns|hosts?|gateway|nameserver)(?![a-z-])/i
const isUpgraded = (before: string): boolean =>
  upgraded.test(before) && !(addressed.test(before) && /to [`"']?v?$/.test(before))
/** A product before its version: `Chrome/125.0.0.0`, `pkg@1.2.3.4`, `>=1.2.3.4`. */
const ofProduct = /(?:[A-Za-z\d)]\/|[A-Za-z]@|[<>=~!^]=|~>|[\^~]|[–—]|\.\.)\s?$/
const networkPath = /(?:ip4?|ipv4|tcp|udp|host|dns|addr|from|client|server)\/$/i
const announced =
  /(?<![a-z])(?:ip|ips|ipv4|addr|address|addresses|hosts?|hostname|servers?|from|clients?|remote|peer|ping|ssh|connect(?:ed|ing|ion)?|gateway|dns|nameserver|subnet|network|cidr|node|endpoint|login|session|user|visitor|request|source|src|dst|dest|x-forwarded-for|forwarded|bind|listen|proxy|inet|route|via|firewall|allow|deny|block(?:ed)?|banned?|whitelist|blacklist|(?<!_)at(?!_)|адрес|адреса|地址|アドレス|主机)(?![a-z])[^\n]{0,32}$/i

/** Whether only the signs that {@link versioned} allows are between the position and a letter, a digit or a closing bracket before it. */
function mayFollowName(text: string, start: number): boolean {
  for (let at = start - 1; at >= 0 && start - at < 12; at--) {
    const code = text.charCodeAt(at)
    if (code > 127 || (code > 47 && code < 58) || (code | 32) > 96) return code !== 124 && code !== 125 && code !== 126
    // White space, quotation marks, and the signs # ( . : = >
    if (code > 32 && !'"#\'(.:=>\x60'.includes(text.charAt(at))) return false
  }
  return true
}
/** Products and words before the four numbers of their version. */
const numberedProduct =
  /\b(?:sqlite|perl|icu|openssl|requires?|gem|since|cef|chromium|dotnet|\.net(?: core| framework)?|jdk|jre|openjdk|sdk|driver|bios|firmware|python|ruby|php|java|node|npm|mysql|postgres\w*|nginx|apache|kernel|versions?\b[^\n]{0,16})["')]? (?:["'] ?)?$/i
/** The user of a login before an address: `ssh root@…`. */
const login =
  /(?:^|[^A-Za-z])(?:(?:ssh|scp|sftp|rsync|mosh|ftp)[ \t][^\n]{0,40}|root|admin|ubuntu|debian|centos|fedora|ec2-user|user|deploy|pi|vagrant|azureuser|opc|core|git)@$/i

/**
 * Whether four numbers look like a version, a section or an object identifier rather than an address: small numbers, or zeros at the end,
 * where nothing announces an address.
 */
function looksNumbered(text: string, written: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 48), start)
  const isNamed = mayFollowName(text, start)
  if (isNamed && (versioned.test(before.slice(-28)) || isUpgraded(before))) return true
  if (
    isNamed &&
    upgradedFrom.test(before) &&
    !addressed.test(before) &&
    /^[`"']? to [`"']?v?\d+(?:\.\d+){1,2}(?!\.?\d)/.test(text.slice(end, end + 24))
  )
    return true
  // Coordinates of a drawing: `m6.75 3.94.53.53 2.82`.
  if (/(?:^|[^\d.])\d*(?:\.\d+){1,2}[ ,]$/.test(before.slice(-16))) return true
  if (
    /[A-Za-z]@$/.test(before.slice(-2)) &&
    (login.test(before) || written.split('.').some((part) => Number(part) > 60))
  )
    return false
  if (ofProduct.test(before.slice(-3)) && !networkPath.test(before.slice(-8)) && !/\/\/$/.test(before)) return true
  if (isNamed && /^[–—-]\d/.test(text.slice(end, end + 2)) && versioned.test(before.slice(-28))) return true
  const parts = written.split('.').map(Number)
  const isFew = parts.filter((part) => part < 20).length > 2
  const isSmall =
    (isFew && numberedProduct.test(before)) ||
    parts.every((part) => part < 40) ||
    (parts[0] ?? 0) < 3 ||
    /\.0\.0$/.test(written)
  if (/^[-+]\d{0,4}[a-z]/i.test(text.slice(end, end + 6))) return true
  const isTyped = /^(?:\/\d|:\d{2,5}(?!\d))/.test(text.slice(end, end + 7))
  if (!isSmall || isTyped || ofMany.test(written)) return false
  const isAnnounced =
    announced.test(before) && !(isFew && /versions?(?:[\s:=v"']{0,4}|\b[^\n]{0,16} ["'] ?)$/i.test(before))
  return !isAnnounced
}
/** Addresses of no particular host: this network, loopback, and masks. */
const ofNobody = /^(?:0|127|255)\./
/** RFC 1918, 6598, 3927, 5737, 2544, multicast and reserved addresses, public resolvers, and common examples. */
const ofMany =
  /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|169\.254\.|192\.0\.[02]\.|198\.51\.100\.|203\.0\.113\.|198\.1[89]\.|22[4-9]\.|23\d\.|24\d\.|25\d\.|(?:8\.8\.(?:8\.8|4\.4)|1\.1\.1\.[123]|1\.0\.0\.[123]|9\.9\.9\.(?:9|10|11)|149\.112\.112\.112|208\.67\.22[02]\.22[02]|223\.[56]\.[56]\.[56]|114\.114\.11[45]\.11[45]|4\.2\.2\.[1-6]|1\.2\.3\.4|(\d{1,3})\.\1\.\1\.\1)$)/

/** The IPv4 address that starts here. */
function ipv4At(text: string, start: number): SensitiveFinding | undefined {
  octets.lastIndex = start
  const written = octets.exec(text)?.[0]
  if (written === undefined || ofNobody.test(written)) return undefined
  const end = start + written.length
  if (isAlphanumeric(text, end) || (text.charAt(end) === '.' && isDigit(text, end + 1))) return undefined
  if (looksNumbered(text, written, start, end)) return undefined
  const found = finding('ip', start, end, 0.9)
  const isOther = ofMany.test(written) || isNetwork(text, end, written.endsWith('.0')) || mayBeSection(text, start, end)
  return isOther ? lowConfidence(found) : found
}
/** A section of a specification, as of HTML or ECMAScript: `HTML5 spec (13.2.5.73 …`, `19.1.3.6 Object.prototype.toString()`. */
const mayBeSection = (text: string, start: number, end: number): boolean =>
  specified.test(text.slice(Math.max(0, start - 28), start)) ||
  /^ [A-Z]\w{2,30}\.prototype\./.test(text.slice(end, end + 42))
/** Whether the address is that of a network, as in `192.31.196.0/24`, and not of a host. */
const isNetwork = (text: string, end: number, hasNoHost: boolean): boolean =>
  hasNoHost && /^\/(?:[12]?\d|3[01]|[4-9]\d|1[01]\d)(?!\d)/.test(text.slice(end, end + 5))

const isHexOrColon = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at)
  return isHex(text, at) || code === 58 || code === 46
}
/** Global unicast, unique local, link-local, multicast, NAT64 and IPv4-mapped addresses. */
const usualFirst = /^(?:2[0-9a-f]{3}|3ff[ef]|f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]|ff0[0-9a-f]|64):/i
const ofManyV6 =
  /^(?:::1?$|f[cd][0-9a-f]{2}:|fe[89ab][0-9a-f]:|ff[0-9a-f]{2}:|2001:0?db8:|3fff:|2001:4860:4860::88|2606:4700:4700::1(?:111|001)|2620:fe::|64:ff9b:1:)/i

/** Addresses in full that documentation uses (`1:2:3:4:5:6:7:8`, `0:0:0:0:0:0:0:1`), NAT64's prefix, and mapped addresses of no particular host. */
function isOfNobody(groups: readonly string[]): boolean {
  const last = groups.at(-1) ?? ''
  if (last.includes('.')) return ofMany.test(last) || ofNobody.test(last)
  return groups.every((group) => /^0{0,3}[0-9a-f]$/i.test(group)) || groups.join(':').toLowerCase() === '64:ff9b'
}

/** RFC 4291: the groups as written, in a text of hexadecimal digits, colons and dots; undefined if it is not an address. */
function groupsOf(written: string): string[] | undefined {
  const gap = written.indexOf('::')
  if (gap >= 0 && written.indexOf('::', gap + 2) >= 0) return undefined
  const groups = gap < 0 ? written.split(':') : partsOf(written.slice(0, gap)).concat(partsOf(written.slice(gap + 2)))
  const last = groups.at(-1) ?? ''
  const isMixed = last.includes('.')
  if (isMixed) {
    octets.lastIndex = 0
    if (octets.exec(last)?.[0] !== last) return undefined
  }
  const plain = isMixed ? groups.length - 1 : groups.length
  for (let at = 0; at < plain; at++) {
    const group = groups[at] ?? ''
    if (group === '' || group.length > 4 || group.includes('.')) return undefined
  }
  const count = isMixed ? plain + 2 : plain
  return (gap >= 0 ? count < 8 : count === 8) ? groups : undefined
}
const partsOf = (half: string): string[] => (half === '' ? [] : half.split(':'))
/** Excludes scopes in code (`a::b`), times and hardware addresses: an unusual first group requires further signs of an address. */
function isAddress(written: string, groups: readonly string[]): boolean {
  if (usualFirst.test(written) || /^::ffff:(?:0:)?\d/i.test(written) || /^::1$/.test(written)) return true
  if (!written.includes('::')) return groups.some(({ length }) => length !== 2)
  return groups.length >= 3 && groups.some(({ length }) => length >= 3) && /\d/.test(written)
}

/** The IPv6 address whose first colon is here: in full, compressed, ending in an IPv4 address, in brackets, or with a zone. */
export function ipv6Around(text: string, colon: number): SensitiveFinding | undefined {
  if (!isHexOrColon(text, colon + 1)) return undefined
  let start = colon
  while (start > 0 && colon - start < 5 && isHex(text, start - 1)) start -= 1
  if (colon - start > 4) return undefined
  if (isAlphanumeric(text, start - 1)) {
    // An escaped line end may precede the address; a name and its colon may (`ip:::1`).
    const isName =
      colon === start &&
      /(?:^|[^A-Za-z])(?:ip|ipv6|addr|address|host|server|client|from)$/i.test(
        text.slice(Math.max(0, start - 8), start),
      )
    if (isName) return text.charAt(colon + 1) === ':' ? undefined : ipv6From(text, colon + 1)
    if (!beginsWord(text, start)) return undefined
  } else if (text.charAt(start - 1) === ':') {
    if (!/[g-z\u0080-\uffff"'][a-z\d]{0,3}$/i.test(text.slice(Math.max(0, start - 6), start - 1))) return undefined
  } else if (/[._-]/.test(text.charAt(start - 1))) return undefined
  return ipv6From(text, start)
}

/** Text of a source map: numbers between semicolons, with signs for jumps. */
const ofMap = /^(?:[\d:;-]|:[io])+$/

const isMap = (around: string): boolean => ofMap.test(around) && /:[io-]|;;;|:;/.test(around)
/** Whether the unit at the end of what may be an address is a full stop, or a single colon after something else. */
const isStop = (text: string, start: number, at: number): boolean =>
  text.charCodeAt(at) === 46 || (text.charCodeAt(at) === 58 && at > start && text.charCodeAt(at - 1) !== 58)

/** The IPv6 address that starts here. */
function ipv6From(text: string, start: number): SensitiveFinding | undefined {
  let end = start
  let colons = 0
  for (; end < text.length && end - start < 48 && isHexOrColon(text, end); end++)
    if (text.charCodeAt(end) === 58) colons += 1
  // The shortest address has two colons.
  if (colons < 2 || isAlphanumeric(text, end)) return undefined
  const whole = end
  while (end > start && isStop(text, start, end - 1)) end -= 1
  const written = text.slice(start, end)
  const groups = groupsOf(written)
  if (groups === undefined || !isAddress(written, groups)) return undefined
  // A source map of a compiler: `;2391:304::-;2509:7;`
  const isInMap = text.charCodeAt(start - 1) === 59 && isMap(text.slice(Math.max(0, start - 12), whole + 12))
  const found = finding('ip', start, start + written.length, 0.9)
  const isOfNoHost = isOfNobody(groups) || isNetwork(text, start + written.length, /::$|:0:0$/.test(written))
  return ofManyV6.test(written) || isOfNoHost || isInMap ? lowConfidence(found) : found
}

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
