import type { Span } from './layer.ts'

/** One word of a text, or one character of a script that is written without spaces. */
export interface WordToken extends Span {
  /** Folded, see {@link foldWord}; without apostrophes. */
  word: string
  /** See {@link runWeight}. */
  weight: number
}

/**
 * Minimum weight of a run: six words (4 each), or 24 characters of a script without spaces (1 each). In a mixed text the weights are added.
 */
export const runWeight = 24
export const wordWeight = 4

const unspaced =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}\\p{Script=Tibetan}'
/** Apostrophes as people and programs write them, including letters that look like one. */
const apostrophes = "'’‘‛´`′＇ʼʻʹꞌ"
const apostrophe = `[${apostrophes}]`
/**
 * Accents and vowel signs that many writers omit, and the Arabic elongation. The voiced marks of kana (U+3099, U+309A) are not among them,
 * nor the vowels of Indic scripts, which distinguish words.
 */
const omitted =
  '[[\\p{Mn}&&[\\p{Script=Inherited}\\p{Script=Hebrew}\\p{Script=Arabic}\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}]]--[\\u3099\\u309a]]|ـ'
const isOmitted = new RegExp(omitted, 'v')
const allOmitted = new RegExp(omitted, 'gv')
const wordLetter = `[[\\p{L}\\p{N}]--[${unspaced}]--[${apostrophes}ـ]]`
const follows = `(?:${wordLetter}|${omitted}|\\p{M})`
const wholePattern = new RegExp(`[${unspaced}]|${wordLetter}(?:${apostrophe}(?=${follows})|${follows})*`, 'gv')
const partPattern = new RegExp(`[${unspaced}]|${wordLetter}${follows}*`, 'gv')
const isUnspaced = new RegExp(`^[${unspaced}]`, 'v')
const isWordLetter = new RegExp(`^${wordLetter}`, 'v')
const isApostrophe = new RegExp(`^${apostrophe}`, 'v')
const allApostrophes = new RegExp(apostrophe, 'gv')
const isMark = /^\p{M}/u

/** Letters without a decomposition, as keyboards without them write them. */
const latinLetters: Readonly<Record<string, string>> = {
  ł: 'l',
  ø: 'o',
  đ: 'd',
  ħ: 'h',
  ŧ: 't',
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
  ð: 'd',
  ĸ: 'k',
}
const hasLatinLetter = /[łøđħŧæœþðĸ]/g

/**
 * A word as it is compared: Unicode compatibility forms, full case folding (ß = ss = SS, a final sigma is a sigma, a dotless i is an i),
 * without accents in alphabets where writers omit them.
 */
export function foldWord(word: string): string {
  const regular = regularFold(word)
  if (regular !== undefined) return regular
  if (word.length > 1) return foldWhole(word)
  const known = irregularFolds.get(word)
  if (known !== undefined) return known
  const folded = foldWhole(word)
  irregularFolds.set(word, folded)
  return folded
}
/** Single characters that {@link regularFold} does not fold. */
const irregularFolds = new Map<string, string>()
/** Whether each letter of a word can be folded by itself, and the result. */
function regularFold(word: string): string | undefined {
  let folded = ''
  for (let at = 0; at < word.length; at++) {
    const unit = word.charCodeAt(at)
    if (isVoicedMark(unit)) return undefined
    const page = unit < 256 ? ascii : pageOf(unit >>> 8)
    const kind = page.classes[unit & 255]
    if (kind === letter || kind === alone) folded += String.fromCharCode(page.folded[unit & 255] ?? 0)
    else if (kind === several) folded += page.longer.get(unit & 255) ?? ''
    else return undefined
  }
  return folded
}
function foldWhole(word: string): string {
  const folded = withoutAccents(word.normalize('NFKC'))
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replace(hasLatinLetter, (letter) => latinLetters[letter] ?? letter)
  return withoutAccents(folded).normalize('NFC')
}
const withoutAccents = (text: string): string => text.normalize('NFD').replace(allOmitted, '')

