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
/** Whether two parts of a text have the same signs. */
export const areEqual = (text: string, one: Span, other: Span): boolean =>
  one.end - one.start === other.end - other.start && hasSame(text, one.start, other.start, one.end - one.start)
/** Whether so many signs from two offsets on are the same. */
function hasSame(text: string, one: number, other: number, length: number): boolean {
  for (let at = 0; at < length; at++) if (text.charCodeAt(one + at) !== text.charCodeAt(other + at)) return false
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
function sharedBeginning(text: string, one: Span, other: Span): Shared {
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
      if (!isNumbered && (word - a !== same - b || !hasSame(text, a, b, word - a))) return shared
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

/** A line of a text that contains something, with the end of what a program wrote at its beginning. */
interface LineWithBeginning extends Span {
  /** The first sign that is not white space, and the exclusive end of the last one. */
  first: number
  last: number
  /** The exclusive end of what is no part of the text; the start of the line if there is no such part. */
  until: number
}
interface ComparedLine extends LineWithBeginning {
  /** How many lines up to this one share a beginning. */
  shared: number
  /** The exclusive end of the beginning that the next line shares. */
  untilNext: number
  /** How many heads of statements are equal up to this one, and the one before. */
  heads: number
  head: ComparedLine | undefined
  hasClock: boolean
}
const isNumberedWord = (text: string, start: number, end: number): boolean =>
  hasDigit(text, start, endOfWord(text, start, end))
/** Whether two lines may share a beginning: most lines of a text begin with different words. */
function mayShare(text: string, one: LineWithBeginning, other: LineWithBeginning): boolean {
  if (text.charCodeAt(one.first) === text.charCodeAt(other.first)) return true
  return isNumberedWord(text, one.first, one.last) && isNumberedWord(text, other.first, other.last)
}
/** The lines of a text, with the beginnings that they share with lines near them. */
export function linesWithBeginnings(text: string): LineWithBeginning[] {
  const lines: ComparedLine[] = []
  for (let start = 0; start < text.length; ) {
    const next = text.indexOf('\n', start)
    const end = next < 0 ? text.length : next
    let [first, last] = [start, end]
    while (first < end && isBlank(text.charCodeAt(first))) first++
    while (last > first && isBlank(text.charCodeAt(last - 1))) last--
    if (first < end) {
      const hasClock = last - first <= longestHead && text.slice(first, last).search(clock) >= 0
      const line: ComparedLine = {
        start,
        end,
        first,
        last,
        until: start,
        shared: 1,
        untilNext: start,
        heads: 1,
        head: undefined,
        hasClock,
      }
      const former = lines.at(-1)
      if (former && mayShare(text, former, line)) {
        const shared = sharedBeginning(text, former, line)
        if (shared.other > start) {
          line.shared = former.shared + 1
          line.until = shared.other
          former.untilNext = shared.one
        }
      }
      for (let back = 2; hasClock && back <= mostBetween && back <= lines.length; back++) {
        const head = lines[lines.length - back]
        if (head?.hasClock !== true || !mayShare(text, head, line) || !sharedBeginning(text, head, line).isWhole)
          continue
        line.heads = head.heads + 1
        line.head = head
        break
      }
      lines.push(line)
    }
    start = end + 1
  }
  // The last line of a sequence knows how long it is.
  let length = 0
  for (let at = lines.length - 1; at >= 0; at--) {
    const line = lines[at]
    if (!line) continue
    length = Math.max(length, line.shared)
    const until = Math.max(line.until, line.untilNext)
    line.until =
      length >= leastShared && until > line.start && hasWord.test(text.slice(until, line.end)) ? until : line.start
    if (line.shared === 1) length = 0
  }
  for (let at = lines.length - 1; at >= 0; at--)
    if ((lines[at]?.heads ?? 0) >= leastShared)
      for (let head = lines[at]; head && head.until < head.end; head = head.head) head.until = head.end
  return lines
}
