import { runWeight, wordWeight } from './tokens.ts'
import { hashed, hashWords, mixed, type Seeds } from './word-hashes.ts'

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

/**
 * Finds parts of a text that may be runs with a stored fingerprint. Uses the lower half of the fingerprints in a Bloom filter with two bits
 * per run. The filter passes one of 250 other parts.
 */
export class RunFilter {
  readonly #seeds: Seeds
  readonly #bits: Int32Array
  readonly #mask: number
  readonly #hasRuns: boolean
  /** Has a 1 at each length of a short run, in words. */
  readonly #lengths: Uint8Array

  constructor(seeds: Seeds, runs: Float64Array, short: ShortRuns) {
    let [count, longest] = [runs.length, 0]
    for (const [length, some] of short) {
      count += some.size
      longest = Math.max(longest, length)
    }
    const bits = Math.min(2 ** 31, 2 ** Math.ceil(Math.log2(Math.max(leastBits, count * bitsPerRun))))
    this.#seeds = seeds
    this.#bits = new Int32Array(bits / 32)
    this.#mask = bits - 1
    this.#hasRuns = runs.length > 0
    this.#lengths = new Uint8Array(longest + 1)
    for (let at = 0; at < runs.length; at++) this.#add(runs[at] ?? 0)
    for (const [length, some] of short) {
      this.#lengths[length] = 1
      for (const run of some) this.#add(run)
    }
  }

  /** Whether `isRun` confirms a part of the text. `isRun` is called only for parts that pass the filter. */
  some(text: string, isRun: (start: number, end: number) => boolean): boolean {
    hashWords(text, this.#seeds)
    const { count, lows, weights, starts, ends } = hashed
    const [, seed] = this.#seeds
    const lengths = this.#lengths
    const isPlain = this.#hasRuns && lengths.length === 1
    for (let from = 0; from < count; from++) {
      if (isPlain && from + wordsOfRun <= count && isSixWords(weights, from)) {
        const low = ofSixWords(seed, lows, from)
        if (this.#mayHave(low) && isRun(starts[from] ?? 0, ends[from + wordsOfRun - 1] ?? 0)) return true
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
        if ((isWhole || lengths[length] === 1) && this.#mayHave(low) && isRun(starts[from] ?? 0, ends[at] ?? 0))
          return true
      }
    }
    return false
  }

  #add(run: number): void {
    const low = (run % 2 ** 32) | 0
    this.#set(low & this.#mask)
    this.#set(mixed(low) & this.#mask)
  }
  #set(bit: number): void {
    this.#bits[bit >>> 5] = (this.#bits[bit >>> 5] ?? 0) | (1 << (bit & 31))
  }
  #mayHave(low: number): boolean {
    return this.#isSet(low & this.#mask) && this.#isSet(mixed(low) & this.#mask)
  }
  #isSet(bit: number): boolean {
    return ((this.#bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0
  }
}
