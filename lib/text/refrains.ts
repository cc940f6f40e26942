import type { Span } from './layer.ts'
import { mixed } from './words.ts'

// What a program repeats between a few words of a text: tags of words, names of parameters, notes, cues, calls of a function. Nobody can list
// all of these formats, but each repeats the same words with other numbers, at short distances and beside signs that sentences do not have.

/** Occurrences at short distances: fewer may be chance. */
const leastRepeated = 3
/** The distance between two occurrences: longer parts of a text contain runs of their own. In characters. */
const mostCharacters = 240
/** The words before the first and after the last occurrence, which belong to the same runs. */
const [leadingWords, mostWords] = [12, 16]
/** What is repeated occurs at least this often, as a share of what occurs most often. */
const leastShare = 0.6
/** A longer word is no part of a format, nor an index of a record. */
const longestWord = 64
/** What a UTF-16 code unit is: a sign that sentences have between words or another one, a colon, or a part of a word. */
const [ofSentence, sign, colon, ascii, letter, unspaced] = [0, 1, 2, 3, 4, 5]
const classes = new Uint8Array(0x10000).fill(sign)
for (const one of " \u00a0,.;!?'’‘-–—…·，。、；！？؟،؛।") classes[one.charCodeAt(0)] = ofSentence
for (const one of ':：') classes[one.charCodeAt(0)] = colon
/** Scripts that write no spaces between words, in pairs of their first and exclusive last letter. */
const unspacedScripts = [0xe00, 0xf00, 0x1000, 0x10a0, 0x1780, 0x1800, 0x2e80, 0x10000]
const wordUnit = /[\p{L}\p{M}\p{N}]/u
for (let unit = 0; unit < 0x10000; unit++)
  if ((unit >= 0xd800 && unit < 0xe000) || wordUnit.test(String.fromCharCode(unit)))
    classes[unit] = unit < 128 ? ascii : letter
for (let at = 0; at < unspacedScripts.length; at += 2)
  for (let unit = unspacedScripts[at] ?? 0; unit < (unspacedScripts[at + 1] ?? 0); unit++)
    if (classes[unit] === letter) classes[unit] = unspaced
const isDigit = (unit: number): boolean => unit >= 48 && unit <= 57
/** Letters and what sentences have between them, in ASCII. */
const isPlain = Uint8Array.from({ length: 128 }, (_, unit) =>
  (classes[unit] === ofSentence || classes[unit] === ascii) && !isDigit(unit) ? 1 : 0,
)
const classAt = (text: string, at: number): number => classes[text.charCodeAt(at)] ?? ofSentence
const isWordAt = (text: string, at: number): boolean => classAt(text, at) >= ascii
/** The number of an item: `(b)`, `iv.` */
const numeral = /^(?:[a-z]|[ivxlc]{1,6})$/i
const numberHash = 0x2545f491

