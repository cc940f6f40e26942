import { finding, type SensitiveFinding } from './findings.ts'

const currency = String.raw`(?:(?:us|hk|a|c)?[$€£¥₿]\s?|(?:usd[tc]?|eur|gbp)\s)?`
const unit = String.raw`\s?(?:[%×个枚手股万倍]|(?:percent|bps|x|usdt|usdc|usd|dollars?|euros?|eur|gbp|btc|bitcoins?|eth|ether(?:eum)?|sol|solana|bnb|xrp|ada|doge|avax|contracts?|shares?|lots?|units?|coins?|tokens?|options?|calls?|puts?|futures|perps?|bonds?|oz|ounces?|barrels?)(?![a-z\d]))`
// Other counted things: steps, times, hours of a day, dates. Their numbers are neither sizes nor prices.
const counted = String.raw`(?:\s?-?\s?(?:ms|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?|times?|steps?|bars?|candles?|candlesticks?|ticks?|periods?|samples?|observations?|trades?|signals?|failures?|losses|wins?|attempts?|tries|retries|errors?|items?|rows?|entries|exits|events?|markets?|assets?|pairs?|agents?|people|places?|requests?|sessions?|sources?|confirmations?|blocks?|pages?|words?|lines?|am|pm|a\.m|p\.m|utc|gmt|o['’]clock|th|st|nd|rd)(?![a-z\d])|\s?(?:个?(?:小时|交易日|月)|天|日|点钟?|分钟?|秒|次|周|年|根|步)|:\d\d|-\d\d?-\d\d)`
// After an abbreviated thousand or million (k, m) only a unit may follow: otherwise the letter begins a word.
const amount = String.raw`${currency}\d[\d,.]{0,20}(?!\d)(?!${counted})(?:\s?[km](?=usd|eur|btc|eth|sol|bnb|(?![a-z\d])))?(?:${unit}(?!小时|交易日|月))?`
/** Further amounts after the first: a range, several targets. */
const more = String.raw`(?:(?:\s?(?:-|–|\/|to|and|&|or|at|@|,|、|至|到)\s?|(?<=,)\s)${amount}){0,5}`
const about =
  '(?:about|around|roughly|approximately|approx[.]?|exactly|nearly|almost|just|only|another|some|back|up|over|below|above|under|a|an|the|price|of|is|was|limit|market|orders?|≈|~|@|=)'
const called =
  '(?:[:=~@≈]|is|was|were|at|of|to|near|around|about|roughly|above|below|over|under|set|hit|moved|placed|raised|lowered|trailed|sits|sitting|between|from|just|为|是|在|到|于|价)'
const named = String.raw`(?<![a-z\d])(?:position[ _-]?siz(?:e|ing)|notional|allocation|exposure|leverage|(?:avg|average|fill|mean)[ _-]?(?:entry|exit|price|fill)|entry(?:[ _-]?(?:price|point|zone|level))?|exit(?:[ _-]?(?:price|point|level))?|stop[ _-]?loss(?:es)?|take[ _-]?profits?|price targets?|target price|limit (?:price|orders?|buys?|sells?)|liq(?:uidation)?[ _-]?(?:price|level)|cost basis|break-?even|invalidation|(?:buy|sell)[ _-](?:limits?|stops?|orders?)|trailing stop|stops?(?:[ _-]?(?:price|level))?|targets?|(?<![_-])(?:tp\s?[1-9]?(?!\d)|sl|pt)|(?<!(?:sample|batch|window|effect|file|font|tick|page|block|cache|step|population|chunk|buffer|memory|cluster|pool|queue|test|training|image|screen|market|set|grid|bin|kernel|universe|data|dataset|context|token|model|payload|message|body|response|array|list|table|index|heap|stack|group|team|class)[ _-])siz(?:e|ed|ing))|仓位|入场价?|进场价?|出场价?|止损价?|止盈价?|目标价|杠杆|开仓价?|平仓价?`

/** Trading verbs (`deeds`), and verbs with other meanings as well (`others`): `covered 12 topics`. */
const deeds =
  "bought|buy(?:s|ing)?|sold|sell(?:s|ing)?|shorted|shorting|longed|longing|accumulat(?:ed?|ing)|scal(?:ed|e|ing) (?:in|out)|went (?:long|short)|took profits?|tak(?:e|ing) profits?|liquidated|re-?b(?:ought|uy)|unloaded|dumped|scooped up|dca(?:['’]?d)?"
