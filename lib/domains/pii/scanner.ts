import { searchDecoded } from '#lib/text/encoded-parts.ts'
import { finding, lowConfidence, type SensitiveFinding, withoutOverlaps } from './findings.ts'
import { anchor, classes, digit, isDigit, isHex, KeywordFinder, letterSign, wide } from './matching.ts'
import { gluedIbanAt, gluedNumberAt, ibanAt, ipv6Around, numbersAt } from './numbers/numbers.ts'
import { cueAt, internationalAt, isAmbiguousCue, leadsToNumber, type PhoneCue, phoneCues } from './numbers/phones.ts'
import { secretNames } from './secrets/assignments.ts'
import { chainsIn } from './secrets/blockchain-addresses.ts'
import { ColumnReader, type SecretColumns } from './secrets/columns.ts'
import { credentialAt, credentialKeywords } from './secrets/credentials.ts'
import { otherKeyAt, pemAt, privateKeyKeywords } from './secrets/private-keys.ts'
import { hashStart, hashStep, maybeWord, SeedRun, shortest, unspacedSeed } from './secrets/seed-phrases.ts'
import { numberedKeyAt, unmarkedKeyAt, vendorKeysAt, vendorKeywords } from './secrets/vendor-keys.ts'
import { strategyDetails } from './strategy.ts'

export interface ScanOptions {
  /** Also finds position sizes, entry prices and exit prices. */
  strategy?: boolean
  /** With `strategy`: also report the parameters of trading rules. */
  strategyRules?: boolean
}
/** The text is a piece of a longer one. */
interface Piece {
  /** Whether it begins within the longer text, so that its first line may be the rest of a line. */
  isContinued: boolean
  /** Receives each table in which secrets are found by the name of their column. */
  onColumns: (columns: SecretColumns) => void
}

/** Maximum length of a tag or an entity, whose words are not part of the text. */
const tagReach = 120
const entityReach = 10
/** Minimum length of a blockchain key or address. */
const leastAddress = 26
const maxKey = 120