const isAscii = /^[\0-\x7f]*$/
const asciiWhole = /[a-z0-9]+(?:['`][a-z0-9]+)*/g
const asciiPart = /[a-z0-9]+/g

/**
 * The words of a text in order. Punctuation, symbols, isolated marks and spaces are not words. `splits`: an apostrophe separates two words,
 * as names need it (`Iris Probe's`, `l'Iris`); otherwise it is ignored (`don't` is `dont`).
 */
export function tokenize(text: string, { splits = false } = {}): WordToken[] {
  const tokens: WordToken[] = []
  if (isAscii.test(text)) {
    for (const { 0: found, index } of text.toLowerCase().matchAll(splits ? asciiPart : asciiWhole)) {
      const word = found.replace(/['`]/g, '')
      tokens.push({ word, start: index, end: index + found.length, weight: wordWeight })
    }
    return tokens
  }
  for (const { 0: found, index } of text.matchAll(splits ? partPattern : wholePattern))
    tokens.push({
      word: foldWord(found.replace(allApostrophes, '')),
      start: index,
      end: index + found.length,
      weight: isUnspaced.test(found) ? 1 : wordWeight,
    })
  return tokens
}

/** Exclusive end of the shortest run that starts at a token; undefined if the text ends before. */
export function endOfRun(tokens: readonly WordToken[], from: number, least = runWeight): number | undefined {
  let weight = 0
  for (let at = from; at < tokens.length; at++) {
    weight += tokens[at]?.weight ?? 0
    if (weight >= least) return at + 1
  }
  return undefined
}

/** Classes of UTF-16 code units. */
const separator = 0
/** A part of a word. */
const letter = 1
/** A complete word of a script without spaces. */
const alone = 2
/** Belongs to the preceding word, if there is one. */
const mark = 3
/** Half of a surrogate pair. */
const half = 4
/** Depends on adjacent characters. Only {@link tokenize} handles it. */
const irregular = 5
/** Like {@link alone}; after a word, like {@link mark}. */
const aloneOrMark = 6
/** Ignored inside a word. */
const ignored = 7
/** Ignored inside a word if a letter follows, or separates words. */
const quote = 8
/** A letter that folds to several. */
const several = 9

interface CodePage {
  classes: Uint8Array
  /** The folded form of each code unit. */
  folded: Uint16Array
  /** The folded forms that have several code units. */
  longer: Map<number, string>
}
const pages: (CodePage | undefined)[] = []

/** The voiced marks of half width are letters, and compose with the kana before them. */
const isVoicedMark = (unit: number): boolean => unit === 0xff9e || unit === 0xff9f

/** Conjoining Hangul characters, which compose with adjacent characters. */
const isConjoining = (unit: number): boolean => unit >= 0x1100 && unit <= 0x11ff

function classOf(text: string): number {
  if (isApostrophe.test(text)) return quote
  if (isOmitted.test(text)) return ignored
  if (isUnspaced.test(text)) return isMark.test(text) ? aloneOrMark : alone
  if (isWordLetter.test(text)) return letter
  return isMark.test(text) ? mark : separator
}

function pageAt(high: number): CodePage {
  const page: CodePage = { classes: new Uint8Array(256), folded: new Uint16Array(256), longer: new Map() }
  for (let low = 0; low < 256; low++) {
    const unit = high * 256 + low
    if (unit >= 0xd800 && unit <= 0xdfff) {
      page.classes[low] = half
      continue
    }
    const text = String.fromCharCode(unit)
    const found = classOf(text)
    page.classes[low] = found
    if (found !== alone && found !== letter && found !== aloneOrMark) continue
    const folded = foldWhole(text)
    if (folded.length === 1 && !isConjoining(folded.charCodeAt(0))) page.folded[low] = folded.charCodeAt(0)
    else if (found === letter && folded.length > 1 && /^[a-z0-9]+$/.test(folded)) {
      page.classes[low] = several
      page.longer.set(low, folded)
    } else page.classes[low] = irregular
  }
  pages[high] = page
  return page
}
const pageOf = (high: number): CodePage => pages[high] ?? pageAt(high)
const ascii = pageOf(0)

const inText = new RegExp(`[${unspaced}]|${wordLetter}|${omitted}|\\p{M}`, 'v')
const astral = new Map<number, boolean>()
/** Whether a character outside the Basic Multilingual Plane separates words, as emoji do. */
function separates(point: number): boolean {
  const known = astral.get(point)
  if (known !== undefined) return known
  const found = !inText.test(String.fromCodePoint(point))
  astral.set(point, found)
  return found
}

/** The finalizer of MurmurHash3 (Appleby, 2011): every input bit affects every output bit. */
export function mixed(bits: number): number {
  let hash = bits
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) + 0x7f4a7c15) | 0
}

export type Seeds = readonly [high: number, low: number]

/** A keyed hash of a folded word, in two halves. */
export function hashOfWord(word: string, [high, low]: Seeds): readonly [number, number] {
  let [first, second] = [high, low]
  for (let at = 0; at < word.length; at++) {
    const unit = word.charCodeAt(at)
    first = mixed(first ^ unit)
    second = mixed(second + Math.imul(unit, 0x9e3779b1))
  }
  return [first, second]
}

/** The words of the most recently hashed text, up to `count`: lower halves of hashes, weights, and UTF-16 offsets. */
export const hashed = {
  text: '',
  seed: 0,
  splits: false,
  /** Whether an apostrophe is inside a word, so that splitting changes the words. */
  hasQuotes: false,
  count: 0,
  lows: new Int32Array(1_024),
  weights: new Uint8Array(1_024),
  starts: new Int32Array(1_024),
  ends: new Int32Array(1_024),
}
function grow(): void {
  const { lows, weights, starts, ends } = hashed
  const size = lows.length * 2
  hashed.lows = new Int32Array(size)
  hashed.weights = new Uint8Array(size)
  hashed.starts = new Int32Array(size)
  hashed.ends = new Int32Array(size)
  hashed.lows.set(lows)
  hashed.weights.set(weights)
  hashed.starts.set(starts)
  hashed.ends.set(ends)
}
function push(low: number, weight: number, start: number, end: number): void {
  const { count } = hashed
  if (count === hashed.lows.length) grow()
  hashed.lows[count] = low
  hashed.weights[count] = weight
  hashed.starts[count] = start
  hashed.ends[count] = end
  hashed.count = count + 1
}

/** Longer sequences without a space are read in parts. */
const longestSlow = 4_096
/** Adds the words up to the next space with `tokenize`. Returns the offset of that space. No word contains a space. */
function pushToSpace(text: string, from: number, at: number, seeds: Seeds, splits: boolean): number {
  let end = at
  while (end < text.length && text.charCodeAt(end) > 32 && end - from < longestSlow) end++
  if (end - from >= longestSlow) while (end < text.length && text.charCodeAt(end) > 32) end++
  for (const { word, weight, start, end: wordEnd } of tokenize(text.slice(from, end), { splits }))
    push(hashOfWord(word, seeds)[1], weight, from + start, from + wordEnd)
  return end
}

/**
 * Hashes the words of a text into {@link hashed}, with the same results as {@link hashOfWord} on the words of {@link tokenize}. Creates no
 * strings, except for words that must be folded as a whole.
 */
export function hashWords(text: string, seeds: Seeds, splits = false): void {
  const [, seed] = seeds
  // Runs and names are sought in the same text, one after the other.
  if (hashed.seed === seed && hashed.text === text && (hashed.splits === splits || !hashed.hasQuotes)) return
  const end = text.length
  let low = seed
  let wordStart = -1
  let hasQuotes = false
  hashed.count = 0
  for (let at = 0; at <= end; at++) {
    const unit = at < end ? text.charCodeAt(at) : 32
    const page = unit < 256 ? ascii : pageOf(unit >>> 8)
    const kind = page.classes[unit & 255] ?? separator
    if (kind === letter) {
      const folded = page.folded[unit & 255] ?? 0
      if (wordStart < 0) {
        wordStart = at
        low = seed
      }
      low = mixed(low + Math.imul(folded, 0x9e3779b1))
      continue
    }
    const isInWord = wordStart >= 0
    if (kind === several) {
      if (!isInWord) {
        wordStart = at
        low = seed
      }
      const folded = page.longer.get(unit & 255) ?? ''
      for (let n = 0; n < folded.length; n++) low = mixed(low + Math.imul(folded.charCodeAt(n), 0x9e3779b1))
      continue
    }
    if (kind === ignored && isInWord) continue
    let isWhole = kind === irregular || (isInWord && (kind === mark || kind === aloneOrMark))
    let isPair = false
    if (kind === half && at < end) {
      const point = text.codePointAt(at) ?? 0
      isPair = point > 0xffff
      isWhole = isPair && !separates(point)
    } else if (isInWord && kind === quote) hasQuotes = true
    if (isInWord && kind === quote && !splits && at + 1 < end) {
      // An apostrophe inside a word is ignored and does not end the word.
      const next = text.charCodeAt(at + 1)
      const following = pageOf(next >>> 8).classes[next & 255]
      if (following === letter || following === several || following === ignored) continue
      isWhole = following !== separator && following !== alone && following !== quote
    }
    if (isWhole) {
      hasQuotes = true
      at = pushToSpace(text, isInWord ? wordStart : at, at, seeds, splits) - 1
      wordStart = -1
      continue
    }
    if (isInWord) {
      push(low, wordWeight, wordStart, at)
      wordStart = -1
    }
    if (kind === alone || kind === aloneOrMark) {
      const folded = page.folded[unit & 255] ?? 0
      push(mixed(seed + Math.imul(folded, 0x9e3779b1)), 1, at, at + 1)
    }
    if (isPair) at++
  }
  hashed.text = text
  hashed.seed = seed
  hashed.splits = splits
  hashed.hasQuotes = hasQuotes
}

/**
 * Adjacent pieces of half a run, in the text's own spelling, for queries of a full-text index. Every run of the text contains a complete
 * piece, unless it mixes scripts.
 */
export function halfRuns(text: string): string[] {
  const tokens = tokenize(text)
  const pieces: string[] = []
  for (let from = 0; from < tokens.length; ) {
    const end = endOfRun(tokens, from, runWeight / 2)
    if (end === undefined) break
    pieces.push(text.slice(tokens[from]?.start, tokens[end - 1]?.end))
    from = end
  }
  return pieces
}