const others =
  'shorts?|longs?|clos(?:ed?|es|ing)|cover(?:ed|s|ing)?|open(?:ed|s|ing)?|enter(?:ed|s|ing)?|re-?enter(?:ed|ing)?|exit(?:ed|s|ing)?|fill(?:ed|s)?|add(?:ed|ing)?|trim(?:med|ming)?|hedg(?:ed?|ing)|got (?:in|out|long|short|filled|stopped)|get (?:in|out)|stopped(?: out)?|bid(?:ding)?|averag(?:ed|ing) (?:in|down|up)|avg|flat(?:ten(?:ed)?)?|roll(?:ed)?|paid|positions?|holdings?|risk(?:ed|ing)?|stak(?:ed?|ing)'
const holds = 'holds?|held|own(?:s|ed)?|put|deploy(?:ed)?|reduced?|grabbed|picked up|loaded(?: up)?|all-in'
// Words that begin a condition or another thought: `buy when RSI is below 30` contains no price.
const turn =
  '(?:when(?:ever)?|if|unless|after|before|until|till|once|while|as|because|since|that|which|whose|with|then|than|but|only|never|always|not|must|should|will|may|can|rsi|macd|ema|sma|ma|atr|adx|vwap|funding|volume|volatility|correlation|confidence|probability|score|thresholds?|filters?|cut-?offs?|lags?|windows?|delays?|timeouts?|retr(?:y|ies)|rules?|ratios?|rates?|spreads?|liquidity|gaps?)(?![a-z])'
const between = String.raw`(?:\s(?!${turn})[^\s:;!?。]{0,23}[^\s:;!?.,。]){0,6}?`
const at = String.raw`,?\s?(?:at|@|around|near|for|from|below|above|under|between|≈|~)(?:\s?${about}){0,3}\s?`

const patterns = [
  // A trading term, then its number; `entry 1` of a list does not match.
  new RegExp(`(?:${named})["']?(?:\\s?${called}\\s?){0,3}\\s?${amount}${more}`, 'gi'),
  // A trading verb with any object, and the price.
  new RegExp(`(?<![a-z])(?:${deeds}|${others})[:,]?${between}${at}${amount}${more}`, 'gi'),
  // A trading verb and an amount.
  new RegExp(String.raw`(?<![a-z])(?:${deeds})[:,]?(?:\s${about}){0,3}\s${amount}${more}`, 'gi'),
  new RegExp(String.raw`(?<![a-z])in\s(?:at|@)\s?${amount}[,;]?\s(?:and\s)?out\s(?:at|@)\s?${amount}`, 'gi'),
  /(?<![\d.])\d{1,3}(?:\.\d{1,4})?\s?%\sof\s(?:the\s|our\s|my\s)?(?:portfolio|book|capital|equity|account|nav|aum)/gi,
  new RegExp(
    String.raw`(?:买入|卖出|买进|卖掉|做多|做空|平仓|开仓|建仓|加仓|减仓|止盈|止损|抄底|清仓|平掉|成交|多单|空单|成本价?|均价|持仓|持有)[\u4e00-\u9fffa-z]{0,8}[:：\s]?\s?${amount}${more}|[买卖]\s?${amount}`,
    'gi',
  ),
  new RegExp(
    String.raw`[以在于从]\s?${amount}\s?(?:的?价格?|美元|附近|左右|时|元){0,2}\s?(?:全部|再次|陆续)?(?:买入?|卖出?|做多|做空|平仓?|开仓|建仓|加仓|减仓|止盈|止损|抄底|清仓|成交|入场|进场|出场|离场)`,
    'gi',
  ),
]
/** Indicators whose numbers are the parameters of a trading rule. Ambiguous abbreviations (MA, ROC) need a sign or glued digits. */
const indicator =
  '(?:rsi|ema|sma|wma|hma|dema|tema|macd|atr|adx|vwap|twap|cci|mfi|bollinger(?: bands?)?|stoch(?:astics?)?(?: ?rsi)?|donchian(?: channels?)?|keltner(?: channels?)?|ichimoku|super ?trend|moving averages?|z-?score|均线|布林带?|移动平均线?|随机指标)'
const levels = String.raw`\d{1,3}(?:\.\d{1,4})?(?![\d.]*\d)%?`
const parameters = String.raw`\s?-?\(?\s?${levels}(?:\s?[,/]\s?${levels}){0,4}\s?\)?`
const period = String.raw`(?<![\w.])\d{1,3}[\s-]?(?:(?:periods?|days?|bars?|hours?|minutes?|weeks?|min|日|周期)[\s-]?)?`
const comparison = String.raw`\s?(?:(?:is|are|was|goes|falls|drops|dips|rises|climbs|stays|turns|crosses|crossed|crossing)\s){0,2}(?:below|above|under|over|at|beyond|past|<=?|>=?|≤|≥|=|低于|高于|小于|大于|上穿|下穿|跌破|突破)\s?${levels}`
/** The name of a setup directly before its parameters. */
const setup =
  '(?:(?:momentum|mean[ -]reversion|breakout|pullback|trend[ -]following|crossover|cross|scalping|grid|动量|突破|均值回归|交叉)[\\s:,-]{1,2}){0,3}'
