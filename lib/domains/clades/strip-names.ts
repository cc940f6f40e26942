import type { StrippedKind } from './strip-kinds.ts'

/** What the names of keys, the nearest last, say of what stands under them. */
export interface Named {
  /** Of texts; undefined: they are looked into. */
  text: StrippedKind | undefined
  /** Of numbers and of texts that are one. */
  number: StrippedKind | undefined
}

/** The words of a name: `entryPrice_usd` has three. What was taken out of it is none. */
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
/** Beneath a trade, what is neither a size nor a price. */
const harmless = set(
  'confidence count counts n id ids time times timestamp ts date day hour hours minutes seconds days duration lookback ratio correlation rsi volatility sharpe rank index win hit winrate hitrate probability score version weight_of_evidence',
)

const has = (words: readonly string[], of: ReadonlySet<string>) => words.some((word) => of.has(word))

const secretOf = (words: readonly string[]): StrippedKind | undefined => {
  if (has(words, secretWords)) return 'credential'
  if (has(words, keyWords) && has(words, keyOwners)) return 'credential'
  return undefined
}

function isOfTrade(words: readonly string[], above: readonly (readonly string[])[]): boolean {
  if (words.every((word) => alone.has(word)) && words.length > 0) return true
  if (has(words, sampled)) return false
  if (has(words, sizeWords)) return true
  if (has(words, dealWords) && has(words, priceWords)) return true
  if (has(words, alone)) return !has(words, harmless)
  if (words[0] === 'take') return words[1] === 'profit'
  if (has(words, harmless)) return false
  return above.some((name) => has(name, dealWords) || (name.length > 0 && isOfTrade(name, [])))
}

/** Judges a place by the names that lead to it, the outermost first. `isOrigin`: within the provenance, where names are those of people. */
export function judgedByName(path: readonly string[], isOrigin: boolean): Named & { isPersons: boolean } {
  const names = path.slice(-6).map(wordsOf)
  const last = names.at(-1) ?? []
  const secret = names.map(secretOf).find((kind) => kind !== undefined)
  if (secret) return { text: secret, number: secret, isPersons: false }
  const isPerson =
    has(last, personWords) ||
    last.some((word, at) => at > 0 && personEnds.has(word)) ||
    (has(last, nameWords) && (isOrigin || has(last, nameOwners)))
  const isAddress = has(last, addressWords)
  const text = has(last, seedWords) ? 'seed_phrase' : isPerson ? 'name' : isAddress ? 'address' : undefined
  const isTrade = isOfTrade(last, names.slice(0, -1))
  return {
    text,
    number: isTrade ? 'strategy_detail' : isPerson || isAddress ? text : undefined,
    isPersons: isOrigin || has(last, nameWords),
  }
}
