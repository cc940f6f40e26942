// What programs repeat in the lines of a text: the same beginning with other numbers, whole lines such as the head of each statement, and
// lines twice.

/** Marks the signs by their UTF-16 code unit. */
function unitsOf(signs: string): Uint8Array {
  const marked = new Uint8Array(0x10000)
  for (let at = 0; at < signs.length; at++) marked[signs.charCodeAt(at)] = 1
  return marked
}

/** A longer beginning is a part of a sentence. In characters. */
const longestBeginning = 120
/** Signs at the end of a beginning, with a space after them. */
const beforeSpace = unitsOf(':|>])}→│┃—–-#;$%=*/»•┆▏')
/** Signs at the end of a beginning, whatever follows. */
const closing = unitsOf('|>]}→│┃')
const isBlank = (unit: number): boolean => unit === 32 || unit === 9 || unit === 0xa0 || unit === 13
const isDigit = (unit: number): boolean => unit >= 48 && unit <= 57
const wordUnits = Uint8Array.from({ length: 0x10000 }, (_, unit) =>
  isDigit(unit) ||
  ((unit | 32) >= 97 && (unit | 32) <= 122) ||
  unit === 95 ||
  (unit >= 0xc0 && (unit < 0x2000 || unit > 0x2bff) && (unit < 0x3000 || unit > 0x3020) && unit < 0xff00)
    ? 1
    : 0,
)
const isWordUnit = (unit: number): boolean => wordUnits[unit] === 1

/** Whether the word that begins at an offset has a digit. A word with one may have others in the next line. */
function isNumberedWord(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (isDigit(unit)) return true
    if (!isWordUnit(unit)) return false
  }
  return false
}
/** Whether so many signs from two offsets on are the same. */
export function areEqual(text: string, one: number, other: number, length: number): boolean {
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
function readShared(shared: Shared, text: string, start: number, end: number, from: number, to: number): void {
  shared.one = start
  shared.other = from
  shared.isWhole = false
  let [a, b, isWord] = [start, from, false]
  /** The sign before; 0 after a word. */
  let last = 0
  while (a < end && b < to && a - start < longestBeginning) {
    const [unit, sameUnit] = [text.charCodeAt(a), text.charCodeAt(b)]
    if (isWordUnit(unit) && isWordUnit(sameUnit)) {
      let isNumbered = false
      while (a < end && b < to) {
        const one = text.charCodeAt(a)
        if (one !== text.charCodeAt(b) || !isWordUnit(one)) break
        isNumbered ||= isDigit(one)
        a++
        b++
      }
      const isLonger = a < end && isWordUnit(text.charCodeAt(a))
      const isOtherLonger = b < to && isWordUnit(text.charCodeAt(b))
      if (isLonger || isOtherLonger) {
        if (!isNumbered && !(isNumberedWord(text, a, end) && isNumberedWord(text, b, to))) return
        while (a < end && isWordUnit(text.charCodeAt(a))) a++
        while (b < to && isWordUnit(text.charCodeAt(b))) b++
      }
      isWord = true
      last = 0
      continue
    }
    if (isBlank(unit) && isBlank(sameUnit)) {
      const [first, sameFirst] = [a, b]
      while (a < end && isBlank(text.charCodeAt(a))) a++
      while (b < to && isBlank(text.charCodeAt(b))) b++
      const isWide = (a - first > 1 || unit === 9) && (b - sameFirst > 1 || sameUnit === 9)
      if (isWord && (beforeSpace[last] === 1 || isWide)) {
        shared.one = a
        shared.other = b
      }
      last = 32
      continue
    }
    if (unit !== sameUnit) return
    a++
    b++
    last = unit
    const isClosed =
      closing[last] === 1 || (last === 58 && !isInside(text.charCodeAt(a)) && !isInside(text.charCodeAt(b)))
    if (isWord && isClosed) {
      shared.one = a
      shared.other = b
    }
  }
  while (a < end && isBlank(text.charCodeAt(a))) a++
  while (b < to && isBlank(text.charCodeAt(b))) b++
  shared.isWhole = isWord && a === end && b === to
}
/** What follows a colon inside a time or an address. */
const isInside = (unit: number): boolean => isDigit(unit) || unit === 47

/** Lines that share a beginning, or heads of statements: fewer may be chance. */
const leastShared = 3
/** The head of a statement has its time. In characters. */
const longestHead = 80
/** Whether a part of a text contains the hours and minutes of a time. */
function hasTime(text: string, start: number, end: number): boolean {
  for (let at = start + 1; at + 2 < end; at++) {
    const unit = text.charCodeAt(at)
    if ((unit === 58 || unit === 46) && isDigit(text.charCodeAt(at - 1)))
      if (isDigit(text.charCodeAt(at + 1)) && isDigit(text.charCodeAt(at + 2))) return true
  }
  return false
}
const wordSign = /[\p{L}\p{N}]/u
function hasWord(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (unit >= 128) return wordSign.test(text.slice(at, end))
    if (isDigit(unit) || ((unit | 32) >= 97 && (unit | 32) <= 122)) return true
  }
  return false
}
/** The lines of one statement at most. */
const mostBetween = 6