/** End of the tag that starts here; the position itself if there is none. */
function tagEnd(text: string, at: number): number {
  const next = text.charCodeAt(at + 1)
  if (next !== 47 && !(next > 64 && next < 91) && !(next > 96 && next < 123)) return at
  const end = text.slice(at, at + tagReach).indexOf('>')
  return end < 0 ? at : at + end
}
function entityEnd(text: string, at: number): number {
  const end = text.slice(at, at + entityReach).indexOf(';')
  return end < 2 ? at : at + end
}
const encodedSign = /&(?:#0{0,4}64|#x0{0,4}40|commat);/iy
/** Length of an @ as a character reference that starts here; 0 if there is none. */
function encodedAt(text: string, at: number): number {
  if (text.charCodeAt(at + 1) !== 35 && text.charCodeAt(at + 1) !== 99) return 0
  encodedSign.lastIndex = at
  return encodedSign.exec(text)?.[0].length ?? 0
}
/** Forms in which people hide an @ from programs that collect addresses: `bob [at] host.org`. */
const hiddenSigns = ['[at]', '(at)', '{at}', '<at>', '[arroba]', '(arroba)', '(ät)', '[ät]']
const hiddenDomain =
  /\s?(?:[\p{L}\d](?:[\p{L}\d-]{0,61}[\p{L}\d])?(?:\.|\s?[[({<](?:dot|punto|ponto|punkt|point)[\])}>]\s?|\s(?:dot|punto|ponto|punkt|point)\s)){1,5}(\p{L}{2,24})(?![\p{L}\d_])/iuy
/** The email address around a hidden @ from `start` to `end`. */
function hiddenEmailAt(text: string, start: number, end: number): SensitiveFinding | undefined {
  const name = /(?<![\p{L}\p{N}_.+-])[\p{L}\d_][\p{L}\d_.+-]{0,63}\s?$/u.exec(
    text.slice(Math.max(0, start - 66), start),
  )?.[0]
  if (name === undefined) return undefined
  hiddenDomain.lastIndex = end
  const match = hiddenDomain.exec(text)
  if (!match || files.has((match[1] ?? '').toLowerCase())) return undefined
  const labels = match[0]
    .split(/[^\p{L}\p{N}-]/u)
    .filter((label) => label !== '' && !/^(?:dot|punto|ponto|punkt|point)$/i.test(label))
  const found = finding('email', start - name.length, end + match[0].length, 0.8)
  return isPlaceholder(name.trim(), labels) ? lowConfidence(found) : found
}
/** Between the parts of an address that is written in words: `bob at host dot net`. */
const spokenDots = ['dot ']
const spokenName =
  /(?<![\p{L}\p{N}_.+@-])([\p{L}\d_][\p{L}\d_.+-]{0,63})\s{1,2}at\s{1,2}([\p{L}\d](?:[\p{L}\d-]{0,61}[\p{L}\d])?)$/iu
const spokenEnd =
  /(?:[\p{L}\d-]{1,63}\s{1,2}dot\s{1,2}){0,3}(com|net|org|edu|gov|info|io|dev|ai|app|biz|name|me|co|eu|[a-z]{2})(?![\p{L}\d_-])(?!\s{1,2}dot\s)/iuy
/** Words before a place on the web that are no name: "visit us at example dot com". */
const noName =
  /^(?:us|me|it|them|him|her|you|they|we|he|she|i|this|that|these|those|which|who|look(?:s|ed|ing)?|shop(?:s|ping)?|buy|bought|found|find|available|online|visit|here|there|up|sign|sold|read|more|hosted|live|order|check|work(?:s|ed|ing)?|is|are|was|were|be|be?en|and|or|not|only|also|page|site|website|blog|store|documentation|docs|information|info|details|article|free|out|now|today|down|over|again|directly|team|people|everyone|support(?:ed)?|posted|published|registered|located|meet|start(?:s|ed)?|stop(?:s|ped)?|point(?:s|ed|ing)?|arriv(?:e|es|ed)|click|hosted|run(?:s|ning)?|see|learn|job|jobs|careers?|engineer|developer|manager|director|ceo|cto)$/i
const noHost =
  /^(?:the|a|an|this|that|each|every|any|some|our|your|my|its|his|her|their|least|most|all|one|first|last|same)$/i
/** A spoken dot may belong to a program or a price: then its end is a number or a word of the sentence. */
const wordsOfTwo = /^(?:is|it|in|of|on|or|so|to|we|if|as|at|be|by|do|go|he|my|no|up|us|am|an|ok)$/i
/** Ends of domains that are also names of properties or files. */
const propertyEnds = /^(?:ai|app|biz|cc|co|db|dev|go|id|info|io|ip|js|md|me|name|py|rs|sh|so|to|ts|tv)$/i
const spokenCue = /\b(?:e-?mails?|mail|write|contact|reach|address|send|message|reply|ping)\b/i
/** The email address around the first spoken dot after its sign. Uncertain if it may be a property ("the value at node dot name"). */
function spokenEmailAt(text: string, start: number, end: number): SensitiveFinding | undefined {
  const before = text.charCodeAt(start - 1)
  if (before !== 32 && before !== 10) return undefined
  const from = Math.max(0, start - 140)
  const lead = text.slice(from, start).trimEnd()
  const match = /\sat\s{1,2}\S{1,63}$/i.test(lead.slice(-70)) ? spokenName.exec(lead) : null
  if (!match) return undefined
  const [whole, name = '', host = ''] = match
  if (noName.test(name) || noHost.test(host)) return undefined
  spokenEnd.lastIndex = end
  const last = spokenEnd.exec(text)
  if (!last || wordsOfTwo.test(last[1] ?? '')) return undefined
  const labels = `${host} dot ${last[0]}`.split(/\s{1,2}dot\s{1,2}/i)
  const found = finding('email', from + lead.length - whole.length, spokenEnd.lastIndex, 0.8)
  const isProperty =
    propertyEnds.test(last[1] ?? '') && !/[._\d]/.test(name) && !spokenCue.test(lead.slice(0, -whole.length))
  return isProperty || isPlaceholder(name, labels) ? lowConfidence(found) : found
}
const isIbanHead = (text: string, start: number): boolean =>
  isDigit(text, start + 2) && isDigit(text, start + 3) && !isDigit(text, start) && !isDigit(text, start + 1)

const words = [
  ...new Set([
    ...vendorKeywords,
    ...credentialKeywords,
    ...phoneCues,
    ...privateKeyKeywords,
    ...hiddenSigns,
    ...spokenDots,
  ]),
]
const [forVendor, forCredential, forCue, forAmbiguousCue, forPrivateKey, forHiddenSign, forSpokenDot] = [
  1, 2, 4, 8, 16, 32, 64,
]
/** What each keyword may begin, as bits. */
const uses = ((): Uint8Array => {
  const [vendors, credentials, cues] = [new Set(vendorKeywords), new Set(credentialKeywords), new Set(phoneCues)]
  const keys = new Set(privateKeyKeywords)
  return Uint8Array.from(
    words,
    (word) =>
      (vendors.has(word) ? forVendor : 0) |
      (credentials.has(word) ? forCredential : 0) |
      (cues.has(word) ? forCue : 0) |
      (isAmbiguousCue(word) ? forAmbiguousCue : 0) |
      (keys.has(word) ? forPrivateKey : 0) |
      (hiddenSigns.includes(word) ? forHiddenSign : 0) |
      (spokenDots.includes(word) ? forSpokenDot : 0),
  )
})()
let finder: KeywordFinder | undefined

/** After this many occurrences of a keyword in a row, with hardly anything between them, the text contains no secret, only work. */
const maxInRow = 16
/**
 * Most units between occurrences of a keyword in a row: the shortest key of a vendor is longer, and so is the shortest password with the signs
 * before and after it, or as the value of an option.
 */
const [betweenKeys, betweenNames, betweenOptions] = [9, 6, 5]
const namesOfSecrets = new Set(secretNames)
const between = Uint8Array.from(words, (word, at) =>
  ((uses[at] ?? 0) & forVendor) > 0 ? betweenKeys : namesOfSecrets.has(word) ? betweenNames : betweenOptions,
)
/** Counts occurrences of each keyword in a row, so that repeated keywords cost linear time. */
class Rows {
  readonly #ends = new Int32Array(words.length).fill(-1_000)
  readonly #counts = new Uint8Array(words.length)

  isRow(word: number, length: number, end: number, max: number): boolean {
    const gap = end - length - (this.#ends[word] ?? 0)
    const count = gap <= max ? Math.min((this.#counts[word] ?? 0) + 1, maxInRow) : 0
    this.#ends[word] = end
    this.#counts[word] = count
    return count >= maxInRow
  }
}

/** Adds keys and credentials to `found`; returns the words that announce a phone number, in order. */
function atKeywords(text: string, findings: SensitiveFinding[], piece?: Piece): PhoneCue[] {
  const cues: PhoneCue[] = []
  const credentials: SensitiveFinding[] = []
  const inColumns: SensitiveFinding[] = []
  let columns: ColumnReader | undefined
  let rows: Rows | undefined
  finder ??= new KeywordFinder(words)
  finder.find(text, (word, end) => {
    const keyword = words[word] ?? ''
    const start = end - keyword.length
    const use = uses[word] ?? 0
    rows ??= new Rows()
    const isKey = (use & (forVendor | forCredential | forPrivateKey)) > 0
    if (isKey && rows.isRow(word, keyword.length, end, between[word] ?? 0)) return
    if ((use & forPrivateKey) > 0) {
      const key = otherKeyAt(text, keyword, start)
      if (key) findings.push(key)
    }
    if ((use & forHiddenSign) > 0) {
      const email = hiddenEmailAt(text, start, end)
      if (email) findings.push(email)
    }
    if ((use & forSpokenDot) > 0) {
      const email = spokenEmailAt(text, start, end)
      if (email) findings.push(email)
    }
    if ((use & forVendor) > 0) vendorKeysAt(text, keyword, start, findings)
    if ((use & forCredential) > 0) {
      const span = credentialAt(text, keyword, start)
      if (span && credentials.at(-1)?.end !== span.end) {
        const found = finding('api_key', span.start, span.end, 0.8)
        credentials.push(span.isPublished === true ? lowConfidence(found) : found)
      }
    }
    if (namesOfSecrets.has(keyword)) {
      columns ??= new ColumnReader(text, piece?.isContinued)
      const table = columns.at(start, end)
      for (const secret of table?.secrets ?? []) {
        const found = finding('api_key', secret.start, secret.end, 0.8)
        inColumns.push(secret.isPublished ? lowConfidence(found) : found)
      }
      if (table) piece?.onColumns(table)
    }
    const cue = (use & forCue) > 0 ? cueAt(text, start, end) : undefined
    if (cue !== undefined) {
      const last = cues.at(-1)
      const isClear =
        last?.isAmbiguous === false && start - last.end <= 20 && leadsToNumber(text.slice(last.end, start))
      // A clear cue before it makes this one clear: `Tlf.nr.`, `Tel. direct`.
      const isAmbiguous = !isClear && ((use & forAmbiguousCue) > 0 || cue === 'stem')
      // The longer of two words with one end decides: `handynummer` and `nummer`.
      if (last?.end === end) last.isAmbiguous &&= isAmbiguous
      else cues.push({ end, isAmbiguous })
    }
  })
  // A vendor's format gives the exact end of the key, so it takes precedence.
  addApart(findings, credentials)
  if (inColumns.length > 0) addApart(findings, inColumns)
  return cues
}
/** Adds those that overlap none of the findings. */
function addApart(findings: SensitiveFinding[], others: readonly SensitiveFinding[]): void {
  const known = findings.toSorted((one, other) => one.start - other.start)
  let at = 0
  for (const one of others) {
    while (at < known.length && (known[at]?.end ?? 0) <= one.start) at += 1
    if ((known[at]?.start ?? Number.POSITIVE_INFINITY) >= one.end) findings.push(one)
  }
}
const noCue: PhoneCue = { end: -1, isAmbiguous: false }
/** A field that numbers the words of a phrase: `"word12":`. */
const isCounter = (text: string, start: number, end: number): boolean =>
  end - start <= 8 && /["':=.)\]]/.test(text.charAt(end))

const foreignSign = /[\p{L}\p{M}\p{N}]/u
const inLabel = new Uint8Array(128)
for (let code = 0; code < 128; code++) if (/[A-Za-z\d-]/.test(String.fromCharCode(code))) inLabel[code] = 1
/** Whether the unit may be part of a label of a domain: a letter, mark or digit of any script, or a hyphen. */
const isLabel = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at)
  return code < 128 ? inLabel[code] === 1 : foreignSign.test(text.charAt(at))
}
/** Whether the unit may be part of a local part. */
const isLocal = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at)
  return isLabel(text, at) || code === 46 || code === 95 || code === 37 || code === 43 || code === 39
}
const topLevel = /^(?:\p{L}[\p{L}\p{M}]{1,23}|xn--[a-z0-9-]{2,59})$/iu
/** Suffixes after an @ in names of files and packages that are not country domains. */
const files = new Set([
  'png',
  'jpg',
  'jpeg',
  'gif',
  'webp',
  'svg',
  'css',
  'js',
  'mjs',
  'cjs',
  'ts',
  'tsx',
  'jsx',
  'json',
  'html',
  'map',
  'pdf',
  'woff',
  'woff2',
  'service',
  'socket',
  'timer',
  'target',
  'mount',
  'slice',
  'tgz',
  'tar',
  'yml',
  'yaml',
  'toml',
  'lock',
  'jar',
  'dll',
  'exe',
  'vue',
  'scss',
  'less',
  'wasm',
  'txt',
  'xml',
  'csv',
])
/** Users of services for code that are part of an address of a repository: `git@host`. */
const serviceUsers = new Set(['git', 'hg', 'svn', 'gitlab', 'gitea', 'aur'])
/** Names of algorithms and extensions of SSH, whose vendors put their domain after an @ (RFC 4251, 6). */
const extensionDomain =
  /^(?:openssh\.com|libssh\.org|ssh\.com|lysator\.liu\.se|tinyssh\.org|putty\.projects\.tartarus\.org)$/i
const extensionName =
  /^(?:chacha20|aes|hmac|umac|curve25519|ecdh|ecdsa|ed25519|ssh|rsa|sk|diffie|kex|rijndael|arcfour|posix|auth|session|tun|mlkem|sntrup)\S*-|^(?:etm|v\d\d|cert|zlib|keepalive|none|hostkeys|statvfs|fstatvfs|hardlink|fsync|limits|agent|no)$/i
const longestLocal = 64
const longestDomain = 253

/**
 * The email address around an @, or around its encoded form of `signLength` units, as `%40` or `&#64;` (lengths of RFC 5321, letters of RFC 6531): labels that can form a host, and a top-level domain of letters.
 */
function emailAround(text: string, at: number, signLength = 1): SensitiveFinding | undefined {
  // Most signs are followed by no domain.
  if (!isLabel(text, at + signLength)) return undefined
  let start = at
  while (start > 0 && at - start <= longestLocal && isLocal(text, start - 1)) start -= 1
  if (at - start > longestLocal) return undefined
  // An escaped line end (\n) can precede the address. Skip its letter n.
  if (text.charAt(start - 1) === '\\' && /[nrt]/.test(text.charAt(start))) start += 1
  while (start < at && /[.'%+-]/.test(text.charAt(start))) start += 1
  // A percent-encoded sign before the address: `%3Cbob%40…`.
  const encoded = signLength === 1 ? -1 : text.slice(start, at).lastIndexOf('%') + start
  if (encoded >= start && /^%[0-9a-f]{2}/i.test(text.slice(encoded, encoded + 3))) start = encoded + 3
  if (start === at || /[.]/.test(text.charAt(at - 1)) || text.slice(start, at).includes('..')) return undefined

  let end = at + signLength
  const limit = Math.min(text.length, at + signLength + longestDomain)
  const labels: string[] = []
  for (let from = end; from < limit; ) {
    let to = from
    while (to < limit && to - from <= 63 && isLabel(text, to)) to += 1
    const written = text.slice(from, to)
    if (written === '' || written.length > 63 || written.startsWith('-')) break
    if (written.endsWith('-')) {
      const trimmed = written.replace(/-{1,63}$/, '')
      if (trimmed !== '') {
        labels.push(trimmed)
        end = from + trimmed.length
      }
      break
    }
    labels.push(written)
    end = to
    if (text.charAt(to) !== '.') break
    from = to + 1
  }
  // A sentence may continue after its full stop without a space; drop labels that are not a top-level domain.
  while (labels.length >= 2 && !topLevel.test(labels.at(-1) ?? '')) end -= (labels.pop() ?? '').length + 1
  const top = labels.at(-1) ?? ''
  if (labels.length < 2 || !topLevel.test(top) || files.has(top.toLowerCase())) return undefined
  const name = text.slice(start, at)
  if (serviceUsers.has(name.replace(/^(?:r|b|u|f|rb|br)'/i, ''))) return undefined
  // A table of a parser in text: `5@OO.YQ`.
  if (/^\d{1,2}$/.test(name) && /^[A-Z]+$/.test(top)) return undefined
  if (extensionDomain.test(labels.join('.')) && extensionName.test(name)) return undefined
  // Names of code: `x@OData.Type.V1.FormattedValue`, `com.example@Component.Inner`.
  if (/\p{Ll}\p{Lu}/u.test(top) || /^odata$/i.test(labels[0] ?? '')) return undefined
  // The user of a URL: `ssh://deploy@host/path`.
  if (
    text.charAt(start - 1) === '/' &&
    text.startsWith('://', start - 3) &&
    !/mailto$/i.test(text.slice(start - 9, start - 3))
  )
    return undefined
  const found = finding('email', start, end, 0.95)
  return isPlaceholder(name, labels) ? lowConfidence(found) : found
}

/** RFC 2606 and 6761, and domains that documentation uses like reserved ones. */
const reservedTop = new Set(['example', 'test', 'invalid', 'localhost', 'local', 'internal', 'lan', 'tld'])
const placeholderDomains =
  /^(?:(?:.*\.)?example\.(?:com|net|org|edu|io)|(?:your-?|my-?|some-?)?(?:domain|company|site|website|organi[sz]ation|org|app|host|server)\.(?:com|org|net|io|tld)|(?:foo|bar|baz|qux|quux|blah|none|somewhere|somedomain|anydomain|otherdomain|nowhere|your-?mail|my-?mail|mple|test|testing|acme|email|sample|dummy|placeholder|fake|xyz|abc|contoso|fabrikam)\.(?:com|org|net|io|co)|users\.noreply\.github\.com)$/
const placeholderNames = /^(?:no-?reply|do-?not-?reply|your[._-]?(?:name|email)|x{2,}|example)$/i
function isPlaceholder(name: string, labels: readonly string[]): boolean {
  const domain = labels.join('.').toLowerCase()
  return (
    reservedTop.has(domain.slice(domain.lastIndexOf('.') + 1)) ||
    placeholderDomains.test(domain) ||
    placeholderNames.test(name)
  )
}

/** First digit of each decimal system in Unicode's basic plane besides ASCII. */
const zeros = [
  0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20,
  0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0,
  0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0,
]
const escaped = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`
const digits = zeros.map((zero) => `${escaped(zero)}-${escaped(zero + 9)}`).join('')
/** Digits of other scripts, signs of full width, and the hyphens and dots that people write in numbers. */
const foldable = new RegExp(`[${digits}\\uff01-\\uff5e\\u2212\\ufe63\\ufe55\\ufe6b\\u0130]`)
/** A long vowel sign as a hyphen between digits. */
const betweenDigits = /[\u30fc\u2500\u4e00](?<=[0-9].)(?=[0-9])/g

/** The unit in place of each foldable one; 0 for others. */
const plain = new Uint16Array(0x10000)
// Turkish writes a dot on this capital, whose small letter has two units.
for (const [code, sign] of [
  [0x130, 'I'],
  [0x2212, '-'],
  [0xfe63, '-'],
  [0xfe55, ':'],
  [0xfe6b, '@'],
] as const)
  plain[code] = sign.charCodeAt(0)
for (const zero of zeros) for (let value = 0; value < 10; value++) plain[zero + value] = 48 + value
for (let code = 0xff01; code < 0xff5f; code++) plain[code] = code - 0xfee0

/**
 * The text with digits of other scripts and signs of full width in ASCII. Replaces each unit by one unit, so offsets stay valid; returns
 * the text itself if it has none of them.
 */
export function folded(text: string): string {
  if (!foldable.test(text)) return text
  const units = new Uint16Array(text.length)
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    units[at] = plain[code] || code
  }
  return Buffer.from(units.buffer).toString('utf16le').replace(betweenDigits, '-')
}

/**
 * Finds secrets and personal data in a text, ordered and without overlaps, also where they are encoded. Pure and linear: one pass over the
 * text and one over its decoded parts, with a bounded closer check where a symbol, prefix or word length suggests it.
 */
export function scan(written: string, options: ScanOptions = {}, piece?: Piece): SensitiveFinding[] {
  const found = scanWritten(written, options, piece)
  const decoded = searchDecoded(written, ({ text }) => scanWritten(text, options))
  return decoded.length === 0 ? found : withoutOverlaps([...found, ...decoded])
}

/** Finds what a text contains as it is written. */
function scanWritten(
  written: string,
  { strategy = false, strategyRules = false }: ScanOptions,
  piece?: Piece,
): SensitiveFinding[] {
  const text = folded(written)
  const findings: SensitiveFinding[] = []
  const take = (one: SensitiveFinding | undefined): void => {
    if (one) findings.push(one)
  }
  const cues = atKeywords(text, findings, piece)
  let cue = 0
  /** The last cue before a position. */
  const cueBefore = (place: number): PhoneCue => {
    while ((cues[cue]?.end ?? Number.POSITIVE_INFINITY) <= place) cue += 1
    return cues[cue - 1] ?? noCue
  }
  const run = new SeedRun(text, findings)
  const isMaybeWord = maybeWord()
  /** Words before this offset belong to a tag or entity, not to a phrase. */
  let aside = -1
  const length = text.length

  for (let at = 0; at < length; ) {
    const code = text.charCodeAt(at)
    const kind = classes[code] ?? 0
    if (kind === 0) {
      at += 1
      continue
    }
    if (kind === anchor) {
      switch (code) {
        case 64:
          take(emailAround(text, at))
          break
        case 43: {
          const number = internationalAt(text, at)
          take(number)
          if (number) at = number.end - 1
          break
        }
        case 58:
          take(ipv6Around(text, at))
          break
        case 60:
          aside = Math.max(aside, tagEnd(text, at))
          break
        case 38: {
          const sign = encodedAt(text, at)
          if (sign > 0) take(emailAround(text, at, sign))
          aside = Math.max(aside, entityEnd(text, at))
          break
        }
        case 92: {
          if (text.startsWith('\\u0040', at)) take(emailAround(text, at, 6))
          // An escaped line end is a gap between words, not the beginning of the next one.
          const next = text.charCodeAt(at + 1)
          if (next === 110 || next === 114 || next === 116) at += 1
          break
        }
        case 37:
          if (text.startsWith('40', at + 1)) take(emailAround(text, at, 3))
          // A percent-encoded space (%20) is not part of the next word.
          if (isHex(text, at + 1) && isHex(text, at + 2)) at += 2
          break
        case 45:
          if (text.charCodeAt(at + 5) === 66 && text.startsWith('-----BEGIN', at)) take(pemAt(text, at))
          break
      }
      at += 1
      continue
    }

    const start = at
    let hash = hashStart
    if (kind === wide) {
      for (let next = code; at < length && classes[next] === wide; next = text.charCodeAt(at)) {
        hash = hashStep(hash, next)
        at += 1
      }
      if (isMaybeWord(hash)) run.add(start, at)
      else run.close()
      if (at - start >= shortest) take(unspacedSeed(text, start, at))
      continue
    }
    let hasLetters = false
    let isAscii = true
    for (let next = code, nextKind = kind; nextKind > 0 && nextKind !== wide && nextKind !== anchor; ) {
      if (nextKind === letterSign) {
        hash = hashStep(hash, next | 32)
        hasLetters = true
      } else if (nextKind === digit) hash = hashStep(hash, next)
      else {
        hash = hashStep(hash, next >= 0xc0 && next < 0xdf ? next | 32 : next)
        isAscii = false
      }
      at += 1
      if (at >= length) break
      next = text.charCodeAt(at)
      nextKind = classes[next] ?? 0
    }

    const size = at - start
    if (!hasLetters && isAscii) {
      const found =
        (size > 13 && size < 17 ? numberedKeyAt(text, start, at) : undefined) ??
        numbersAt(text, start, at, cueBefore(start))
      // A number of one or two digits may number the words of a phrase.
      if (size > 2 || found) run.close()
      if (found) {
        findings.push(found)
        // The rest of the number belongs to it.
        at = Math.max(at, found.end)
      }
    } else {
      if (start > aside) {
        if (isDigit(text, at - 1) && isCounter(text, start, at)) {
          // The name of a field that numbers a word of a seed phrase, such as `"word12":`. The phrase continues after it.
        } else if (isMaybeWord(hash)) run.add(start, at)
        else run.close()
      }
      const found = isAscii ? wordIn(text, start, at, size) : undefined
      if (found) {
        findings.push(found)
        if (found.kind === 'iban' && found.end > at) {
          run.close()
          at = found.end
        }
      } else if (isDigit(text, at - 1)) {
        const from = digitsFrom(text, start, at)
        const number = gluedNumberAt(text, from, at, cueBefore(from))
        if (number) {
          findings.push(number)
          at = Math.max(at, number.end)
        }
      }
    }
  }
  run.close()
  return withoutOverlaps(strategy ? [...findings, ...strategyDetails(text, { hasRules: strategyRules })] : findings)
}

/** Where the digits begin with which a word ends. */
function digitsFrom(text: string, start: number, end: number): number {
  let from = end
  while (from > start && isDigit(text, from - 1)) from -= 1
  return from
}

/** Checks a word of ASCII letters and digits for IBANs, keys and addresses. */
function wordIn(text: string, start: number, end: number, size: number): SensitiveFinding | undefined {
  if (size >= 4 && isIbanHead(text, start)) {
    const iban = ibanAt(text, start)
    if (iban) return iban
  }
  if (size >= 17) {
    const iban = gluedIbanAt(text, start, end)
    if (iban) return iban
  }
  if (size > 22 && size < 29) {
    const key = unmarkedKeyAt(text, start, end)
    if (key) return key
  }
  return size >= leastAddress && size <= maxKey ? chainsIn(text, start, end) : undefined
}