/** Most parts of a text that repeat something are short. In words. */
const fewest = 64
const grown = (from: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> => {
  const to = new Int32Array(from.length * 2)
  to.set(from)
  return to
}
/** What is known of a word: a sign beside it is of no sentence; nothing but signs without spaces is between it and the word before. */
const [besideSign, attached] = [1, 2]
/** The words of a part of a text, with a hash that is the same for all numbers. */
class Words {
  count = 0
  starts = new Int32Array(fewest)
  ends = new Int32Array(fewest)
  hashes = new Int32Array(fewest)
  flags = new Int32Array(fewest)

  constructor(text: string, { start, end: to }: Span) {
    let flags = start === 0 ? besideSign : 0
    for (let at = start; at < to; ) {
      if (!isWordAt(text, at)) {
        const unit = text.charCodeAt(at)
        if (isSign(text, at)) flags |= besideSign
        const isFirst = this.count > 0 && this.ends[this.count - 1] === at
        if (unit <= 32 || unit === 0xa0) flags &= ~attached
        else if (isFirst) flags |= attached
        at++
        continue
      }
      const end = endOfWord(text, at, to)
      if ((flags & besideSign) !== 0) this.#markLast()
      const digits = digitsAtEnd(text, at, end)
      this.#add(text, at, end - digits, digits > 0 ? flags | besideSign : flags)
      if (digits > 0) this.#add(text, end - digits, end, besideSign | attached)
      flags = 0
      at = end
    }
    if ((flags & besideSign) !== 0 || to === text.length) this.#markLast()
  }

  #markLast(): void {
    const last = this.count - 1
    if (last >= 0) this.flags[last] = (this.flags[last] ?? 0) | besideSign
  }
  #add(text: string, start: number, end: number, flags: number): void {
    const at = this.count++
    if (at === this.starts.length) {
      this.starts = grown(this.starts)
      this.ends = grown(this.ends)
      this.hashes = grown(this.hashes)
      this.flags = grown(this.flags)
    }
    this.starts[at] = start
    this.ends[at] = end
    this.hashes[at] = hashOf(text, start, end)
    this.flags[at] = flags
  }
}
function endOfWord(text: string, start: number, to: number): number {
  let [end, former] = [start + 1, classAt(text, start)]
  if (former === ascii) while (end < to && classes[text.charCodeAt(end)] === ascii) end++
  for (; end < to; end++) {
    const unit = text.charCodeAt(end)
    const next = classes[unit] ?? ofSentence
    if (next < ascii) {
      if ((unit !== 39 && unit !== 0x2019) || end + 1 >= to || !isWordAt(text, end + 1)) break
      continue
    }
    // Scripts without spaces have none beside a word of another script either.
    if (next !== former && (next === ascii ? former === unspaced : former === ascii && next === unspaced)) break
    former = next
  }
  return end
}
/** Whether the sign at an offset is none that sentences have between words. */
function isSign(text: string, at: number): boolean {
  const one = classAt(text, at)
  return one === sign || (one === colon && text.charCodeAt(at + 1) > 32)
}
/** The digits that a program added to a word: the number of a note. */
function digitsAtEnd(text: string, start: number, end: number): number {
  if (!isDigit(text.charCodeAt(end - 1))) return 0
  let digits = 1
  while (digits < 4 && isDigit(text.charCodeAt(end - 1 - digits))) digits++
  return digits < 4 && end - start > digits + 1 && !hasDigit(text, start, end - digits) ? digits : 0
}
function hasDigit(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (isDigit(text.charCodeAt(at))) return true
  return false
}
function hashOf(text: string, start: number, end: number): number {
  const length = end - start
  if (length > longestWord) return mixed(start ^ 0x5bd1e995)
  const next = text.charCodeAt(end)
  if ((next === 46 || next === 41) && length < 7 && isFirstInLine(text, start) && numeral.test(text.slice(start, end)))
    return numberHash
  let hash = length
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (isDigit(unit)) return numberHash
    hash = (Math.imul(hash, 0x01000193) ^ unit) | 0
  }
  return mixed(hash)
}
function isFirstInLine(text: string, start: number): boolean {
  let at = start - 1
  while (at >= 0 && (text[at] === ' ' || text[at] === '(' || text[at] === '\t')) at--
  return at < 0 || text[at] === '\n'
}

/** A number for each hash. Unlike a map, it allocates nothing for an entry and little for each text. */
class HashTable {
  #keys = new Int32Array(256)
  #values = new Int32Array(256)
  /** In which text an entry was written: a new text makes all entries old. */
  #texts = new Int32Array(256)
  #text = 1
  #size = 0

