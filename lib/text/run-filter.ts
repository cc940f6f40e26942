import { hashed, hashWords, mixed, runWeight, type Seeds, wordWeight } from './words.ts'

const bitsPerRun = 32
const leastBits = 2 ** 15

const wordsOfRun = runWeight / wordWeight
const isSixWords = (weights: Uint8Array, at: number): boolean =>
  weights[at] === wordWeight &&
  weights[at + 1] === wordWeight &&
  weights[at + 2] === wordWeight &&
  weights[at + 3] === wordWeight &&
  weights[at + 4] === wordWeight &&
  weights[at + 5] === wordWeight
/** The hash of the most frequent kind of run. Written without a loop, because it accounts for half the cost of a search. */
function ofSixWords(seed: number, lows: Int32Array, at: number): number {
  let low = mixed(seed ^ (lows[at] ?? 0))
  low = mixed(low ^ (lows[at + 1] ?? 0))
  low = mixed(low ^ (lows[at + 2] ?? 0))
  low = mixed(low ^ (lows[at + 3] ?? 0))
  low = mixed(low ^ (lows[at + 4] ?? 0))
  return mixed(low ^ (lows[at + 5] ?? 0))
}

/** By number of words: texts and names that are shorter than a run. */
export type ShortRuns = ReadonlyMap<number, ReadonlySet<number>>

/** A Bloom filter of the lower halves of fingerprints, with two bits for each. It passes one of 250 others. */
class Bloom {
  readonly #bits: Int32Array
  readonly #mask: number

  constructor(count: number) {
    const bits = Math.min(2 ** 31, 2 ** Math.ceil(Math.log2(Math.max(leastBits, count * bitsPerRun))))
    this.#bits = new Int32Array(bits / 32)
    this.#mask = bits - 1
  }
  add(run: number): void {
    const low = (run % 2 ** 32) | 0
    this.#set(low & this.#mask)
    this.#set(mixed(low) & this.#mask)
  }
  mayHave(low: number): boolean {
    return this.#isSet(low & this.#mask) && this.#isSet(mixed(low) & this.#mask)
  }
  #set(bit: number): void {
    this.#bits[bit >>> 5] = (this.#bits[bit >>> 5] ?? 0) | (1 << (bit & 31))
  }
  #isSet(bit: number): boolean {
    return ((this.#bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0
  }
}
const countOf = (runs: ShortRuns): number => [...runs.values()].reduce((sum, { size }) => sum + size, 0)
const lengthsOf = (...all: readonly ShortRuns[]): Uint8Array => {
  const found = new Uint8Array(1 + Math.max(0, ...all.flatMap((runs) => [...runs.keys()])))
  for (const runs of all) for (const length of runs.keys()) found[length] = 1
  return found
}

/**
 * Finds parts of a text that may be runs with a stored fingerprint, by the lower halves of the fingerprints.
 */
export class RunFilter {
  readonly #seeds: Seeds
  readonly #bloom: Bloom
  readonly #hasRuns: boolean
  /** Has a 1 at each length of a short run, in words. */
  readonly #lengths: Uint8Array

  constructor(seeds: Seeds, runs: Float64Array, short: ShortRuns) {
    this.#seeds = seeds
    this.#bloom = new Bloom(runs.length + countOf(short))
    this.#hasRuns = runs.length > 0
    this.#lengths = lengthsOf(short)
    for (let at = 0; at < runs.length; at++) this.#bloom.add(runs[at] ?? 0)
    for (const some of short.values()) for (const run of some) this.#bloom.add(run)
  }

