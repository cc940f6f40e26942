import type { Span } from './layer.ts'
import { mixed } from './words.ts'

// What a program repeats between a few words of a text: tags of words, names of parameters, notes, cues, calls of a function. Nobody can list
// all of these formats, but each repeats the same words with other numbers, at short distances and beside signs that sentences do not have.

/** Occurrences at short distances: fewer may be chance. */
const leastRepeated = 3
/** The distance between two occurrences: longer parts of a text contain runs of their own. In words and in characters. */
const [mostWords, mostCharacters] = [16, 240]
/** The words before the first occurrence, which a run may begin with. */
const leadingWords = 12
/** What is repeated occurs at least this often, as a share of what occurs most often. */
const leastShare = 0.6
/** A longer word is no part of a format, nor an index of a record. */
const longestWord = 64
/** Signs that sentences have between their words. */
const ofSentences = new Uint8Array(0x10000)
for (const sign of " \u00a0,.;!?'’‘-–—…·，。、；！？؟،؛।") ofSentences[sign.charCodeAt(0)] = 1

/** Letters of scripts that write no spaces between words. */
const isUnspaced = (unit: number): boolean =>
  unit >= 0xe00 &&
  (unit >= 0x2e80 || unit < 0xf00 || (unit >= 0x1000 && unit < 0x10a0) || (unit >= 0x1780 && unit < 0x1800))
const isDigit = (unit: number): boolean => unit >= 48 && unit <= 57
const isWord = new Uint8Array(0x10000)
for (let unit = 0; unit < 0x10000; unit++)
  if (/[\p{L}\p{M}\p{N}]/u.test(String.fromCharCode(unit)) || (unit >= 0xd800 && unit < 0xe000)) isWord[unit] = 1
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
      const unit = text.charCodeAt(at)
      if (isWord[unit] !== 1) {
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
    if (flags !== 0 || to === text.length) this.#markLast()
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
  let end = start + 1
  while (end < to && (continuesWord(text, end) || isApostrophe(text, end))) end++
  return end
}
/** Whether a word goes on: scripts without spaces have none beside a word of another script either. */
function continuesWord(text: string, at: number): boolean {
  const [unit, former] = [text.charCodeAt(at), text.charCodeAt(at - 1)]
  return isWord[unit] === 1 && !(unit < 128 ? isUnspaced(former) : former < 128 && isUnspaced(unit))
}
const isApostrophe = (text: string, at: number): boolean =>
  (text[at] === "'" || text[at] === '’') &&
  isWord[text.charCodeAt(at - 1)] === 1 &&
  isWord[text.charCodeAt(at + 1)] === 1
