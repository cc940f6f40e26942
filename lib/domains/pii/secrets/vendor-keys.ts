import { finding, lowConfidence, type SensitiveFinding } from '../findings.ts'
import { beginsWord, isAlphanumeric } from '../matching.ts'
import { collected, collectedByName, documented, documentedByName, type VendorForm } from './vendor-forms.ts'

/** Whether a text looks randomly generated: many different characters, a digit or adjacent capitals, and no words joined by hyphens. */
export function isDrawn(body: string): boolean {
  if (/(.)\1{5}/.test(body) || arePartsOfName(body) || areJoinedWords(body)) return false
  const different = new Set(body).size
  if (different < Math.min(8, Math.ceil(body.length * 0.4))) return false
  const longest = Math.max(...body.split(/[^A-Za-z0-9]+/).map(({ length }) => length))
  if (longest < (body.length < 20 ? 6 : 10)) return false
  if (different >= 10 && /^[A-Za-z]{34}$/.test(body)) return true
  if (/\d/.test(body)) return /[a-z]/i.test(body) || different >= 6
  return (/[A-Z]{2}/.test(body) && /[a-z]/.test(body)) || /^[A-Z]{14,}$/.test(body)
}

const partOfName =
  /^(?:[a-z]{1,20}|[A-Z]{1,20}|[A-Z][a-z]{1,20}|[a-z]{1,12}[A-Z]{2,12}|[a-z]{0,12}\d{1,4}[a-z]{0,6}|\d{5,14})$/
/** Whether the text is a name of a function or a test: at least three words joined by underscores or hyphens. */
function arePartsOfName(body: string): boolean {
  const parts = body.split(/[_-]+/)
  return parts.length > 2 && parts.every((part) => part === '' || partOfName.test(part))
}

const joinedWord = /[A-Z]?[a-z]{3,}/g
/** Whether a long text consists mainly of words that begin with capitals, as names of tests do: `ErrorToErrorTranslationStacked`. */
function areJoinedWords(body: string): boolean {
  if (body.length < 20) return false
  const found = body.match(joinedWord) ?? []
  const letters = found.reduce((sum, { length }) => sum + length, 0)
  return found.length > 2 && letters >= body.length * 0.7 && found.slice(1).every((one) => /^[A-Z]/.test(one))
}

/** Whether the characters mainly follow each other, as in an alphabet or in a value that somebody typed as an example: `abc123XYZ789`. */
export function isSequence(value: string): boolean {
  let steps = 0
  for (let at = 1; at < value.length; at++)
    if ((value.charCodeAt(at) | 32) - (value.charCodeAt(at - 1) | 32) === 1) steps += 1
  return steps * 2 >= value.length - 1
}

interface Form {
  pattern: RegExp
  /** The most and the fewest units of the key before its keyword. */
  lead: number
  leastLead: number
  /** Whether the format itself contains a run of one letter. */
  isPadded: boolean
}
const formOf = (pattern: RegExp, lead: number, leastLead: number): Form => ({
  pattern: new RegExp(`(?:${pattern.source})(?![A-Za-z0-9])`, `${pattern.flags}y`),
  lead,
  leastLead,
  isPadded: /A\{\d/.test(pattern.source),
})
function byKeyword(forms: readonly VendorForm[]): Map<string, Form[]> {
  const known = new Map<string, Form[]>()
  for (const [keywords, pattern, lead = 0, leastLead = lead] of forms)
    for (const keyword of keywords.split(' '))
      known.set(keyword, [...(known.get(keyword) ?? []), formOf(pattern, lead, leastLead)])
  return known
}
const marked = byKeyword([...documented, ...collected])
const named = byKeyword([...documentedByName, ...collectedByName])
/** Words that occur in a vendor's key or in the name before it. */
export const vendorKeywords: readonly string[] = [...new Set([...marked.keys(), ...named.keys()])]

/** GitHub's tokens and ours end in a CRC-32; one with a wrong checksum is reported with low confidence. */
const checked = /^(?:gh[opsur]_[A-Za-z0-9]{36}|kp_[A-Za-z0-9]{49})$/

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1
  return value
})
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** CRC-32 (ISO-HDLC) of an ASCII text as six base62 characters: the checksum of GitHub's, npm's and our own tokens. */
export function crcInBase62(text: string): string {
  let crc = 0xffffffff
  for (let at = 0; at < text.length; at++) crc = (table[(crc ^ text.charCodeAt(at)) & 0xff] ?? 0) ^ (crc >>> 8)
  let rest = (crc ^ 0xffffffff) >>> 0
  let written = ''
  for (; rest > 0; rest = Math.floor(rest / 62)) written = (alphabet[rest % 62] ?? '') + written
  return written.padStart(6, '0')
}

