import { wordlist as czech } from '@scure/bip39/wordlists/czech.js'
import { wordlist as english } from '@scure/bip39/wordlists/english.js'
import { wordlist as french } from '@scure/bip39/wordlists/french.js'
import { wordlist as italian } from '@scure/bip39/wordlists/italian.js'
import { wordlist as japanese } from '@scure/bip39/wordlists/japanese.js'
import { wordlist as korean } from '@scure/bip39/wordlists/korean.js'
import { wordlist as portuguese } from '@scure/bip39/wordlists/portuguese.js'
import { wordlist as simplifiedChinese } from '@scure/bip39/wordlists/simplified-chinese.js'
import { wordlist as spanish } from '@scure/bip39/wordlists/spanish.js'
import { wordlist as traditionalChinese } from '@scure/bip39/wordlists/traditional-chinese.js'
import { finding, lowConfidence, type SensitiveFinding } from '../findings.ts'
import { announcesSeed, isCalledSeed } from './key-context.ts'

const lists = [
  english,
  spanish,
  french,
  italian,
  portuguese,
  czech,
  japanese,
  korean,
  simplifiedChinese,
  traditionalChinese,
]
const chineseLists = [8, 9]
const lengths = [24, 21, 18, 15, 12]
export const shortest = 12
const longest = 24
/** A run with more words is not a phrase written in another order. */
const maxOrdered = 30
/** Maximum kinds of gaps between the words of one phrase. */
const maxSorts = 2
/** In a longer run, a phrase begins or ends where the kind of gap changes. */
const maxTried = 48
/** Maximum words examined together; beyond it, only the last ones are kept. */
const runLimit = 512
/** Maximum length between two words of a phrase: numbers, bullets, quotes, line ends. */
const widestGap = 64
const sentenceEnd = '.!?。！？'

const accents = /[\u0300-\u036f]/g
/** Spellings of a word: composed or decomposed, with or without accents. */
function formsOf(word: string): Set<string> {
  const plain = word.normalize('NFKD')
  const isLatin = /^[a-z]+$/.test(plain.replace(accents, ''))
  return new Set([word, plain, plain.normalize('NFC'), ...(isLatin ? [plain.replace(accents, '')] : [])])
}

const filterBits = 1 << 19
/** One step of the hash that the scanner computes over a word's lower-case units. */
export const hashStep = (hash: number, code: number): number => Math.imul(hash ^ code, 0x01000193)
export const hashStart = 0x811c9dc5
const slot = (hash: number): number => (hash ^ (hash >>> 15)) & (filterBits - 1)

