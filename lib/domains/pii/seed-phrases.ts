import { sha256 } from '@noble/hashes/sha2.js'
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
import { type Finding, finding } from './findings.ts'
import { isCalledSeed } from './key-context.ts'

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
/** Words that are looked at together at most; beyond, the last ones are carried on. */
const runLimit = 512
/** Between two words of a phrase: numbers, bullets, quotes, line ends. */
const widestGap = 64
const sentenceEnd = '.!?。！？'

const accents = /[\u0300-\u036f]/g
/** As people write it: composed or not, with its accents or without. */
function formsOf(word: string): Set<string> {
  const plain = word.normalize('NFKD')
  const isLatin = /^[a-z]+$/.test(plain.replace(accents, ''))
  return new Set([word, plain, plain.normalize('NFC'), ...(isLatin ? [plain.replace(accents, '')] : [])])
}

const filterBits = 1 << 19
/** One step of the hash that the scanner computes over the lower-case units of a word. */
export const hashStep = (hash: number, code: number): number => Math.imul(hash ^ code, 0x01000193)
export const hashStart = 0x811c9dc5
const slot = (hash: number): number => (hash ^ (hash >>> 15)) & (filterBits - 1)

interface Words {
  /** A bit for each word's hash: who is not in it is in no list. */
  filter: Uint8Array
  places: Map<string, number>[]
}
let made: Words | undefined
function words(): Words {
  if (made) return made
  const filter = new Uint8Array(filterBits >> 3)
  const places = lists.map((list) => {
    const place = new Map<string, number>()
    for (const [index, word] of list.entries())
      for (const form of formsOf(word)) {
        place.set(form, index)
        let hash = hashStart
        for (let at = 0; at < form.length; at++) hash = hashStep(hash, form.charCodeAt(at))
        const bit = slot(hash)
        filter[bit >> 3] = (filter[bit >> 3] ?? 0) | (1 << (bit & 7))
      }
    return place
  })
  made = { filter, places }
  return made
}
/** The filter, for the scanner's own loop: 0 where no list has a word with that hash. */
export function maybeWord(): (hash: number) => boolean {
  const { filter } = words()
  return (hash) => {
    const bit = slot(hash)
    return ((filter[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0
  }
}

const packed = new Uint8Array(33)
/** BIP-39: the first bits of the SHA-256 of the entropy follow it. 11 bits a word, the checksum one in 33. */
function hasChecksum(indices: Int16Array, from: number, length: number): boolean {
  let [held, bits, at] = [0, 0, 0]
  for (let word = from; word < from + length; word++) {
    held = (held << 11) | (indices[word] ?? 0)
    bits += 11
    for (; bits >= 8; bits -= 8) packed[at++] = held >>> (bits - 8)
    held &= (1 << bits) - 1
  }
  if (bits > 0) packed[at] = held << (8 - bits)
  const checkBits = length / 3
  const entropy = (length * 11 - checkBits) / 8
  const shift = 8 - checkBits
  return (packed[entropy] ?? 0) >> shift === (sha256(packed.subarray(0, entropy))[0] ?? 0) >> shift
}
/** A part of the list itself, as a manual prints it. */
function isListing(indices: Int16Array, from: number, length: number): boolean {
  for (let at = from + 1; at < from + length; at++) if (indices[at] !== (indices[at - 1] ?? 0) + 1) return false
  return true
}
/** A log says one word over and over; a phrase has many, but for the published ones of one word and a last one. */
function isVaried(indices: Int16Array, from: number, length: number): boolean {
  const first = indices[from]
  let [others, last] = [0, -1]
  let [second, third, fourth]: (number | undefined)[] = []
  for (let at = from + 1; at < from + length; at++) {
    const index = indices[at]
    if (index === first) continue
    others += 1
    last = at
    if (index === second || index === third || index === fourth) continue
    if (second === undefined) second = index
    else if (third === undefined) third = index
    else if (fourth === undefined) fourth = index
    else return true
  }
  return others === 1 && last === from + length - 1
}
const isPhrase = (indices: Int16Array, from: number, length: number): boolean =>
  isVaried(indices, from, length) && !isListing(indices, from, length) && hasChecksum(indices, from, length)

/** Collects words that stand one after another and may be in a list, and tells the phrases among them. */
export class SeedRun {
  readonly #text: string
  readonly #found: Finding[]
  readonly #starts: number[] = []
  readonly #ends: number[] = []
  /** Whether a sentence ended before the word. */
  readonly #stops: boolean[] = []

  constructor(text: string, found: Finding[]) {
    this.#text = text
    this.#found = found
  }
  add(start: number, end: number): void {
    const before = this.#ends.at(-1) ?? start
    if (start - before > widestGap) this.close()
    this.#stops.push(sentenceEnd.includes(this.#text.charAt(before)) && start > before)
    this.#starts.push(start)
    this.#ends.push(end)
    if (this.#starts.length >= runLimit) {
      this.#judge()
      this.#starts.splice(0, this.#starts.length - longest + 1)
      this.#ends.splice(0, this.#ends.length - longest + 1)
      this.#stops.splice(0, this.#stops.length - longest + 1)
    }
  }
  close(): void {
    if (this.#starts.length === 0) return
    if (this.#starts.length >= shortest) this.#judge()
    this.#starts.length = 0
    this.#ends.length = 0
    this.#stops.length = 0
  }
  #judge(): void {
    const written = this.#starts.map((start, at) => this.#text.slice(start, this.#ends[at]).toLowerCase())
    for (const [language, place] of words().places.entries()) {
      const indices = Int16Array.from(written, (word) => place.get(word) ?? -1)
      /** Up to where all words from here on are of this language. */
      let known = 0
      for (let from = 0; from + shortest <= indices.length; from++) {
        known = Math.max(known, from)
        while (known < indices.length && (indices[known] ?? -1) >= 0) known += 1
        if (known - from < shortest) {
          from = known
          continue
        }
        const length = lengths.find(
          (some) => from + some <= known && this.#isEven(from, some) && isPhrase(indices, from, some),
        )
        if (length === undefined) continue
        const [start, end] = [this.#starts[from] ?? 0, this.#ends[from + length - 1] ?? 0]
        // Single signs of Chinese with gaps between them; words of other languages are rarer.
        this.#found.push(finding('seed_phrase', start, end, chineseLists.includes(language) ? 0.9 : 0.97))
        from += length - 1
      }
    }
  }
  /** A phrase has one sort of gap: it does not go over the end of a sentence, unless there is one after each word. */
  #isEven(from: number, length: number): boolean {
    for (let at = from + 2; at < from + length; at++) if (this.#stops[at] !== this.#stops[from + 1]) return false
    return true
  }
}
/** Before a phrase that is written without gaps. */
const copula = /[是为為即]/
/**
 * A Chinese phrase without gaps at the end of a run of Han signs, where the text says that it is one: without that word, prose of these
 * frequent signs has a right checksum once in sixteen.
 */
export function unspacedSeed(text: string, start: number, end: number): Finding | undefined {
  for (const language of chineseLists) {
    const place = words().places[language]
    if (!place) continue
    for (const length of lengths) {
      const from = end - length
      if (from < start || (from > start && !copula.test(text.charAt(from - 1)))) continue
      const indices = Int16Array.from({ length }, (_, at) => place.get(text.charAt(from + at)) ?? -1)
      if (!indices.includes(-1) && isPhrase(indices, 0, length) && isCalledSeed(text, from))
        return finding('seed_phrase', from, end, 0.85)
    }
  }
  return undefined
}
