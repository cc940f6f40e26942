import { looksLikeAPersonsName } from '#lib/domains/pii/person-names.ts'
import type { StrippedKind } from './strip-kinds.ts'

/** What the keys above a value imply about it. */
export interface KeyImplication {
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
/** Words for several people, or for things with more than personal data. Beneath them, only values that look like a name are names. */
const collective = set(
  'authors owners users usernames trader traders analysts reviewers contacts people client customer counterparty cards mails emails phones mobiles card ip licence license',
)
/** Generic keys: the key above them determines the meaning. */
const holders = set(
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
export interface NameContext {
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
export const root = (isOrigin: boolean): NameContext => ({
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
export function beneath(above: NameContext, name: string): NameContext {
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
const isInside = ({ words }: NameContext) => words.length === 0 || has(words, holders)

/** Whether a text beneath a person's key is personal. */
function isTheirs(context: NameContext, text: string): boolean {
  if (context.inPerson === undefined || !isShort(text) || !/\p{L}/u.test(text) || instant.test(text)) return false
  if (context.inPerson === 'one' || isInside(context) || isHandle(text)) return true
  return looksLikeAPersonsName(text) || hasCapitals(text)
}

/** Classifies a text or a number by the names that lead to it. */
export function impliedByName(context: NameContext, written: string): KeyImplication & { isPersons: boolean } {
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
export function pairedName(members: readonly (readonly [string, unknown])[]): string | undefined {
  for (const [name, said] of members)
    if (typeof said === 'string' && pairNames.includes(name.toLowerCase()) && isName(said)) return said
  return undefined
}
export const isPairedValue = (name: string): boolean => pairValues.has(name.toLowerCase())
/** The name in `["password", …]`. Undefined when the first element is not a telling name. */
export function nameOfNext(list: readonly unknown[]): string | undefined {
  const [first, second] = list
  if (list.length !== 2 || typeof first !== 'string' || !isName(first)) return undefined
  if (typeof second !== 'string' && typeof second !== 'number') return undefined
  const words = wordsOf(first)
  const isTelling = secretOf(words) !== undefined || has(words, seedWords) || isOfTrade(words)
  return isTelling && words.length <= 3 ? first : undefined
}
