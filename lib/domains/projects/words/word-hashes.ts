import { isWithinWord, tokenize, unspaced, wordWeight } from './tokens.ts'

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
/** Folds to more than one code unit, or depends on adjacent characters. Only `tokenize` handles it. */
const irregular = 5
/** Like {@link alone}; after a word, like {@link mark}. */
const aloneOrMark = 6

const isAlone = new RegExp(`^[${unspaced}]`, 'v')
const isLetter = new RegExp(`^${isWithinWord}`, 'v')
const isMark = /^\p{M}/u

interface CodePage {
  classes: Uint8Array
  /** The folded form of each code unit. */
  folded: Uint16Array
}
const pages: (CodePage | undefined)[] = []

/** Conjoining Hangul characters, which compose with adjacent characters. */
const isConjoining = (unit: number): boolean => unit >= 0x1100 && unit <= 0x11ff

function pageAt(high: number): CodePage {
  const page = { classes: new Uint8Array(256), folded: new Uint16Array(256) }
  for (let low = 0; low < 256; low++) {
    const unit = high * 256 + low
    const text = String.fromCharCode(unit)
    if (unit >= 0xd800 && unit <= 0xdfff) {
      page.classes[low] = half
      continue
    }
    const isWord = isAlone.test(text) ? alone : isLetter.test(text) ? letter : isMark.test(text) ? mark : separator
    page.classes[low] = isWord === alone && isMark.test(text) ? aloneOrMark : isWord
    if (isWord !== alone && isWord !== letter) continue
    const compatible = text.normalize('NFKC')
    const folded = compatible.toLowerCase()
    // A capital sigma has another lower-case form at the end of a word.
    if (folded.length === 1 && !compatible.includes('Σ') && !isConjoining(folded.charCodeAt(0)))
      page.folded[low] = folded.charCodeAt(0)
    else page.classes[low] = irregular
  }
  pages[high] = page
  return page
}
const pageOf = (high: number): CodePage => pages[high] ?? pageAt(high)
const ascii = pageOf(0)

const inText = new RegExp(`[${unspaced}]|${isWithinWord}|\\p{M}`, 'v')
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

/** Adds the words up to the next space with `tokenize`. Returns the offset of that space. No word contains a space. */
function pushToSpace(text: string, from: number, at: number, seeds: Seeds): number {
  let end = at
  while (end < text.length && text.charCodeAt(end) > 32) end++
  for (const { word, weight, start, end: wordEnd } of tokenize(text.slice(from, end)))
    push(hashOfWord(word, seeds)[1], weight, from + start, from + wordEnd)
  return end
}

/**
 * Hashes the words of a text into {@link hashed}, with the same results as {@link hashOfWord} on the words of `tokenize`. Creates no
 * strings, except for words that must be folded as a whole.
 */
export function hashWords(text: string, seeds: Seeds): void {
  const [, seed] = seeds
  const end = text.length
  let low = seed
  let wordStart = -1
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
    let isWhole = kind === irregular || (isInWord && (kind === mark || kind === aloneOrMark))
    let isPair = false
    if (kind === half && at < end) {
      const point = text.codePointAt(at) ?? 0
      isPair = point > 0xffff
      isWhole = isPair && !separates(point)
    } else if (isInWord && (unit === 0x27 || unit === 0x2019) && at + 1 < end) {
      // An apostrophe inside a word is ignored and does not end the word.
      const next = text.charCodeAt(at + 1)
      const following = pageOf(next >>> 8).classes[next & 255]
      if (following === letter) continue
      isWhole = following !== separator && following !== alone
    }
    if (isWhole) {
      at = pushToSpace(text, isInWord ? wordStart : at, at, seeds) - 1
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
}