interface Words {
  /** Bloom-like filter with a bit per word hash: a word that is not in it is in no list. */
  filter: Uint8Array
  /** Maps each spelling of a word to its row in `places`. */
  rows: Map<string, number>
  /** Index of a word in each list; -1 in lists without it. */
  places: Int16Array
}
let made: Words | undefined
function words(): Words {
  if (made) return made
  const filter = new Uint8Array(filterBits >> 3)
  const rows = new Map<string, number>()
  const found: number[] = []
  for (const [language, list] of lists.entries())
    for (const [index, word] of list.entries())
      for (const form of formsOf(word)) {
        const row = rows.get(form) ?? rows.size
        if (!rows.has(form)) found.push(...Array.from({ length: lists.length }, () => -1))
        rows.set(form, row)
        found[row * lists.length + language] = index
        let hash = hashStart
        for (let at = 0; at < form.length; at++) hash = hashStep(hash, form.charCodeAt(at))
        const bit = slot(hash)
        filter[bit >> 3] = (filter[bit >> 3] ?? 0) | (1 << (bit & 7))
      }
  made = { filter, rows, places: Int16Array.from(found) }
  return made
}
/** Filter for the scanner's loop: false if no list has a word with that hash. */
export function maybeWord(): (hash: number) => boolean {
  const { filter } = words()
  return (hash) => {
    const bit = slot(hash)
    return ((filter[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0
  }
}

const packed = new Int32Array(9)
/** BIP-39: packs 11 bits per word, for the maximum words of a phrase; words from `until` on count as zero. */
function pack(indices: Int16Array, from: number, until: number): void {
  let [held, bits, at] = [0, 0, 0]
  for (let word = from; word < from + longest; word++) {
    const index = word < until ? (indices[word] ?? 0) : 0
    const over = bits + 11 - 32
    if (over < 0) {
      held = (held << 11) | index
      bits += 11
    } else {
      packed[at++] = (held << (11 - over)) | (index >> over)
      held = index & ((1 << over) - 1)
      bits = over
    }
  }
  packed[at] = held << (32 - bits)
}

/**
 * FIPS 180-4: the first 32 bits of the fractional parts of roots of the first primes: square roots for the initial state, cube roots for
 * the round constants.
 */
function fractions(count: number, root: (prime: number) => number): Int32Array {
  const found: number[] = []
  for (let candidate = 2; found.length < count; candidate++)
    if (found.every((prime) => candidate % prime !== 0)) found.push(candidate)
  return Int32Array.from(found, (prime) => Math.floor((root(prime) % 1) * 2 ** 32) | 0)
}
const start = fractions(8, Math.sqrt)
const added = fractions(64, Math.cbrt)
/** Longest message, in 32-bit words, that fits into one block with its length. */
export const maxHashed = 13

const schedule = new Int32Array(64)
const rotated = (value: number, by: number): number => (value >>> by) | (value << (32 - by))
const of = (words: Int32Array, at: number): number => words[at] ?? 0

/**
 * Returns the first byte of the SHA-256 of the first `length` 32-bit words, at most {@link maxHashed}. The scanner tries a phrase at every
 * word, so hashing dominates the cost of adversarial texts: this uses one block and allocates nothing.
 */
export function firstHashByte(words: Int32Array, length: number): number {
  const message = schedule.fill(0, 0, 16)
  for (let at = 0; at < length; at++) message[at] = of(words, at)
  message[length] = 1 << 31
  message[15] = length * 32
  for (let at = 16; at < 64; at++) {
    const early = of(message, at - 15)
    const late = of(message, at - 2)
    const small = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3)
    const large = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10)
    message[at] = (of(message, at - 16) + small + of(message, at - 7) + large) | 0
  }
  let a = of(start, 0)
  let b = of(start, 1)
  let c = of(start, 2)
  let d = of(start, 3)
  let e = of(start, 4)
  let f = of(start, 5)
  let g = of(start, 6)
  let h = of(start, 7)
  for (let at = 0; at < 64; at++) {
    const upper = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const first = (h + upper + ((e & f) ^ (~e & g)) + of(added, at) + of(message, at)) | 0
    const lower = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
    const second = (lower + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  return (a + of(start, 0)) >>> 24
}

/**
 * Checks the words packed last: of every 33 bits, 32 are entropy and one belongs to the checksum, which follows the entropy and consists of
 * the first bits of its SHA-256.
 */
function hasChecksum(length: number): boolean {
  const bits = length / 3
  return (packed[bits] ?? 0) >>> (32 - bits) === firstHashByte(packed, bits) >> (8 - bits)
}
/** Whether at least half of the words are a section of the word list itself, as printed in manuals, or all are in its order. */
function isListing(indices: Int16Array, from: number, length: number): boolean {
  let [next, rising] = [0, 0]
  for (let at = from + 1; at < from + length; at++) {
    const step = (indices[at] ?? 0) - (indices[at - 1] ?? 0)
    if (step === 1) next += 1
    if (step >= 0) rising += 1
  }
  return next * 2 >= length || (rising === length - 1 && indices[from] !== indices[from + length - 2])
}
/**
 * Whether documentation uses the phrase: all bytes of its entropy are equal, as in the test vectors of BIP-39, or all words but the last
 * one are equal. Nobody generates such a phrase.
 */
function isPublishedPhrase(indices: Int16Array, from: number, length: number): boolean {
  const first = indices[from]
  let isOneWord = true
  for (let at = from + 1; at < from + length - 1; at++) isOneWord &&= indices[at] === first
  if (isOneWord) return true
  const bits = (length / 3) * 32
  const bitAt = (bit: number) => ((indices[from + Math.floor(bit / 11)] ?? 0) >> (10 - (bit % 11))) & 1
  for (let bit = 8; bit < bits; bit++) if (bitAt(bit) !== bitAt(bit - 8)) return false
  return true
}
const leastDifferent = 9
/** Code and logs repeat a few words; a phrase has many different ones, except published phrases of one repeated word and a last one. */
function isVaried(indices: Int16Array, from: number, length: number): boolean {
  let different = 0
  for (let at = from; at < from + length; at++) {
    const index = indices[at]
    let before = from
    while (before < at && indices[before] !== index) before += 1
    if (before === at) different += 1
    if (different === leastDifferent) return true
  }
  const last = from + length - 1
  return different === 2 && indices.indexOf(indices[last] ?? -1, from) === last
}
/** Length of the longest phrase of at most `max` words that starts here; undefined if there is none. */
function phraseLength(indices: Int16Array, from: number, max: number): number | undefined {
  pack(indices, from, from + max)
  for (const length of lengths)
    if (length <= max && isVaried(indices, from, length) && !isListing(indices, from, length) && hasChecksum(length))
      return length
  return undefined
}

const sortsWithin = (sorts: Int16Array, from: number, length: number): Set<number> =>
  new Set(sorts.subarray(from + 1, from + length))
/** Whether the gap before the first word, or one after twelve words or more, differs in kind from the gaps within. */
function mayBeOne(sorts: Int16Array, from: number, max: number, isEnd: boolean): boolean {
  const [second, third] = [sorts[from + 1], sorts[from + 2]]
  const isWithin = (at: number) => sorts[at] === second || sorts[at] === third
  if (!isWithin(from)) return true
  for (let at = from + shortest; at <= from + Math.min(max, longest); at++) {
    if (at >= sorts.length) return isEnd
    if (!isWithin(at)) return true
  }
  return false
}

/** Collects consecutive words that may be in a list, and reports the phrases among them. */
export class SeedRun {
  readonly #text: string
  readonly #found: SensitiveFinding[]
  readonly #starts: number[] = []
  readonly #ends: number[] = []
  /** Whether a sentence ended before the word. */
  readonly #stops: boolean[] = []
  /** Whether the run began before the words kept. */
  #isContinued = false

  constructor(text: string, findings: SensitiveFinding[]) {
    this.#text = text
    this.#found = findings
  }
  add(start: number, end: number): void {
    const before = this.#ends.at(-1) ?? start
    if (start - before > widestGap) this.close()
    this.#stops.push(sentenceEnd.includes(this.#text.charAt(before)) && start > before)
    this.#starts.push(start)
    this.#ends.push(end)
    if (this.#starts.length >= runLimit) {
      this.#judge(false)
      this.#isContinued = true
      this.#starts.splice(0, this.#starts.length - longest + 1)
      this.#ends.splice(0, this.#ends.length - longest + 1)
      this.#stops.splice(0, this.#stops.length - longest + 1)
    }
  }
  close(): void {
    if (this.#starts.length === 0) return
    if (this.#starts.length >= shortest) this.#judge(true)
    this.#isContinued = false
    this.#starts.length = 0
    this.#ends.length = 0
    this.#stops.length = 0
  }
  #judge(isEnd: boolean): void {
    const { rows, places } = words()
    const written = this.#starts.map(
      (start, at) => rows.get(this.#text.slice(start, this.#ends[at]).toLowerCase()) ?? -1,
    )
    const even = this.#evenEnds()
    const sorts = this.#sorts()
    const indices = new Int16Array(written.length)
    for (let language = 0; language < lists.length; language++) {
      let [inRow, maxInRow] = [0, 0]
      for (const [at, row] of written.entries()) {
        const index = row < 0 ? -1 : (places[row * lists.length + language] ?? -1)
        indices[at] = index
        inRow = index < 0 ? 0 : inRow + 1
        if (inRow > maxInRow) maxInRow = inRow
      }
      if (maxInRow < shortest) continue
      const score = chineseLists.includes(language) ? 0.9 : 0.97
      const before = this.#found.length
      this.#tell(indices, even, sorts, isEnd, score)
      if (this.#found.length === before && written.length <= maxOrdered)
        this.#tellOrdered(indices, this.#orders(), score)
    }
  }
  /**
   * Finds phrases in one language; words of other languages are -1. `score` is lower for single Chinese characters, which are more frequent
   * than words.
   */
  #tell(indices: Int16Array, even: Int16Array, sorts: Int16Array, isEnd: boolean, score: number): void {
    /** All words from here up to this index are in this language. */
    let known = 0
    for (let from = 0; from + shortest <= indices.length; from++) {
      known = Math.max(known, from)
      while (known < indices.length && (indices[known] ?? -1) >= 0) known += 1
      if (known - from < shortest) {
        from = known
        continue
      }
      const max = Math.min(known, even[from + 1] ?? 0) - from
      if (max < shortest) continue
      if (indices.length > maxTried && !mayBeOne(sorts, from, max, isEnd)) continue
      const length = phraseLength(indices, from, max)
      if (length === undefined || sortsWithin(sorts, from, length).size > maxSorts) continue
      const start = this.#starts[from] ?? 0
      // One in sixteen rows of twelve frequent characters has a valid checksum.
      const isTable = score < 0.95 && (indices.length !== length || !this.#isSpaced(from, length))
      if (isTable && !isCalledSeed(this.#text, start)) continue
      const isPublished = isPublishedPhrase(indices, from, length)
      // One repeated word with other signs between is code, such as `List<String>` several times.
      if (isPublished && this.#hasSigns(from, length)) continue
      const found = finding('seed_phrase', start, this.#ends[from + length - 1] ?? 0, score)
      this.#found.push(isPublished ? lowConfidence(found) : found)
      from += length - 1
    }
  }
  /** Whether anything but white space is between the words. */
  #hasSigns(from: number, length: number): boolean {
    for (let at = from + 1; at < from + length; at++)
      if (this.#text.slice(this.#ends[at - 1], this.#starts[at]).trim() !== '') return true
    return false
  }
  /** Whether the words are separated by one space each, or by line ends only. */
  #isSpaced(from: number, length: number): boolean {
    for (let at = from + 1; at < from + length; at++) {
      const gap = this.#text.slice(this.#ends[at - 1], this.#starts[at])
      if (gap !== ' ' && (gap.trim() !== '' || !gap.includes('\n'))) return false
    }
    return true
  }
  /** Kind of the gap before each word: its characters other than spaces, letters and numbers, including line ends. */
  #sorts(): Int16Array {
    const known = new Map<string, number>()
    return Int16Array.from(this.#starts, (start, at) => {
      const gap = at === 0 ? (this.#isContinued ? ' ' : '^') : this.#text.slice(this.#ends[at - 1], start)
      const sort = gap === ' ' ? gap : gap.replace(/[\p{L}\p{N}]+|[^\S\n]+/gu, '')
      if (!known.has(sort)) known.set(sort, known.size)
      return known.get(sort) ?? 0
    })
  }
  /** The words in the order of the numbers before them, or by column, if they are written like that. */
  #orders(): number[][] {
    const words = [...this.#starts.keys()]
    const numbers = words.map((at) => {
      const before = this.#text.slice(Math.max(this.#ends[at - 1] ?? 0, (this.#starts[at] ?? 0) - 12), this.#starts[at])
      return Number(/(\d{1,2})[^\p{L}\p{N}]{0,8}$/u.exec(before)?.[1] ?? 0)
    })
    const numbered = words
      .filter((at) => (numbers[at] ?? 0) > 0)
      .toSorted((a, b) => (numbers[a] ?? 0) - (numbers[b] ?? 0))
    const isCounted = numbered.every((at, place) => numbers[at] === place + 1)
    const rows: number[][] = []
    for (const at of words) {
      const isNewRow = at === 0 || this.#text.slice(this.#ends[at - 1], this.#starts[at]).includes('\n')
      if (isNewRow) rows.push([at])
      else rows.at(-1)?.push(at)
    }
    const columns = rows[0]?.length ?? 0
    const areColumns = columns > 1 && columns < 5 && rows.every(({ length }) => length === columns)
    const byColumn = areColumns
      ? Array.from({ length: columns }, (_, at) => rows.map((row) => row[at] ?? 0)).flat()
      : []
    return [isCounted ? numbered : [], byColumn].filter(({ length }) => lengths.includes(length))
  }
  /** Finds phrases whose words are not in reading order. */
  #tellOrdered(indices: Int16Array, orders: readonly number[][], score: number): void {
    for (const order of orders) {
      const ordered = Int16Array.from(order, (at) => indices[at] ?? -1)
      if (ordered.includes(-1) || phraseLength(ordered, 0, ordered.length) !== ordered.length) continue
      const [first, last] = [Math.min(...order), Math.max(...order)]
      this.#found.push(finding('seed_phrase', this.#starts[first] ?? 0, this.#ends[last] ?? 0, score))
    }
  }
  /**
   * For each word, the end of the words with the same kind of boundary: a phrase does not cross the end of a sentence, unless every word
   * ends one.
   */
  #evenEnds(): Int16Array {
    const ends = new Int16Array(this.#stops.length)
    for (let at = ends.length - 1; at >= 0; at--)
      ends[at] = this.#stops[at] === this.#stops[at + 1] ? (ends[at + 1] ?? 0) : at + 1
    return ends
  }
}
/** Verbs before a phrase without gaps. */
const copula = /[是为為即]/
/**
 * A Chinese phrase without gaps at the end of a run of Han characters, if the text announces it: otherwise, one in sixteen texts of these
 * frequent characters would have a valid checksum.
 */
export function unspacedSeed(text: string, start: number, end: number): SensitiveFinding | undefined {
  const { rows, places } = words()
  for (const language of chineseLists) {
    for (const length of lengths) {
      const from = end - length
      if (from < start || (from > start && !copula.test(text.charAt(from - 1)))) continue
      const indices = Int16Array.from({ length }, (_, at) => {
        const row = rows.get(text.charAt(from + at))
        return row === undefined ? -1 : (places[row * lists.length + language] ?? -1)
      })
      if (!indices.includes(-1) && phraseLength(indices, 0, length) === length && announcesSeed(text, from))
        return finding('seed_phrase', from, end, 0.85)
    }
  }
  return undefined
}