/** Parameters and thresholds of a trading rule: `momentum crossover RSI 14 below 30`, `50-day SMA`, `MACD(12,26,9)`. */
const rules = new RegExp(
  `${setup}(?:${period}(?<![a-z])${indicator}(?![a-z])(?:${parameters})?|(?<![a-z])${indicator}(?![a-z])(?=[^a-z]{0,3}\\d|\\s?(?:is|are|was|goes|falls|drops|dips|rises|climbs|stays|turns|cross|below|above|under|over|at|beyond|past|[<>≤≥=低高小大上下跌突]))(?:${parameters}(?:${comparison}){0,2}|(?:${comparison}){1,2}))(?:${comparison}){0,2}`,
  'gi',
)
const hasIndicator = new RegExp(indicator, 'i')

/** A position: its amount and direction. */
const held = new RegExp(
  String.raw`(?<![\w.,])(?<amount>${amount})(?<![.,])(?:\s?(?<of>[a-z\d]{2,10}))?\s(?:longs?|shorts?|positions?|leveraged?)(?![a-z])`,
  'gi',
)
/** A trading verb, an amount and an asset, in either order: requires a unit or something like a ticker. */
const dealt = new RegExp(
  String.raw`(?<![a-z])(?:${deeds}|${others}|${holds})[:,]?(?:\s${about}){0,2}\s(?:(?<amount>${amount})(?:\s?(?<of>[a-z\d]{2,10}(?![a-z\d])))?|[$]?(?<asset>(?!(?:longs?|shorts?)\s)[a-z\d]{2,10})\s${amount})`,
  'gi',
)
const ticker =
  /^(?!(?:RSI|EMA|SMA|WMA|MA|MACD|ATR|ADX|VWAP|TWAP|BB|CCI|MFI|OBV|VIX|API|PRS?|URL|HTTP|UTC|GMT|Q\d)$)[A-Z][A-Z0-9]{1,9}$/
const hasUnit = new RegExp(String.raw`[$€£¥₿]|\d\s?[km]$|${unit}\s?$`, 'i')
const assets = /^(?:btc|bitcoin|eth|ether|ethereum|sol|solana|bnb|xrp|ada|doge|avax|gold|silver|oil|crude|nasdaq|spx)$/i
/** A precise number, unlike a typical count. */
const isExact = /\d[\d,]{3}|\d\.\d/
const isAsset = (word: string) => ticker.test(word) || assets.test(word)
const isBareCount = /^(?:entry|exit|stop|target|tp|sl)s?\s?\d{1,2}[.,]?$/i

/**
 * Finds details of a trading strategy: position sizes, entry and exit prices. English and Chinese; used by the LLM log and clades. With
 * `hasRules` also the parameters and thresholds of its rules, which clades share and the log must not contain.
 */
export function strategyDetails(text: string, { hasRules = false } = {}): SensitiveFinding[] {
  const spans: { start: number; end: number }[] = []
  const take = (written: string, index: number) =>
    spans.push({ start: index, end: index + written.trimEnd().replace(/[.,]$/, '').length })
  for (const pattern of patterns)
    for (const { 0: written, index } of text.matchAll(pattern)) if (!isBareCount.test(written)) take(written, index)
  for (const { 0: written, index, groups } of text.matchAll(held))
    if (isAsset(groups?.of ?? '') || hasUnit.test(groups?.amount ?? '')) take(written, index)
  for (const { 0: written, index, groups } of text.matchAll(dealt)) {
    const [amount, of, asset] = [groups?.amount ?? '', groups?.of ?? '', groups?.asset ?? '']
    if (isAsset(asset) || isAsset(of)) take(written, index)
    else if (hasUnit.test(amount) || isExact.test(amount)) take(written.slice(0, written.length - of.length), index)
  }
  if (hasRules && hasIndicator.test(text))
    for (const { 0: written, index } of text.matchAll(rules)) take(written, index)
  // Merge overlapping parts of one sentence.
  const joined: typeof spans = []
  for (const one of spans.toSorted((a, b) => a.start - b.start)) {
    const last = joined.at(-1)
    if (last && one.start < last.end) last.end = Math.max(last.end, one.end)
    else joined.push(one)
  }
  return joined.map(({ start, end }) => finding('strategy_detail', start, end, 0.7))
}
