import { sha256 } from '@noble/hashes/sha2.js'
import { base58, bech32, bech32m, createBase58check } from '@scure/base'
import { type PersonalKind, personalForms } from '#lib/domains/pii/personal-data.ts'
import { scan } from '#lib/domains/pii/scanner.ts'
import { credentialForms } from '#lib/domains/pii/secrets/credentials.ts'
import { type StrippedKind, strippedKinds } from './strip-kinds.ts'

export interface StrippedSpan {
  kind: StrippedKind
  start: number
  end: number
}
const rank = new Map<StrippedKind, number>(strippedKinds.map((kind, at) => [kind, at]))
const rankOf = (kind: StrippedKind) => rank.get(kind) ?? strippedKinds.length

const base58check = createBase58check(sha256)
const opens = (decode: () => Uint8Array): Uint8Array | undefined => {
  try {
    return decode()
  } catch {
    // The library throws for a wrong checksum or letter.
    return undefined
  }
}
const bech32Form = /^[\x21-\x7e]{1,63}1[02-9ac-hj-np-z]{26,}$/i
const base58Form = /^[1-9A-HJ-NP-Za-km-z]+$/
/** Whether a word looks random: both cases, and a digit or at least three pairs of adjacent capitals. */
const isMixed = (word: string) =>
  /[a-z]/.test(word) && /[A-Z]/.test(word) && (/\d/.test(word) || (word.match(/[A-Z](?=[A-Z])/g)?.length ?? 0) >= 3)
/** Addresses of other chains: Bech32 with any prefix, Base58Check of 21 bytes (Tron, Dogecoin), and Base58 of 32 or 64 bytes (Solana). */
function isAddress(word: string): StrippedKind | undefined {
  if (word.length <= 90 && bech32Form.test(word)) {
    const found = bech32.decodeUnsafe(word, 90) ?? bech32m.decodeUnsafe(word, 90)
    if (found && found.words.length >= 20) return 'wallet_address'
  }
  if (!base58Form.test(word)) return undefined
  if (word.length <= 36 && opens(() => base58check.decode(word))?.length === 21) return 'wallet_address'
  if (!isMixed(word)) return undefined
  const isLong = word.length >= 86 && word.length <= 88
  if (!isLong && (word.length < 42 || word.length > 44)) return undefined
  const bytes = opens(() => base58.decode(word))
  if (bytes?.length === 32) return 'wallet_address'
  return bytes?.length === 64 ? 'private_key' : undefined
}

const hexAddress = /(?<![\p{L}\p{N}])0x[0-9a-f]{40}(?![\p{L}\p{N}])/giu
/** 32 bytes in hex can be a key or a hash. They are kept where the text calls them a hash. */
const bytes32 = /(?<![\p{L}\p{N}])(?:0x)?[0-9a-f]{64}(?![\p{L}\p{N}])/giu
const hashTerms =
  /(?:hash|(?:^|[^a-z])tx(?:n|id|s)?(?:$|[^a-z])|transaction|block|digest|sha-?256|keccak|checksum|commit|merkle|root|topic|signature|交易|哈希|区块)/i
const before = 48

const longWord = /[A-Za-z0-9]{26}/
const wordForm = /(?<![A-Za-z0-9])[A-Za-z0-9]{26,90}(?![A-Za-z0-9])/g
const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** A finding of an analyzer, as written in the text. */
export interface AnalyzerMatch {
  kind: StrippedKind
  text: string
}
/** A pattern that is removed wherever it matches. */
export interface StripPattern {
  kind: StrippedKind
  pattern: RegExp
}
const longestFirst = (texts: readonly string[]): string[] =>
  texts
    .map((text) => text.trim())
    .filter((text) => text.length >= 2)
    .sort((one, other) => other.length - one.length)
/** Word characters of scripts that separate words by spaces. */
const inWords = '[\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}\\p{N}]'
export const wordBoundaries = new RegExp(inWords, 'u')
const bounds: readonly (readonly [boolean, boolean])[] = [
  [true, true],
  [true, false],
  [false, true],
  [false, false],
]
/** A pattern that matches these texts as whole words. Alternatives with equal boundaries are grouped, so that many words cost little. */
function wholes(texts: readonly string[]): string {
  const groups = bounds.flatMap(([before, behind]) => {
    const alike = texts.filter(
      (text) => wordBoundaries.test(text.charAt(0)) === before && wordBoundaries.test(text.slice(-1)) === behind,
    )
    const words = alike.map(escaped).join('|')
    return words === '' ? [] : [`${before ? `(?<!${inWords})` : ''}(?:${words})${behind ? `(?!${inWords})` : ''}`]
  })
  return groups.join('|')
}