/** The lines of a text that contain something, with the end of what a program wrote at the beginning of each: offsets, by line. */
interface LinesWithBeginnings {
  count: number
  starts: Int32Array
  ends: Int32Array
  /** The first sign that is not white space, and the exclusive end of the last one. */
  firsts: Int32Array
  lasts: Int32Array
  /** The exclusive end of what is no part of the text; the start of the line if there is no such part. */
  untils: Int32Array
}
/** Whether two lines may share a beginning: most lines of a text begin with different words. */
function mayShare(text: string, { firsts, lasts }: LinesWithBeginnings, one: number, other: number): boolean {
  const [first, otherFirst] = [firsts[one] ?? 0, firsts[other] ?? 0]
  if (text.charCodeAt(first) === text.charCodeAt(otherFirst)) return true
  return isNumberedWord(text, first, lasts[one] ?? 0) && isNumberedWord(text, otherFirst, lasts[other] ?? 0)
}
function countLines(text: string): number {
  let count = 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
  return count
}
/** The lines of a text, with the beginnings that they share with lines near them. */
export function linesWithBeginnings(text: string): LinesWithBeginnings {
  const most = countLines(text)
  const numbers = () => new Int32Array(most)
  const [starts, ends, firsts, lasts, untils] = [numbers(), numbers(), numbers(), numbers(), numbers()]
  const lines = { count: 0, starts, ends, firsts, lasts, untils }
  /** How many lines up to each one share a beginning, and the exclusive end of the beginning that the next line shares. */
  const [shared, untilNext] = [numbers(), numbers()]
  /** How many heads of statements are equal up to each one, and the line of the one before, counted from 1. */
  const [heads, headBefore] = [numbers(), numbers()]
  const hasClock = new Uint8Array(most)
  const common: Shared = { one: 0, other: 0, isWhole: false }
  const readCommon = (one: number, other: number) =>
    readShared(common, text, starts[one] ?? 0, ends[one] ?? 0, starts[other] ?? 0, ends[other] ?? 0)
  for (let start = 0; start < text.length; ) {
    const next = text.indexOf('\n', start)
    const end = next < 0 ? text.length : next
    let [first, last] = [start, end]
    while (first < end && isBlank(text.charCodeAt(first))) first++
    while (last > first && isBlank(text.charCodeAt(last - 1))) last--
    if (first < end) {
      const line = lines.count++
      starts[line] = start
      ends[line] = end
      firsts[line] = first
      lasts[line] = last
      untils[line] = start
      shared[line] = 1
      untilNext[line] = start
      heads[line] = 1
      if (line > 0 && mayShare(text, lines, line - 1, line)) {
        readCommon(line - 1, line)
        if (common.other > start) {
          shared[line] = (shared[line - 1] ?? 0) + 1
          untils[line] = common.other
          untilNext[line - 1] = common.one
        }
      }
      if (last - first <= longestHead && hasTime(text, first, last)) {
        hasClock[line] = 1
        for (let head = line - 2; head >= Math.max(0, line - mostBetween); head--) {
          if (hasClock[head] !== 1 || !mayShare(text, lines, head, line)) continue
          readCommon(head, line)
          if (!common.isWhole) continue
          heads[line] = (heads[head] ?? 0) + 1
          headBefore[line] = head + 1
          break
        }
      }
    }
    start = end + 1
  }
  // The last line of a sequence knows how long it is.
  let length = 0
  for (let line = lines.count - 1; line >= 0; line--) {
    length = Math.max(length, shared[line] ?? 0)
    const until = Math.max(untils[line] ?? 0, untilNext[line] ?? 0)
    const start = starts[line] ?? 0
    untils[line] = length >= leastShared && until > start && hasWord(text, until, ends[line] ?? 0) ? until : start
    if (shared[line] === 1) length = 0
  }
  for (let line = lines.count - 1; line >= 0; line--)
    if ((heads[line] ?? 0) >= leastShared)
      for (let head = line; head >= 0 && (untils[head] ?? 0) < (ends[head] ?? 0); head = (headBefore[head] ?? 0) - 1)
        untils[head] = ends[head] ?? 0
  return lines
}
