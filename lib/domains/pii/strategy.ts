import { type Finding, finding } from './findings.ts'

const unit = String.raw`\s?(?:[%×个枚手股万倍]|(?:percent|bps|x|usdt|usdc|usd|eur|btc|eth|sol|bnb|contracts?|shares?|lots?|units?|coins?|tokens?)(?![\p{L}\p{N}]))`
// A thousand or a million has no letter behind it but those of a unit: the first one of a word is none.
const amount = String.raw`(?:[$€£¥]\s?)?\d[\d,.]{0,20}(?:\s?[km](?=${unit}|(?![\p{L}\p{N}])))?(?:${unit})?`
const named = String.raw`(?<!\p{L})(?:position[ _-]?siz(?:e|ing)|notional|allocation|exposure|leverage|entry(?:[ _-]?(?:price|point|zone|level))?|exit(?:[ _-]?(?:price|point|level))?|stop[ _-]?loss|take[ _-]?profit|price target|target price|limit price|liquidation price|trailing stop)|仓位|入场价?|进场价?|出场价?|止损价?|止盈价?|目标价|杠杆|开仓价?|平仓价?`
const filler = String.raw`(?:\s?(?:[:=~@≈]|is|was|at|of|to|near|around|about|above|below|set|between|为|是|在|到)\s?){0,3}\s?`
const patterns = [
  // A name of the trade, then its number; `entry 1` of a list is none.
  new RegExp(`(?:${named})["']?${filler}${amount}(?:\\s?(?:-|–|to|and)\\s?${amount})?`, 'giu'),
  // A deed, how much, and at which price.
  new RegExp(
    String.raw`(?<!\p{L})(?:bought|buy|sold|sell|shorted|short|longed|long|accumulated|scaled (?:in|out of))\s${amount}(?:\s\p{L}{2,10})?\s?(?:at|@|around|near|for)\s?${amount}`,
    'giu',
  ),
  /(?<![\p{N}.])\d{1,3}(?:\.\d{1,4})?\s?%\sof\s(?:the\s|our\s|my\s)?(?:portfolio|book|capital|equity|account|nav|aum)/giu,
]
const isBareCount = /^(?:entry|exit)\s?\d{1,2}$/i

/** What a strategy lives by: sizes of positions, prices at which it enters and leaves. English and Chinese; asked for by the LLM log and clades. */
export function strategyDetails(text: string): Finding[] {
  const found: Finding[] = []
  for (const pattern of patterns)
    for (const { 0: written, index } of text.matchAll(pattern)) {
      if (isBareCount.test(written)) continue
      found.push(finding('strategy_detail', index, index + written.trimEnd().replace(/[.,]$/, '').length, 0.7))
    }
  return found
}