  /** Whether `isRun` confirms a part of the text. `isRun` is called only for parts that pass the filter. */
  some(text: string, isRun: (start: number, end: number) => boolean): boolean {
    hashWords(text, this.#seeds)
    const { count, lows, weights, starts, ends } = hashed
    const [, seed] = this.#seeds
    const lengths = this.#lengths
    const bloom = this.#bloom
    const isPlain = this.#hasRuns && lengths.length === 1
    for (let from = 0; from < count; from++) {
      if (isPlain && from + wordsOfRun <= count && isSixWords(weights, from)) {
        const low = ofSixWords(seed, lows, from)
        if (bloom.mayHave(low) && isRun(starts[from] ?? 0, ends[from + wordsOfRun - 1] ?? 0)) return true
        continue
      }
      let low = seed
      let weight = 0
      let isOpen = this.#hasRuns
      for (let at = from; at < count; at++) {
        const length = at - from + 1
        if (!isOpen && length >= lengths.length) break
        low = mixed(low ^ (lows[at] ?? 0))
        weight += weights[at] ?? 0
        const isWhole = isOpen && weight >= runWeight
        if (isWhole) isOpen = false
        if ((isWhole || lengths[length] === 1) && bloom.mayHave(low) && isRun(starts[from] ?? 0, ends[at] ?? 0))
          return true
      }
    }
    return false
  }
}

/** A sequence of words that may be a name, by their positions in {@link hashed}; `without`: an initial between them, or -1. */
export type NameCandidate = (from: number, to: number, without: number) => void

/** Finds sequences of words that may be names with a stored fingerprint. */
export class NameFilter {
  readonly #seeds: Seeds
  readonly #bloom: Bloom
  readonly #lengths: Uint8Array
  /** Has a 1 at the lower 16 bits of the hash of each word that begins a name; undefined if these words are not known. */
  readonly #firsts: Uint8Array | undefined

  /** @param firsts lower halves of the hashes of all words that begin a name */
  constructor(seeds: Seeds, firsts: ReadonlySet<number> | undefined, ...all: readonly ShortRuns[]) {
    this.#seeds = seeds
    if (firsts) {
      this.#firsts = new Uint8Array(0x10000)
      for (const low of firsts) this.#firsts[low & 0xffff] = 1
    }
    this.#bloom = new Bloom(all.reduce((sum, runs) => sum + countOf(runs), 0))
    this.#lengths = lengthsOf(...all)
    for (const runs of all) for (const some of runs.values()) for (const run of some) this.#bloom.add(run)
  }

  /** Whether words with these lower halves, one part after the other, may be a name. */
  mayBe(lows: Int32Array, ...parts: readonly (readonly [from: number, to: number])[]): boolean {
    let [low, length] = [this.#seeds[1], 0]
    for (const [from, to] of parts) for (let at = from; at < to; at++, length++) low = mixed(low ^ (lows[at] ?? 0))
    return this.#lengths[length] === 1 && this.#bloom.mayHave(low)
  }

  /** Calls `see` for each sequence that passes the filter. Afterwards {@link hashed} has the words, split at apostrophes. */
  each(text: string, see: NameCandidate): void {
    hashWords(text, this.#seeds, true)
    const { count, lows, starts, ends, weights } = hashed
    const firsts = this.#firsts
    for (let from = 0; from < count; from++) {
      if (firsts !== undefined && firsts[(lows[from] ?? 0) & 0xffff] === 0) continue
      let initial = -1
      const longest = Math.min(this.#lengths.length, count - from)
      for (let at = from + 1; at < from + longest && initial < 0; at++)
        if (
          (ends[at] ?? 0) - (starts[at] ?? 0) === 1 &&
          weights[at] === wordWeight &&
          text.charCodeAt(starts[at] ?? 0) > 57
        )
          initial = at
      this.#from(from, count, -1, see)
      if (initial >= 0) this.#from(from, count, initial, see)
    }
  }
  #from(from: number, count: number, without: number, see: NameCandidate): void {
    const { lows } = hashed
    const lengths = this.#lengths
    let [low, length] = [this.#seeds[1], 0]
    for (let at = from; at < count; at++) {
      if (at === without) continue
      if (++length >= lengths.length) return
      low = mixed(low ^ (lows[at] ?? 0))
      if (lengths[length] === 1 && at > without && this.#bloom.mayHave(low)) see(from, at + 1, without)
    }
  }
}
