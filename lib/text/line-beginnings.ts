import type { Span } from './layer.ts'

// What programs repeat in the lines of a text: the same beginning with other numbers, whole lines such as the head of each statement, and
// lines twice.

/** A longer beginning is a part of a sentence. In characters. */
const longestBeginning = 120
/** Signs at the end of a beginning, with a space after them. */
const beforeSpace = new Set(':|>])}→│┃—–-#;$%=*/»•┆▏')
/** Signs at the end of a beginning, whatever follows. */
const closing = new Set('|>]}→│┃')
const isBlank = (unit: number): boolean => unit === 32 || unit === 9 || unit === 0xa0 || unit === 13
const isDigit = (unit: number): boolean => unit >= 48 && unit <= 57
const isWordUnit = (unit: number): boolean =>
  isDigit(unit) ||
  ((unit | 32) >= 97 && (unit | 32) <= 122) ||
  unit === 95 ||
  (unit >= 0xc0 && (unit < 0x2000 || unit > 0x2bff) && (unit < 0x3000 || unit > 0x3020) && unit < 0xff00)

/** The exclusive end of a word, and whether it has a digit. A word with one may have others in the next line. */
function endOfWord(text: string, start: number, end: number): number {
  let at = start
  while (at < end && isWordUnit(text.charCodeAt(at))) at++
  return at
}
function hasDigit(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (isDigit(text.charCodeAt(at))) return true
  return false
}
function areEqual(text: string, one: Span, other: Span): boolean {
  if (one.end - one.start !== other.end - other.start) return false
  for (let at = 0; at < one.end - one.start; at++)
    if (text.charCodeAt(one.start + at) !== text.charCodeAt(other.start + at)) return false
  return true
}

interface Shared {
  /** The exclusive ends of the shared beginning in both lines; their starts if they share none. */
  one: number
  other: number
  /** Whether the lines are equal to their ends, apart from numbers. */
  isWhole: boolean
}
/** The beginning that two lines share, apart from numbers and the width of spaces, up to a sign that ends a beginning. */
export function sharedBeginning(text: string, one: Span, other: Span): Shared {
  const shared: Shared = { one: one.start, other: other.start, isWhole: false }
  let [a, b, isWord] = [one.start, other.start, false]
  let last = ''
  while (a < one.end && b < other.end && a - one.start < longestBeginning) {
    const [unit, sameUnit] = [text.charCodeAt(a), text.charCodeAt(b)]
    if (isBlank(unit) && isBlank(sameUnit)) {
      const [from, sameFrom] = [a, b]
      while (a < one.end && isBlank(text.charCodeAt(a))) a++
      while (b < other.end && isBlank(text.charCodeAt(b))) b++
      const isWide = (a - from > 1 || unit === 9) && (b - sameFrom > 1 || sameUnit === 9)
      if (isWord && (beforeSpace.has(last) || isWide)) {
        shared.one = a
        shared.other = b
      }
      last = ' '
      continue
    }
    if (isWordUnit(unit) && isWordUnit(sameUnit)) {
      const [word, same] = [endOfWord(text, a, one.end), endOfWord(text, b, other.end)]
      const isNumbered = hasDigit(text, a, word) && hasDigit(text, b, same)
      if (!isNumbered && !areEqual(text, { start: a, end: word }, { start: b, end: same })) return shared
      a = word
      b = same
      isWord = true
      last = ''
      continue
    }
    if (unit !== sameUnit) return shared
    a++
    b++
    last = text[a - 1] ?? ''
    const isClosed =
      closing.has(last) || (last === ':' && !isInside(text.charCodeAt(a)) && !isInside(text.charCodeAt(b)))
    if (isWord && isClosed) {
      shared.one = a
      shared.other = b
    }
  }
  while (a < one.end && isBlank(text.charCodeAt(a))) a++
  while (b < other.end && isBlank(text.charCodeAt(b))) b++
  shared.isWhole = isWord && a === one.end && b === other.end
  return shared
}
/** What follows a colon inside a time or an address. */
const isInside = (unit: number): boolean => isDigit(unit) || unit === 47

/** Lines that share a beginning, or heads of statements: fewer may be chance. */
const leastShared = 3
/** The head of a statement has its time. In characters. */
const longestHead = 80
const clock = /\d{1,2}[:.]\d{2}/
const hasWord = /[\p{L}\p{N}]/u
/** The lines of one statement at most. */
const mostBetween = 6

/** Lines of a text that contain something, with the end of what a program wrote at the beginning of each. */
export interface LineWithBeginning extends Span {
  /** The exclusive end of what is no part of the text; the start of the line if there is no such part. */
  until: number
}
/** The lines of a text, with the beginnings that they share with lines near them. */
export function linesWithBeginnings(text: string): LineWithBeginning[] {
  const lines: LineWithBeginning[] = []
  /** How many lines before each have its beginning, and its whole form; the beginning itself in both directions. */
  const chains: { shared: number; whole: number; before: number; after: number; former: number }[] = []
  for (let start = 0; start < text.length; ) {
    const next = text.indexOf('\n', start)
    const end = next < 0 ? text.length : next
    let from = start
    while (from < end && isBlank(text.charCodeAt(from))) from++
    if (from < end) {
      const line = { start, end, until: start }
      const chain = { shared: 1, whole: 1, before: start, after: start, former: -1 }
      for (let back = 1; back <= mostBetween && back <= lines.length; back++) {
        const [former, itsChain] = [lines[lines.length - back], chains[chains.length - back]]
        if (!former || !itsChain || chain.whole > 1) break
        const shared = sharedBeginning(text, former, line)
        if (back === 1 && shared.other > start) {
          chain.shared = itsChain.shared + 1
          chain.before = shared.other
          itsChain.after = shared.one
        }
        if (back > 1 && shared.isWhole && end - start <= longestHead && clock.test(text.slice(start, end))) {
          chain.whole = itsChain.whole + 1
          chain.former = lines.length - back
        }
      }
      lines.push(line)
      chains.push(chain)
    }
    start = end + 1
  }
  // The last line of a chain knows how long it is.
  let length = 0
  for (let at = lines.length - 1; at >= 0; at--) {
    const [line, chain] = [lines[at], chains[at]]
    if (!line || !chain) continue
    length = Math.max(length, chain.shared)
    const until = Math.max(chain.before, chain.after)
    if (length >= leastShared && hasWord.test(text.slice(until, line.end))) line.until = Math.max(line.until, until)
    if (chain.shared === 1) length = 0
    if (chain.whole >= leastShared)
      for (let head = at; head >= 0; head = chains[head]?.former ?? -1) {
        const one = lines[head]
        if (!one || one.until === one.end) break
        one.until = one.end
      }
  }
  return lines
}
