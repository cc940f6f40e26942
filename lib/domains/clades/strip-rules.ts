import { sha256 } from '@noble/hashes/sha2.js'
import { base58, bech32, bech32m, createBase58check } from '@scure/base'
import { sensitiveKinds as scannedKinds } from '#lib/domains/pii/findings.ts'
import { looksLikeAPersonsName } from '#lib/domains/pii/person-names.ts'
import { type PersonalKind, personalForms } from '#lib/domains/pii/personal-data.ts'
import { scan } from '#lib/domains/pii/scanner.ts'
import { credentialForms, isKeyByteList } from '#lib/domains/pii/secrets/credentials.ts'
import { DEPTH_LIMIT, DepthError } from '#lib/domains/sanitizer/sanitizer.ts'

export type JsonTree = null | boolean | number | string | JsonTree[] | { [name: string]: JsonTree }
/** An entry as it is written, without its id. */
export interface ShareableEntry {
  kind: string
  content: JsonTree
  confidence: number
  tags: readonly string[]
  provenance: JsonTree
  parents: readonly string[]
  valid_from: string | null
  valid_until: string | null
}

/** Kinds of data that are removed from a share, strongest first. */
export const strippedKinds = [
  ...scannedKinds.slice(0, 3),
  'credential',
  'wallet_address',
  ...scannedKinds.slice(3),
] as const
type StrippedKind = (typeof scannedKinds)[number] | 'credential' | 'wallet_address'