/** Patterns of people's names and addresses in any spelling, and of an analyzer's findings as written. */
export function stripPatternsOf(names: readonly string[], found: readonly AnalyzerMatch[]): StripPattern[] {
  const people = longestFirst(names).map(escaped)
  const known: StripPattern[] =
    people.length === 0
      ? []
      : [
          {
            kind: 'name',
            pattern: new RegExp(`(?<![\\p{L}\\p{N}])(?:${people.join('|')})(?![\\p{L}\\p{N}])`, 'giu'),
          },
        ]
  for (const kind of new Set(found.map((one) => one.kind))) {
    const texts = new Set(found.flatMap((one) => (one.kind === kind ? [one.text] : [])))
    const written = wholes(longestFirst([...texts]))
    if (written !== '') known.push({ kind, pattern: new RegExp(written, 'gu') })
  }
  return known
}

const personal: Partial<Record<PersonalKind, StrippedKind>> = {
  address: 'address',
  titled_person: 'name',
  national_id: 'ssn',
}
const personalKinds: readonly PersonalKind[] = ['address', 'titled_person', 'national_id']
const withoutDigits: readonly PersonalKind[] = ['titled_person']
/** Searching first avoids copying the pattern for texts without a match. */
const matches = (text: string, pattern: RegExp, kind: StrippedKind): StrippedSpan[] =>
  text.search(pattern) < 0
    ? []
    : [...text.matchAll(pattern)].map(({ 0: match, index }) => ({ kind, start: index, end: index + match.length }))

/** The scanner may take the first letter of the next word for a unit, such as the k of thousand. That word is kept. */
function wholeWord(text: string, end: number): number {
  if (!/^[kKmM]\p{L}/u.test(text.slice(end - 1, end + 1)) || !/\s/.test(text.charAt(end - 2))) return end
  return text.slice(0, end - 1).trimEnd().length
}

function inLongWords(text: string, whole: string, shift: number): StrippedSpan[] {
  const spans: StrippedSpan[] = []
  for (const span of matches(text, bytes32, 'private_key')) {
    const at = span.start + shift
    if (!hashTerms.test(whole.slice(Math.max(0, at - before), at))) spans.push(span)
  }
  for (const { 0: word, index } of text.matchAll(wordForm)) {
    const kind = isAddress(word)
    if (kind) spans.push({ kind, start: index, end: index + word.length })
  }
  return spans
}

/** Findings in a text, in source order. `heading` is the name of the text. */
function found(text: string, heading: string, known: readonly StripPattern[]): StrippedSpan[] {
  const whole = heading + text
  const shift = heading.length
  const hasDigit = /\d/.test(text)
  // Sizes, prices and house numbers contain a digit.
  const spans: StrippedSpan[] = scan(whole, { strategy: hasDigit })
    .filter(({ end }) => end > shift)
    .map(({ kind, start, end }) => ({ kind, start: Math.max(0, start - shift), end: wholeWord(text, end - shift) }))
  // The end of a word is not a title, even after a digit.
  for (const { kind, start, end } of personalForms(text, hasDigit ? personalKinds : withoutDigits))
    if (!/[\p{L}\p{N}]/u.test(text.charAt(start - 1))) spans.push({ kind: personal[kind] ?? 'name', start, end })
  if (text.includes('0x') || text.includes('0X')) spans.push(...matches(text, hexAddress, 'ethereum_address'))
  for (const { sign, pattern } of credentialForms)
    if (sign.test(text)) spans.push(...matches(text, pattern, 'credential'))
  if (longWord.test(text)) spans.push(...inLongWords(text, whole, shift))
  for (const { kind, pattern } of known) spans.push(...matches(text, pattern, kind))
  return spans
}

/** Merges overlapping spans, in text order. The strongest kind wins. */
function joined(spans: readonly StrippedSpan[]): StrippedSpan[] {
  const kept: StrippedSpan[] = []
  for (const one of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = kept.at(-1)
    if (!last || one.start >= last.end) {
      kept.push({ ...one })
      continue
    }
    last.end = Math.max(last.end, one.end)
    if (rankOf(one.kind) < rankOf(last.kind)) last.kind = one.kind
  }
  return kept
}

const longestHeading = 80
/** One or two short words cannot contain a key, a phrase or an amount. */
const plain = /^[a-z_]{0,12} ?[a-z_]{0,12}$/
/** The spans to remove from a text under the key `name`. Returns the whole text when invisible or lookalike characters hide a secret. */
export function strippedSpans(text: string, name: string, known: readonly StripPattern[]): StrippedSpan[] {
  if (plain.test(text)) return joined(known.flatMap(({ kind, pattern }) => matches(text, pattern, kind)))
  const heading = name === '' ? '' : `${name.slice(0, longestHeading)}: `
  const spans = joined(found(text, heading, known))
  if (!/[^\0-\x7f]/.test(text)) return spans
  const folded = text.replace(/\p{Cf}/gu, '').normalize('NFKC')
  if (folded === text) return spans
  const seen = joined(found(folded, heading, known))
  const worst = seen.toSorted((one, other) => rankOf(one.kind) - rankOf(other.kind))[0]
  return worst && seen.length > spans.length ? [{ kind: worst.kind, start: 0, end: text.length }] : spans
}
