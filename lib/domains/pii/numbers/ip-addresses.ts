import { beginsWord, isAlphanumeric, isDigit, isHex } from '#lib/domains/pii/matching.ts'
import { finding, lowConfidence, type SensitiveFinding } from '#lib/domains/pii/findings.ts'

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
export function ipv4At(text: string, start: number): SensitiveFinding | undefined {
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