interface StrippedSpan {
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
interface StripPattern {
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
function stripPatternsOf(names: readonly string[], found: readonly AnalyzerMatch[]): StripPattern[] {
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
  const retained: StrippedSpan[] = []
  for (const one of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = retained.at(-1)
    if (!last || one.start >= last.end) {
      retained.push({ ...one })
      continue
    }
    last.end = Math.max(last.end, one.end)
    if (rankOf(one.kind) < rankOf(last.kind)) last.kind = one.kind
  }
  return retained
}

const longestHeading = 80
/** One or two short words cannot contain a key, a phrase or an amount. */
const plain = /^[a-z_]{0,12} ?[a-z_]{0,12}$/
/** The spans to remove from a text under the key `name`. Returns the whole text when invisible or lookalike characters hide a secret. */
function strippedSpans(text: string, name: string, known: readonly StripPattern[]): StrippedSpan[] {
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

export interface StrippedEntry {
  /** The only part that is sent. */
  payload: ShareableEntry
  /** The number of removed values per kind, never the values. */
  removed: Partial<Record<StrippedKind, number>>
}

/** Ids of this and other systems: `ent_…`, a UUID, the address of a unit. */
const idForm = /^(?:[a-z]{2,10}_[0-9A-Za-z]{20,26}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|kp:[\w:.-]{1,120})$/i
/** A number as people write it: with a currency, separators or a unit. */
const numeral = /^[~≈<>]? ?[$€£¥-]? ?\d[\d .,_]{0,30}(?:e[+-]?\d{1,3})? ?[\p{L}%×]{0,10}$/iu
const isNumeral = (text: string): boolean => numeral.test(text.replace(/\s+/g, ' ').trim())
const time = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]{5,15}(?:Z|[+-]\d{2}:?\d{2})?)?$/
const leastWords = 12
/** A redaction can join the text on both sides into a new match. After this many passes the whole text is redacted. */
const maxPasses = 4

/** Replaces removed values by marks such as `‹credential:1›` and counts them per kind. Equal values get equal numbers. */
function stripMarks() {
  const removed: Partial<Record<StrippedKind, number>> = {}
  const numbers = new Map<string, number>()
  const last = new Map<StrippedKind, number>()

  function mark(kind: StrippedKind, written: string): string {
    removed[kind] = (removed[kind] ?? 0) + 1
    const value = `${kind} ${written}`
    const number = numbers.get(value) ?? (last.get(kind) ?? 0) + 1
    if (!numbers.has(value)) {
      numbers.set(value, number)
      last.set(kind, number)
    }
    return `‹${kind}:${number}›`
  }

  return { mark, removed }
}
type Mark = ReturnType<typeof stripMarks>['mark']

const isMark = (text: string): boolean => /^‹[a-z_]{2,20}:\d{1,6}›$/.test(text)

interface Stripping {
  known: ReturnType<typeof stripPatternsOf>
  mark: Mark
}

function withoutMatches({ known, mark }: Stripping, text: string, name: string): string {
  let now = text
  for (let pass = 0; pass <= maxPasses; pass++) {
    const spans = strippedSpans(now, name, known)
    const [first] = spans
    if (!first) return now
    if (pass === maxPasses) return mark(first.kind, now)
    let written = ''
    let from = 0
    for (const { kind, start, end } of spans) {
      written += now.slice(from, start) + mark(kind, now.slice(start, end))
      from = end
    }
    now = written + now.slice(from)
  }
  return now
}

/** What the keys above a value imply about it. */
interface KeyImplication {
  /** Kind of texts. Undefined: scan the text itself. */
  text: StrippedKind | undefined
  /** Kind of numbers and of numeric texts. */
  number: StrippedKind | undefined
}

/** The words of a name: `entryPrice_usd` has three. Redaction marks are skipped. */
const wordsOf = (name: string): string[] =>
  name
    .slice(0, 200)
    .replace(/‹[a-z_]{2,20}:\d{1,6}›/g, ' ')
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
const set = (words: string) => new Set(words.split(' '))

const secretWords = set(
  'password passwd passphrase passcode pwd pin secret secrets credential credentials apikey apikeys bearer jwt cookie cookies authorization privkey privatekey privatekeys mnemonic mnemonics otp totp 2fa keystore 密码 口令 密钥 私钥 助记词',
)
const keyOwners = set(
  'api private secret access auth client session signing signer wallet deployer encryption master ssh pgp account',
)
const keyWords = set('key keys token tokens')
const seedWords = set('seed seeds seedphrase')
const addressWords = set('wallet wallets walletaddress address addresses addr pubkey payout 地址 钱包')
const personWords = set(
  'author authors owner owners user users username usernames handle trader traders analyst analysts reviewer reviewers contact contacts person people human creator operator approver submitter employee client customer counterparty nickname surname lastname firstname fullname telegram twitter discord whatsapp wechat signal_handle email emails mail phone phones mobile tel telephone fax dob birthday birthdate passport ssn iban card cards ip licence license 姓名 作者 用户 电话 手机 邮箱 身份证',
)
const personEnds = set('by from_person')
/** Keys whose values are lists, or contain other data beside personal data. Below them, only values that look like names count as names. */
const collective = set(
  'authors owners users usernames trader traders analysts reviewers contacts people client customer counterparty cards mails emails phones mobiles card ip licence license',
)
/** Generic keys: the key above them determines the meaning. */
const dataSources = set(
  'value values val v id ids name names handle label text content data raw string display login nick nickname alias full first last given family user number no account current',
)
const nameWords = set('name names')
const nameOwners = set('full first last family given middle maiden display legal real sender account person')

const dealWords = set(
  'entry entries enter entered exit exits exited fill fills filled avg average executed execution order orders trade trades position positions stop stops stoploss takeprofit target targets liquidation buy bought sell sold opened closed cost basis tp sl bid_placed scale ladder rung rungs holding holdings',
)
const priceWords = set(
  'price prices px level levels zone zones point points value values rate cost basis low high from to min max trigger',
)
const alone = set(
  'entry entries exit exits stop stops stoploss takeprofit tp sl fill fills leverage notional qty quantity quantities allocation allocations exposure exposures lots lot contracts holdings holding collateral margin position positions liquidation 仓位 入场 入场价 进场价 出场 出场价 止损 止损价 止盈 止盈价 目标价 杠杆 开仓价 平仓价 数量',
)
const sizeWords = set('size sizes sizing amount amounts qty quantity')
const sampled = set(
  'sample samples batch window step tick page cluster effect file population memory cache block font training test universe',
)
/** Values of a trade that are neither a size nor a price. */
const harmless = set(
  'confidence count counts n id ids time times timestamp ts date day hour hours minutes seconds days duration lookback ratio correlation rsi volatility sharpe rank index win hit winrate hitrate probability score version weight_of_evidence',
)

const has = (words: readonly string[], of: ReadonlySet<string>) => words.some((word) => of.has(word))

const secretOf = (words: readonly string[]): StrippedKind | undefined => {
  if (has(words, secretWords)) return 'credential'
  if (has(words, keyWords) && has(words, keyOwners)) return 'credential'
  return undefined
}

/** Whether a name refers to a trade without any context. */
function isOfTrade(words: readonly string[]): boolean {
  if (words.every((word) => alone.has(word)) && words.length > 0) return true
  if (has(words, sampled)) return false
  if (has(words, sizeWords)) return true
  if (has(words, dealWords) && has(words, priceWords)) return true
  if (has(words, alone)) return !has(words, harmless)
  return words[0] === 'take' && words[1] === 'profit'
}
/** Whether everything beneath the name belongs to a trade, except harmless values. */
const opensTrade = (words: readonly string[]) => has(words, dealWords) || isOfTrade(words)

/** What a name implies about a person: `one` means that all values beneath are personal, `many` that only names are. */
function personIn(words: readonly string[], isOrigin: boolean): 'one' | 'many' | undefined {
  if (has(words, personWords))
    return words.every((word) => !personWords.has(word) || collective.has(word)) ? 'many' : 'one'
  if (words.some((word, at) => at > 0 && personEnds.has(word))) return 'one'
  return has(words, nameWords) && (isOrigin || has(words, nameOwners)) ? 'one' : undefined
}

/** The meaning of a position in a value, from all names that lead to it. */
interface NameContext {
  /** The name as it is written. */
  name: string
  words: readonly string[]
  /** Within the provenance, where a key `name` means a person. */
  isOrigin: boolean
  /** Whether one of the names means a secret. */
  isSecret: boolean
  isSeed: boolean
  /** Whether a name above it opens a trade. */
  isInTrade: boolean
  inPerson: 'one' | 'many' | undefined
  isInAddress: boolean
}
/** The position before any name. */
const root = (isOrigin: boolean): NameContext => ({
  name: '',
  words: [],
  isOrigin,
  isSecret: false,
  isSeed: false,
  isInTrade: false,
  inPerson: undefined,
  isInAddress: false,
})
/** The position that a name leads to. */
function beneath(above: NameContext, name: string): NameContext {
  const words = wordsOf(name)
  const person = personIn(above.words, above.isOrigin)
  return {
    name,
    words,
    isOrigin: above.isOrigin,
    isSecret: above.isSecret || secretOf(words) !== undefined,
    isSeed: above.isSeed || has(words, seedWords),
    isInTrade: above.isInTrade || (above.words.length > 0 && opensTrade(above.words)),
    inPerson: above.inPerson === 'one' || person === 'one' ? 'one' : (above.inPerson ?? person),
    isInAddress: above.isInAddress || has(above.words, addressWords),
  }
}

/** Short enough to be a name, and not a sentence. */
const isShort = (text: string) => text.length <= 80 && text.trim().split(/\s+/).length <= 5
const isHandle = (text: string) => !/\s/.test(text) && /[\d_.@-]/.test(text) && /\p{L}/u.test(text)
/** Whether a word with a capital precedes a word that begins with one. */
const hasCapitals = (text: string) => {
  const words = text.split(/\s+/)
  return words.some((word, at) => /\p{Lu}/u.test(word) && /^\p{Lu}/u.test(words[at + 1] ?? ''))
}
const instant = /^\d{4}-\d{2}-\d{2}T/
const isInside = ({ words }: NameContext) => words.length === 0 || has(words, dataSources)

/** Whether a text beneath a person's key is personal. */
function isTheirs(context: NameContext, text: string): boolean {
  if (context.inPerson === undefined || !isShort(text) || !/\p{L}/u.test(text) || instant.test(text)) return false
  if (context.inPerson === 'one' || isInside(context) || isHandle(text)) return true
  return looksLikeAPersonsName(text) || hasCapitals(text)
}

/** Classifies a text or a number by the names that lead to it. */
function impliedByName(context: NameContext, written: string): KeyImplication & { isPersons: boolean } {
  const { words, isOrigin } = context
  if (context.isSecret) return { text: 'credential', number: 'credential', isPersons: false }
  const isPerson = personIn(words, isOrigin) !== undefined || isTheirs(context, written)
  const isAddress = has(words, addressWords) || (context.isInAddress && isInside(context) && isShort(written))
  const text = context.isSeed ? 'seed_phrase' : isPerson ? 'name' : isAddress ? 'address' : undefined
  const isTrade = isOfTrade(words) || (context.isInTrade && !has(words, sampled) && !has(words, harmless))
  const isNumber =
    isPerson || isAddress || (context.inPerson !== undefined && (isInside(context) || /\d{5}/.test(written)))
  return {
    text,
    number: isTrade ? 'strategy_detail' : isNumber ? (text ?? 'name') : undefined,
    isPersons: isOrigin || has(words, nameWords),
  }
}

const pairNames = ['name', 'key', 'label', 'field', 'param', 'parameter', 'property', '名称']
const pairValues = new Set([
  'value',
  'values',
  'val',
  'v',
  'content',
  'data',
  'text',
  'string',
  'default',
  'current',
  'secret',
  '值',
])
/** A text that can be a name: a few words, no redaction mark, no sentence. */
const isName = (said: string) => said.length <= 80 && !/[:=：‹›\n]/.test(said) && wordsOf(said).length <= 6
/** The name in `{"name": "password", "value": …}`. Undefined when there is none. */
function pairedName(members: readonly (readonly [string, unknown])[]): string | undefined {
  for (const [name, said] of members)
    if (typeof said === 'string' && pairNames.includes(name.toLowerCase()) && isName(said)) return said
  return undefined
}
const isPairedValue = (name: string): boolean => pairValues.has(name.toLowerCase())
/** The name in `["password", …]`. Undefined when the first element is not a telling name. */
function nameOfNext(list: readonly unknown[]): string | undefined {
  const [first, second] = list
  if (list.length !== 2 || typeof first !== 'string' || !isName(first)) return undefined
  if (typeof second !== 'string' && typeof second !== 'number') return undefined
  const words = wordsOf(first)
  const isDistinctive = secretOf(words) !== undefined || has(words, seedWords) || isOfTrade(words)
  return isDistinctive && words.length <= 3 ? first : undefined
}

function strippedText(stripping: Stripping, value: string, context: NameContext): string {
  if (value === '' || isMark(value)) return value
  const { mark } = stripping
  const { isOrigin } = context
  const { text: kind, number, isPersons } = impliedByName(context, value)
  const isId = idForm.test(value) && kind !== 'credential' && kind !== 'seed_phrase'
  if (kind !== undefined && (kind === 'seed_phrase' ? !isNumeral(value) : !isId)) return mark(kind, value)
  if (number !== undefined && isNumeral(value) && !time.test(value)) return mark(number, value)
  if (
    isPersons &&
    !isId &&
    looksLikeAPersonsName(value) &&
    (isOrigin ? /\s|[\u4e00-\u9fff]/.test(value) : /\S\s+\S/.test(value))
  )
    return mark('name', value)
  return withoutMatches(stripping, value, context.name)
}

function strippedNumber({ known, mark }: Stripping, value: number, context: NameContext): number | string {
  const { number } = impliedByName(context, String(value))
  if (number !== undefined) return mark(number, String(value))
  const [span] = strippedSpans(String(value), context.name, known)
  return span ? mark(span.kind, String(value)) : value
}

/** Whether these values are the words of a seed phrase, one word each, in order. */
function phraseIn(values: readonly JsonTree[]): boolean {
  const words = values.filter((one) => typeof one === 'string' && one.split(/\s+/).length < leastWords)
  return words.length >= leastWords && scan(`seed: ${words.join(' ')}`).some(({ kind }) => kind === 'seed_phrase')
}

function strippedTree(stripping: Stripping, node: JsonTree, context: NameContext, depth: number): JsonTree {
  const { mark } = stripping
  const { isOrigin } = context
  if (typeof node === 'string') return strippedText(stripping, node, context)
  if (typeof node === 'number') return strippedNumber(stripping, node, context)
  if (node === null || typeof node === 'boolean') return node
  if (depth >= DEPTH_LIMIT) throw new DepthError()
  if (Array.isArray(node)) {
    if (isKeyByteList(node)) return mark('private_key', node.join(','))
    if (phraseIn(node)) return mark('seed_phrase', node.join(' '))
    const second = nameOfNext(node)
    const next = second === undefined ? context : beneath(context, second)
    return node.map((one, at) => strippedTree(stripping, one, at === 1 ? next : context, depth + 1))
  }
  const members = Object.entries(node)
  if (phraseIn(members.map(([, one]) => one)) || phraseIn(members.map(([name]) => name)))
    return mark('seed_phrase', JSON.stringify(node))
  const taken = new Set<string>()
  const paired = pairedName(members)
  return Object.fromEntries(
    members.map(([name, child]) => {
      const stripped =
        isOrigin && looksLikeAPersonsName(name) && /\s/.test(name)
          ? mark('name', name)
          : withoutMatches(stripping, name, '')
      let free = stripped
      for (let again = 2; taken.has(free); again++) free = `${stripped} (${again})`
      taken.add(free)
      const own = beneath(context, stripped)
      const called = paired !== undefined && isPairedValue(name) ? beneath(own, paired) : own
      return [free, strippedTree(stripping, child, called, depth + 1)]
    }),
  )
}

/**
 * Removes private data from an entry: wallet addresses, exact trade sizes and prices, keys, credentials, seed phrases
 * and names of people. Examines every text, key and number at every depth, and keeps all other bytes. Each removed
 * value becomes a mark such as `‹credential:1›`; equal values get equal numbers. Pure and idempotent; browser, command
 * line and server give the same result.
 *
 * `names`: known people, removed in every field. `found`: additional findings of an analyzer.
 *
 * @throws DepthError beyond 100 nested objects and arrays
 */
export function stripEntry(
  entry: ShareableEntry,
  { names = [], found = [] }: { names?: readonly string[]; found?: readonly AnalyzerMatch[] } = {},
): StrippedEntry {
  const { mark, removed } = stripMarks()
  const stripping: Stripping = { known: stripPatternsOf(names, found), mark }
  const payload: ShareableEntry = {
    kind: entry.kind,
    content: strippedTree(stripping, entry.content, root(false), 0),
    confidence: entry.confidence,
    tags: entry.tags.map((tag) => strippedText(stripping, tag, beneath(root(false), 'tag'))),
    provenance: strippedTree(stripping, entry.provenance, root(true), 0),
    parents: entry.parents.map((parent) =>
      idForm.test(parent) ? withoutMatches(stripping, parent, '') : strippedText(stripping, parent, root(true)),
    ),
    valid_from: entry.valid_from,
    valid_until: entry.valid_until,
  }
  return { payload, removed }
}