  clear(): void {
    this.#text++
    this.#size = 0
    if (this.#keys.length > 0x10000 || this.#text === 0x7fffffff) this.#allocate(256)
  }
  /** The place of a hash, with the value 0 if it is new. It is valid until the next place is asked for. */
  placeOf(hash: number): number {
    if (this.#size * 2 >= this.#keys.length) this.#grow()
    const [keys, texts] = [this.#keys, this.#texts]
    const mask = keys.length - 1
    let at = hash & mask
    while (texts[at] === this.#text) {
      if (keys[at] === hash) return at
      at = (at + 1) & mask
    }
    keys[at] = hash
    texts[at] = this.#text
    this.#values[at] = 0
    this.#size++
    return at
  }
  valueAt(place: number): number {
    return this.#values[place] ?? 0
  }
  setAt(place: number, value: number): void {
    this.#values[place] = value
  }
  increment(hash: number): number {
    const place = this.placeOf(hash)
    const value = (this.#values[place] ?? 0) + 1
    this.#values[place] = value
    return value
  }
  /** The value of a hash; 0 if it has none. */
  get(hash: number): number {
    const mask = this.#keys.length - 1
    for (let at = hash & mask; this.#texts[at] === this.#text; at = (at + 1) & mask)
      if (this.#keys[at] === hash) return this.#values[at] ?? 0
    return 0
  }
  #allocate(length: number): void {
    this.#keys = new Int32Array(length)
    this.#values = new Int32Array(length)
    this.#texts = new Int32Array(length)
    this.#text = 1
  }
  #grow(): void {
    const [keys, values, texts, text] = [this.#keys, this.#values, this.#texts, this.#text]
    this.#allocate(keys.length * 2)
    this.#size = 0
    for (let at = 0; at < keys.length; at++)
      if (texts[at] === text) this.setAt(this.placeOf(keys[at] ?? 0), values[at] ?? 0)
  }
}
/** The tables are used by one call at a time, which clears them first. */
const [chainsOf, countsOfPairs] = [new HashTable(), new HashTable()]
const [countsBesideSigns, countsOfBlocks] = [new HashTable(), new HashTable()]
/** The parts of a text in which a word beside a sign is repeated at short distances. In order, without overlaps. */
function repetitionsIn(text: string): Span[] {
  chainsOf.clear()
  // The first word, the last word and the number of occurrences of each chain.
  let chains = new Int32Array(fewest * 3)
  let chainCount = 0
  const found: Span[] = []
  const close = (chain: number) => {
    const [first = 0, last = 0, count = 0] = [chains[chain], chains[chain + 1], chains[chain + 2]]
    if (count >= leastRepeated) found.push({ start: startOfWords(text, first), end: endOfWords(text, last) })
  }
  /** Notes a word. Beside an equal one, it is no further occurrence: numbers of a time, or of a table. */
  const note = (word: number, former: number): number => {
    // Numbers with apostrophes between them are one word, which would be read to its end at each number.
    const hash = hashOf(text, word, endOfWord(text, word, Math.min(text.length, word + longestWord + 2)))
    const place = chainsOf.placeOf(hash)
    const known = chainsOf.valueAt(place) - 1
    if (known >= 0 && word - (chains[known + 1] ?? 0) <= mostCharacters) {
      if (hash !== former) chains[known + 2] = (chains[known + 2] ?? 0) + 1
      chains[known + 1] = word
      return hash
    }
    if (known >= 0) close(known)
    const chain = known >= 0 ? known : chainCount++ * 3
    if (chain === chains.length) chains = grown(chains)
    chains[chain] = word
    chains[chain + 1] = word
    chains[chain + 2] = 1
    chainsOf.setAt(place, chain + 1)
    return hash
  }
  let [noted, hash] = [-1, 0]
  const noteAt = (word: number, isNext: boolean) => {
    if (word !== noted) hash = note(word, isNext ? hash : 0)
    noted = word
  }
  if (text.length > 0 && isWordAt(text, 0)) noteAt(0, false)
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 128 ? isPlain[unit] === 1 : classes[unit] !== sign && classes[unit] !== colon) continue
    if (isDigit(unit)) {
      if (at === 0 || !isWordAt(text, at - 1) || isDigit(text.charCodeAt(at - 1))) continue
      let end = at + 1
      while (isDigit(text.charCodeAt(end))) end++
      if (!isWordAt(text, end)) noteAt(at, false)
      at = end - 1
      continue
    }
    if (!isSign(text, at)) continue
    const before = startOfWordBefore(text, at, noted)
    if (before >= 0) noteAt(before, false)
    while (at < text.length && !isWordAt(text, at)) at++
    if (at < text.length) noteAt(at, before >= 0)
    at--
  }
  for (let chain = 0; chain < chainCount; chain++) close(chain * 3)
  found.sort((one, other) => one.start - other.start)
  const merged: Span[] = []
  for (const { start, end } of found) {
    const before = merged.at(-1)
    if (before && start <= before.end) before.end = Math.max(before.end, end)
    else merged.push({ start, end })
  }
  return merged
}
/** The start of the last word before a sign, not before an offset; -1 without one. */
function startOfWordBefore(text: string, sign: number, least: number): number {
  let start = sign
  while (start > least && !isWordAt(text, start - 1)) start--
  const end = start
  while (start > Math.max(least, end - longestWord - 1) && isWordAt(text, start - 1)) start--
  return start === end ? -1 : start
}
/** The start of the words that may belong to a run before an offset. */
function startOfWords(text: string, end: number): number {
  let start = end
  for (let count = 0; count < leadingWords && start > 0; count++) {
    const most = Math.max(0, start - longestWord)
    while (start > most && !isWordAt(text, start - 1)) start--
    while (start > most && isWordAt(text, start - 1)) start--
  }
  return start
}
/** The end of the words that may belong to a run after an offset. */
function endOfWords(text: string, start: number): number {
  let end = start
  for (let count = 0; count <= mostWords && end < text.length; count++) {
    end = endOfWord(text, end, text.length)
    while (end < text.length && !isWordAt(text, end)) end++
  }
  return end
}

const pairOf = (hashes: Int32Array, at: number): number =>
  mixed((hashes[at - 1] ?? 0) ^ Math.imul(hashes[at] ?? 0, 0x9e3779b1))
/** A word that is repeated beside a sign, and one that is repeated beside such a word. */
const [repeats, plain] = [1, 2]
/** Which words are repeated: those beside a sign that occur about as often as the most frequent one, and what they always have beside them. */
function repeatedWords({ hashes, flags, count }: Words): Uint8Array {
  const [besideSigns, pairs] = [countsBesideSigns, countsOfPairs]
  besideSigns.clear()
  pairs.clear()
  /** The number of each pair in the order of their first occurrences, and how often each occurs. */
  const [pairIds, pairCounts] = [new Int32Array(count), new Int32Array(count + 1)]
  let [most, pairCount] = [0, 0]
  const has = (at: number, flag: number) => ((flags[at] ?? 0) & flag) !== 0
  for (let at = 0; at < count; at++) {
    if (at > 0) {
      const place = pairs.placeOf(pairOf(hashes, at))
      let id = pairs.valueAt(place)
      if (id === 0) {
        id = ++pairCount
        pairs.setAt(place, id)
      }
      pairIds[at] = id
      pairCounts[id] = (pairCounts[id] ?? 0) + 1
    }
    if (has(at, besideSign) && (at === 0 || hashes[at] !== hashes[at - 1]))
      most = Math.max(most, besideSigns.increment(hashes[at] ?? 0))
  }
  const least = Math.max(leastRepeated, Math.ceil(most * leastShare))
  const isNumber = (at: number) => hashes[at] === numberHash
  const isPair = (at: number) => (pairCounts[pairIds[at] ?? 0] ?? 0) >= least
  const marked = new Uint8Array(count)
  for (let at = 0; at < count; at++) {
    const isFrequent = besideSigns.get(hashes[at] ?? 0) >= least
    if (isFrequent && (has(at, besideSign) || (isNumber(at) && has(at, attached)))) marked[at] = repeats
  }
  /** Whether a word belongs to what is repeated beside it. Two words without a sign may be an answer that somebody gave twice. */
  const belongs = (at: number, joint: number, beyond: number): boolean =>
    isNumber(at)
      ? isPair(joint) || has(joint, attached)
      : isPair(joint) && (marked[beyond] !== plain || isNumber(beyond))
  for (let at = 1; at < count; at++)
    if (marked[at] === 0 && marked[at - 1] !== 0 && belongs(at, at, at - 1)) marked[at] = plain
  for (let at = count - 2; at >= 0; at--)
    if (marked[at] === 0 && marked[at + 1] !== 0 && belongs(at, at + 1, at + 1)) marked[at] = plain
  releaseWordsOfItems(hashes, marked)
  return marked
}
/**
 * A format separates its items by the same words. If two items have more repeated words between them, an item begins or ends with a word of
 * the format, or is one: `call("and") >> and.txt`. Only the words that usually separate two items remain marked.
 */
function releaseWordsOfItems(hashes: Int32Array, marked: Uint8Array): void {
  // The first word of each block, and the exclusive end of the last one.
  const [froms, ends, ofBlocks]: [number[], number[], number[]] = [[], [], []]
  const counts = countsOfBlocks
  counts.clear()
  for (let at = 0; at < marked.length; at++) {
    if (marked[at] === 0) continue
    froms.push(at)
    let hash = 0
    for (; at < marked.length && marked[at] !== 0; at++) hash = mixed(Math.imul(hash, 31) ^ (hashes[at] ?? 0))
    ends.push(at)
    ofBlocks.push(hash)
    counts.increment(hash)
  }
  // The first and the last block separate nothing, and are shorter.
  const least = Math.max(leastRepeated, (froms.length - 2) * leastShare)
  const usual = ofBlocks.findIndex((hash) => counts.get(hash) >= least)
  const first = froms[usual] ?? 0
  const usualLength = (ends[usual] ?? 0) - first
  if (usualLength < 2) return
  const isUsual = (at: number): boolean => {
    for (let word = 0; word < usualLength; word++) if (hashes[at + word] !== hashes[first + word]) return false
    return true
  }
  for (let block = 0; block < froms.length; block++) {
    const [from = 0, end = 0] = [froms[block], ends[block]]
    if (end - from <= usualLength) continue
    const released: number[] = []
    for (let at = from; at < end; )
      if (at + usualLength <= end && isUsual(at)) at += usualLength
      else released.push(at++)
    // A block without the usual words remains as it is.
    if (released.length <= end - from - usualLength) for (const at of released) marked[at] = 0
  }
}

/** A part of a text with what is repeated in it. */
export interface RepeatingPart extends Span {
  /** In order, without overlaps. */
  readonly repeated: readonly Span[]
}
/** The parts of a text in which the same words, with other numbers, are repeated after a few others. In order. */
export function repeatingPartsIn(text: string): RepeatingPart[] {
  return repetitionsIn(text).flatMap((part) => {
    const words = new Words(text, part)
    const marked = repeatedWords(words)
    const repeated: Span[] = []
    for (let at = 0; at < words.count; at++) {
      if (marked[at] === 0) continue
      const [start, end] = [words.starts[at] ?? 0, words.ends[at] ?? 0]
      const last = repeated.at(-1)
      if (last && marked[at - 1] !== 0) last.end = end
      else repeated.push({ start, end })
    }
    return repeated.length === 0 || !marked.includes(0) ? [] : [{ ...part, repeated }]
  })
}