function keyFound(key: string, start: number): SensitiveFinding {
  const end = start + key.length
  if (!checked.test(key)) {
    const found = finding('api_key', start, end, 0.95)
    // Keys of projects in PostHog are public, and so are two keys in the documentation of Stripe.
    return /^phc_|example|^sk_test_(?:4eC39HqLy|BQokikJOv)|^eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9[.]eyJzdWIiOiIxMjM0NTY3ODkw/i.test(
      key,
    ) || isSequence(key.slice(key.search(/[^A-Za-z]/) + 1).replace(/[^A-Za-z0-9]/g, ''))
      ? lowConfidence(found)
      : found
  }
  const body = key.startsWith('kp_') ? key.slice(0, -6) : key.slice(key.indexOf('_') + 1, -6)
  return crcInBase62(body) === key.slice(-6)
    ? finding('api_key', start, end, 1)
    : lowConfidence(finding('api_key', start, end, 0.7))
}

function keyAt(
  text: string,
  start: number,
  keyword: string,
  { pattern, isPadded }: Form,
): SensitiveFinding | undefined {
  pattern.lastIndex = start
  const key = pattern.exec(text)?.[0]
  if (key === undefined) return undefined
  const body = key.toLowerCase().startsWith(keyword) ? key.slice(keyword.length) : key
  return isPadded || shortHook.test(key) || isDrawn(body) ? keyFound(key, start) : undefined
}
/** A webhook of Zapier: its secret part is shorter than any other key. Its documentation has other numbers. */
const shortHook = /^hooks\.zapier\.com\/hooks\/catch\/(?!1?2345)\d{4,12}\/(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{5,12}$/

const assignment = /[ \t\w.-]{0,30}(?:\\?["'`]|\]){0,2}\s{0,3}(?:=>|:=|\?=|={1,3}|:)\s{0,3}(?:\\?["'`]){0,3}/y
/** A value that is a key because a vendor's name, which ends at `end`, precedes it. */
function namedKey(text: string, name: string, end: number, forms: readonly Form[]): SensitiveFinding | undefined {
  assignment.lastIndex = end
  if (!assignment.test(text)) return undefined
  const start = assignment.lastIndex
  // `--scan-id=` names a number of something.
  if (/[-_ .]ids?[^A-Za-z0-9]{1,8}$/i.test(text.slice(end, start))) return undefined
  // `exports.AirtableOAuth2Api = AirtableOAuth2Api`
  if (text.slice(start, start + name.length).toLowerCase() === name) return undefined
  for (const { pattern, isPadded } of forms) {
    pattern.lastIndex = start
    const value = pattern.exec(text)?.[0]
    if (value !== undefined && !/[-_=]/.test(text.charAt(start + value.length)) && (isPadded || isDrawn(value)))
      return finding('api_key', start, start + value.length, 0.85)
  }
  return undefined
}

/** Whether a long text in Base64 continues here: a slash or a plus sign in it ends no word. */
const isInEncoding = (text: string, start: number): boolean =>
  /[/+]/.test(text.charAt(start - 1)) && /^[A-Za-z0-9+/]{40}$/.test(text.slice(Math.max(0, start - 40), start))

const wordInName = /[a-z]{3,}/g
/**
 * How surely the key is the name of a test, a function or parts that are mainly words: `test_EventCollection_switch_orientation_2x`.
 * A random key has few words, or digits among them.
 */
function nameOfTest(text: string, { start, end }: SensitiveFinding): 'sure' | 'likely' | undefined {
  const isFunction =
    text.charAt(end) === '(' || /(?:def|func|function|void|fn) $/.test(text.slice(Math.max(0, start - 9), start))
  const body = text.slice(start + 'test_'.length, end)
  if (!isFunction && !body.includes('_')) return undefined
  const letters = body.match(wordInName)?.reduce((sum, { length }) => sum + length, 0) ?? 0
  if (letters >= body.length * 0.75 && body.replace(/\D/g, '').length < 3) return 'sure'
  return letters >= body.length * (isFunction ? 0.4 : 0.6) ? 'likely' : undefined
}

/** A name that somebody wrote directly before a key: `tokenghp_…`. */
const gluedName = /(?:^|[^A-Za-z0-9])(?:token|key|secret|password|bearer|auth|pat)$/i

/** Adds vendors' keys at this keyword to `found`. */
export function vendorKeysAt(text: string, keyword: string, start: number, findings: SensitiveFinding[]): void {
  const end = start + keyword.length
  for (const form of marked.get(keyword) ?? []) {
    if (form.lead === 0 && !beginsWord(text, start) && !gluedName.test(text.slice(Math.max(0, start - 10), start)))
      continue
    if (form.lead === 0 && isInEncoding(text, start)) continue
    for (let from = Math.max(0, start - form.lead); from <= start - form.leastLead; from++) {
      if (form.lead > 0 && isAlphanumeric(text, from - 1) && !beginsWord(text, from)) continue
      const key = keyAt(text, from, keyword, form)
      if (key === undefined) continue
      const name = keyword === 'test_' ? nameOfTest(text, key) : undefined
      if (name === 'sure') continue
      findings.push(name === 'likely' ? lowConfidence(key) : key)
      break
    }
  }
  const forms = named.get(keyword)
  if (forms === undefined) return
  const key = namedKey(text, keyword, end, forms)
  if (key) findings.push(key)
}

const asana = /[012]\/(?:\d{14,16}\/)?\d{14,16}:[a-f0-9]{32}(?![A-Za-z0-9])/y
/** A token of Asana around the number from `start` to `end`: it consists of numbers and a hexadecimal part. */
export function numberedKeyAt(text: string, start: number, end: number): SensitiveFinding | undefined {
  if (text.charCodeAt(end) !== 58 || text.charCodeAt(start - 1) !== 47) return undefined
  const lead = /[012]\/(?:\d{14,16}\/)?$/.exec(text.slice(Math.max(0, start - 20), start))?.[0]
  if (lead === undefined) return undefined
  asana.lastIndex = start - lead.length
  const key = asana.exec(text)?.[0]
  return key === undefined ? undefined : finding('api_key', start - lead.length, start - lead.length + key.length, 0.9)
}

const discord = /[MNO][A-Za-z0-9]{22,27}\.[\w-]{6,7}\.[\w-]{27,40}(?![\w-])/y
const ngrok = /2[A-Za-z0-9]{26}_[0-9A-Za-z]{20,22}(?![A-Za-z0-9])/y
/**
 * The key that starts with this word of 23 to 28 letters and digits and has no marker: a bot's token of Discord, whose first part is an id
 * in base64, and a token of ngrok, whose first part is a time.
 */
export function unmarkedKeyAt(text: string, start: number, end: number): SensitiveFinding | undefined {
  const next = text.charCodeAt(end)
  const form = next === 46 ? discord : next === 95 ? ngrok : undefined
  if (form === undefined) return undefined
  form.lastIndex = start
  const key = form.exec(text)?.[0]
  if (key === undefined || !isDrawn(key)) return undefined
  if (form === discord && !/^\d{17,20}$/.test(decoded(key.slice(0, key.indexOf('.'))))) return undefined
  return finding('api_key', start, start + key.length, form === discord ? 0.95 : 0.8)
}
function decoded(base64: string): string {
  try {
    return atob(base64)
  } catch {
    // Not base64.
    return ''
  }
}
