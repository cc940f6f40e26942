import type { Range } from './markdown-lines.ts'

/**
 * Maps offsets in a copy of a text to the text, where some characters have another length in the copy. Each lookup is a binary search over
 * these characters, so lookups may be in any order.
 */
export class Offsets {
  /** The character's start and end in the copy, and in the text. */
  readonly #copyStarts: number[] = []
  readonly #copyEnds: number[] = []
  readonly #starts: number[] = []
  readonly #ends: number[] = []
  #shift = 0

  /** Adds a character from left to right: its offset and length in the text, and its length in the copy. */
  add(start: number, length: number, copied: number): void {
    if (length === copied) return
    this.#copyStarts.push(start + this.#shift)
    this.#copyEnds.push(start + this.#shift + copied)
    this.#starts.push(start)
    this.#ends.push(start + length)
    this.#shift += copied - length
  }

  /** The offset in the text of the character at `offset` in the copy. */
  back(offset: number): number {
    let [low, high] = [0, this.#copyStarts.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#copyStarts[middle] ?? 0) <= offset) low = middle + 1
      else high = middle
    }
    if (low === 0) return offset
    const end = this.#copyEnds[low - 1] ?? 0
    return offset < end ? (this.#starts[low - 1] ?? 0) : (this.#ends[low - 1] ?? 0) + offset - end
  }
}

/** Tags within words are read as gaps, because tags in code are kept. */
const TAG = /<\/?[a-z][^<>]{0,200}>/g
/** The beginning of a comment line: `# ignore`, `// previous`, `-- rules`. */
const COMMENT_LINE = /(?<=\n)[ \t]{0,40}(?:#{1,6}|\/{2,3}|--|;{1,2}|%{1,2}|\*|\||rem(?=[ \t]))[ \t|]{0,40}/g
/** A dot or another sign between letters in place of a space. */
const JOINT = /(?<=\p{L})(?:[.\u00b7\u2022\u2027\u30fb~|+,]{1,3}|\u2026| [-\u2013\u2014.\u00b7|/] )(?=\p{L})/gu

const blank = (found: string): string => ' '.repeat(found.length)

/** A copy of the same length in which comment signs at the beginning of lines and signs in place of spaces are blanks. */
export const withoutSigns = (copy: string): string => copy.replace(COMMENT_LINE, blank).replace(JOINT, blank)

/**
 * Copies of the same length in which disguises are blanks: tags within words, comment signs at the beginning of lines, signs in place of
 * spaces. Only those that differ from `copy`.
 */
export function undisguised(copy: string): string[] {
  const withoutTags = copy.replace(TAG, blank)
  return [...new Set([withoutTags, withoutSigns(copy)])].filter((variant) => variant !== copy)
}

/** Words that an order has been cut into, in one piece again, and where they are in the text. */
type Assembled = Range & {
  text: string
  /** Joined by hyphens, underscores or slashes, as names and addresses are, and not written like a sentence: a name may mention an order without giving it. */
  isName: boolean
}

/** Units of words: letters, marks and apostrophes. Filled at the first use. */
let wordUnits: Uint8Array | undefined
const isWordUnit = /[\p{L}\p{M}’']/u
const isDigit = (code: number): boolean => code > 47 && code < 58
const [LINE_END, SPACE] = [10, 32]
const longestWord = 24
const longestSeparator = 8
/** Letters of the shortest order, and of the shortest one in Chinese, Japanese or Korean. */
const [fewestLetters, fewestSigns] = [10, 6]
const isSign = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u
const NAME = /^[-_/]$/

/** A number of an item, also in brackets. */
const numbered = /^\s[ \t]{0,8}[([]?\d{1,3}[.)\]:][ \t]$/
const NUMBER = '\0'
/** The separator of words without a comma that belongs to the word before it, and with one sign for the number of a list item. */
function separatorOf(text: string, start: number, end: number): string | undefined {
  let separator = text.slice(start, end)
  if (separator.startsWith(',') && separator.length > 1 && separator !== ', ') separator = separator.slice(1)
  if (!/\d/.test(separator)) return separator
  return numbered.test(separator) ? separator.replace(/\d{1,3}/, NUMBER) : undefined
}

function joinedRun(text: string, start: number, end: number, separator: string): Assembled {
  const run = text.slice(start, end)
  const isName = NAME.test(separator)
  const isSentence = /^\p{Lu}/u.test(run) || /^[.!](?:\s|$)/.test(text.slice(end, end + 2))
  const parts = separator.includes(NUMBER) ? run.split(/[^\p{L}\p{M}’'-]{3,8}/u) : run.split(separator)
  return { start, end, text: parts.join(' '), isName: isName && !isSentence }
}

const letterWithMarks = /\p{L}\p{M}*/gu
/** Words whose letters are separated: the first separator is between letters, longer ones are between words. */
function spelledRun(text: string, start: number, end: number): Assembled {
  const run = text.slice(start, end)
  let [words, last, count] = ['', 0, 0]
  /** What is between the first letter and the second one. */
  let [from, width] = [0, 0]
  letterWithMarks.lastIndex = 0
  for (let found = letterWithMarks.exec(run); ; found = letterWithMarks.exec(run)) {
    const at = found?.index ?? run.length
    if (count === 0) {
      const rest = letterWithMarks.lastIndex
      from = found ? rest : 0
      width = found ? (letterWithMarks.exec(run)?.index ?? run.length) - from : 0
      letterWithMarks.lastIndex = rest
    }
    if (at > last && !(at - last === width && run.startsWith(run.slice(from, from + width), last))) words += ' '
    if (!found) break
    words += found[0]
    last = letterWithMarks.lastIndex
    count += 1
  }
  return { start, end, text: words, isName: false }
}

/**
 * Finds words that are joined by one and the same separator, other than a space or a line end, and words whose letters are separated. One
 * pass over the text.
 */
export function assembled(text: string): Assembled[] {
  wordUnits ??= Uint8Array.from({ length: 0x10000 }, (_, code) => (isWordUnit.test(String.fromCharCode(code)) ? 1 : 0))
  const found: Assembled[] = []
  /** The run of words with one separator, and the run of single letters. */
  let [joinedFrom, joinedTo, joinedCount, separator] = [0, 0, 0, '']
  let [lettersFrom, lettersTo, letterCount] = [0, 0, 0]
  const closeJoined = () => {
    if (joinedCount > 2) found.push(joinedRun(text, joinedFrom, joinedTo, separator))
    joinedCount = 0
  }
  const closeLetters = () => {
    const isLong = letterCount >= fewestLetters
    if (isLong || (letterCount >= fewestSigns && isSign.test(text.charAt(lettersFrom))))
      found.push(spelledRun(text, lettersFrom, lettersTo))
    letterCount = 0
  }
  const { length } = text
  for (let at = 0, wordEnd = -1, wordStart = -1; at < length; ) {
    if (wordUnits[text.charCodeAt(at)] !== 1) {
      at += 1
      continue
    }
    const start = at
    while (at < length && wordUnits[text.charCodeAt(at)] === 1) at += 1
    const gap = start - wordEnd
    const first = text.charCodeAt(wordEnd)
    if (at - start > 2 || gap > 4 || isDigit(text.charCodeAt(start - 1))) closeLetters()
    if (at - start < 3) {
      if (letterCount === 0) lettersFrom = start
      letterCount += 1
      lettersTo = at
    }
    if (gap === 1 && (first === SPACE || first === LINE_END)) {
      if (joinedCount > 0) closeJoined()
    } else if (gap > longestSeparator || wordEnd < 0 || at - start > longestWord) closeJoined()
    // A hyphen within a word of a run.
    else if (gap === 1 && first === 45 && joinedCount > 2 && separator !== '-') joinedTo = at
    else {
      const between = separatorOf(text, wordEnd, start)
      if (between === undefined || (between !== separator && joinedCount > 0)) closeJoined()
      if (between !== undefined) {
        if (joinedCount === 0) [joinedFrom, joinedCount, separator] = [wordStart, 1, between]
        joinedCount += 1
        joinedTo = at
      }
    }
    wordStart = start
    wordEnd = at
  }
  closeJoined()
  closeLetters()
  return found
}

const LEET: Readonly<Record<string, string>> = {
  0: 'o',
  1: 'i',
  3: 'e',
  4: 'a',
  5: 's',
  7: 't',
  '@': 'a',
  $: 's',
  '!': 'i',
}
/** Stems of the words of orders in languages with Latin letters. */
const STEM =
  /ignor|disregard|forget|overrid|bypass|instru[ck]|prompt|previous|prior|above|earlier|rules|regel|regla|regra|regle|direct|diretr|orden|ordre|ordem|anteri|preced|previa|olvid|oubli|vergiss|esque|anweis|vorgab|befehl|consign|indica/
const DIGIT_IN_WORD = /[013457@$](?=\p{Ll})/gu
const WORD_PART = /[\p{Ll}013457@$]{1,60}/uy
const isWordPart = /[\p{Ll}013457@$]/u
const LEET_TOKEN = /(?<![\p{L}\d])(?:[\p{Ll}013457@$]|!(?=\p{Ll})){1,40}(?![\p{L}\d])/gu
/** Length of the shortest stem. */
const shortestStem = 5
const isAscii = /^[\0-\x7f]*$/
/** Whether a word contains a stem, without accents and in compatibility forms. */
function hasStem(word: string): boolean {
  if (!isAscii.test(word)) return STEM.test(lettersOf(word).normalize('NFKD').replace(/\p{M}/gu, ''))
  return word.length >= shortestStem && STEM.test(lettersOf(word))
}
const lettersOf = (word: string): string => word.replace(/[013457@$!]/g, (sign) => LEET[sign] ?? sign)
const ONE = /(?<=\p{Ll})1|1(?=\p{Ll})/gu
const hasOne = /(?<=\p{Ll})1|1(?=\p{Ll})/u
/**
 * Copies with letters in place of the digits and signs that resemble them; none if no word of an order has any. A 1 resembles an i and an
 * l.
 */
export function withoutDigits(copy: string): string[] {
  const lettered = withLetters(copy)
  if (lettered === undefined) return []
  return hasOne.test(copy) ? [lettered, withLetters(copy.replace(ONE, 'l')) ?? lettered] : [lettered]
}
function withLetters(copy: string): string | undefined {
  let end = 0
  for (const { index } of copy.matchAll(DIGIT_IN_WORD)) {
    if (index < end) continue
    let start = index
    while (start > end && index - start < 30 && isWordPart.test(copy.charAt(start - 1))) start -= 1
    WORD_PART.lastIndex = start
    const word = WORD_PART.exec(copy)?.[0] ?? ''
    end = start + word.length
    if (hasStem(word)) return copy.replace(LEET_TOKEN, lettersOf)
  }
  return undefined
}