/** Whether the sign at an offset is none that sentences have between words. */
function isSign(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  if (unit === 58 || unit === 0xff1a) return text.charCodeAt(at + 1) > 32
  return ofSentences[unit] !== 1
}
/** The digits that a program added to a word: the number of a note. */
function digitsAtEnd(text: string, start: number, end: number): number {
  let digits = 0
  while (digits < 4 && isDigit(text.charCodeAt(end - 1 - digits))) digits++
  return digits > 0 && digits < 4 && end - start > digits + 1 && !hasDigit(text, start, end - digits) ? digits : 0
}
function hasDigit(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (isDigit(text.charCodeAt(at))) return true
  return false
}
function hashOf(text: string, start: number, end: number): number {
  const length = end - start
  if (length > longestWord) return mixed(start ^ 0x5bd1e995)
  const next = text[end]
  if (
    (next === '.' || next === ')') &&
    length < 7 &&
    isFirstInLine(text, start) &&
    numeral.test(text.slice(start, end))
  )
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

interface Chain {
  start: number
  last: number
  /** The offset of the last occurrence. */
  end: number
  count: number
}
/** The parts of a text in which a word beside a sign is repeated at short distances. In order, without overlaps. */
function repetitionsIn(text: string): Span[] {
  const chains = new Map<number, Chain>()
  const found: Span[] = []
  /** The offsets of the words before. */
  const leads = new Int32Array(2 * leadingWords)
  const close = ({ start, end, count }: Chain) => {
    if (count >= leastRepeated) found.push({ start, end: endOfWords(text, end) })
  }
  const note = (word: number, number: number) => {
    const hash = hashOf(text, word, endOfWord(text, word, text.length))
    const chain = chains.get(hash)
    if (chain && number - chain.last <= mostWords && word - chain.end <= mostCharacters) {
      // Numbers beside each other are one occurrence: those of a time, or of a table.
      if (number - chain.last > 1) chain.count++
      chain.last = number
      chain.end = word
    } else {
      if (chain) close(chain)
      const start = number >= leadingWords ? (leads[(number - leadingWords) % leads.length] ?? 0) : 0
      chains.set(hash, { start, last: number, end: word, count: 1 })
    }
  }
  let [number, last, isNoted, hasSign] = [0, -1, true, true]
  for (let at = 0; at < text.length; ) {
    if (isWord[text.charCodeAt(at)] !== 1) {
      hasSign ||= isSign(text, at)
      at++
      continue
    }
    if (hasSign && !isNoted) note(last, number - 1)
    if (hasSign) note(at, number)
    const end = endOfWord(text, at, text.length)
    const digits = digitsAtEnd(text, at, end)
    leads[number % leads.length] = at
    if (digits > 0) {
      leads[++number % leads.length] = at
      note(end - digits, number)
    }
    isNoted = hasSign
    hasSign = false
    last = at
    number++
    at = end
  }
  for (const chain of chains.values()) close(chain)
  found.sort((one, other) => one.start - other.start)
  const merged: Span[] = []
  for (const { start, end } of found) {
    const before = merged.at(-1)
    if (before && start <= before.end) before.end = Math.max(before.end, end)
    else merged.push({ start, end })
  }
  return merged
}
/** The end of the words that may belong to a run after an offset. */
function endOfWords(text: string, start: number): number {
  let end = start
  for (let count = 0; count <= mostWords && end < text.length; count++) {
    end = endOfWord(text, end, text.length)
    while (end < text.length && isWord[text.charCodeAt(end)] !== 1) end++
  }
  return end
}

const add = (counts: Map<number, number>, of: number) => counts.set(of, (counts.get(of) ?? 0) + 1)
const pairOf = (hashes: Int32Array, at: number): number =>
  mixed((hashes[at - 1] ?? 0) ^ Math.imul(hashes[at] ?? 0, 0x9e3779b1))
/** A word that is repeated beside a sign, and one that is repeated beside such a word. */
const [repeats, plain] = [1, 2]
/** Which words are repeated: those beside a sign that occur about as often as the most frequent one, and what they always have beside them. */
function repeatedWords({ hashes, flags, count }: Words): Uint8Array {
  const besideSigns = new Map<number, number>()
  const pairs = new Map<number, number>()
  const has = (at: number, flag: number) => ((flags[at] ?? 0) & flag) !== 0
  for (let at = 0; at < count; at++) {
    if (at > 0) add(pairs, pairOf(hashes, at))
    if (has(at, besideSign) && (at === 0 || hashes[at] !== hashes[at - 1])) add(besideSigns, hashes[at] ?? 0)
  }
  let most = 0
  for (const one of besideSigns.values()) most = Math.max(most, one)
  const least = Math.max(leastRepeated, Math.ceil(most * leastShare))
  const isNumber = (at: number) => hashes[at] === numberHash
  const isPair = (at: number) => (pairs.get(pairOf(hashes, at)) ?? 0) >= least
  const marked = new Uint8Array(count)
  for (let at = 0; at < count; at++) {
    const isFrequent = (besideSigns.get(hashes[at] ?? 0) ?? 0) >= least
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
  return marked
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
