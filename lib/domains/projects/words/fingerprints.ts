import { randomBytes } from 'node:crypto'
import { RunFilter, type ShortRuns } from './run-filter.ts'
import { endOfRun, tokenize, type WordToken } from './tokens.ts'
import { hashOfWord, mixed, type Seeds } from './word-hashes.ts'

/** A part of a text, in UTF-16 offsets; `end` is exclusive. */
export interface TextSpan {
  start: number
  end: number
}
/** The position of a run of an erased text in another text, with its fingerprint. */
export interface FingerprintMatch extends TextSpan {
  run: number
}

/** Shorter texts occur too often by chance to identify their author. They are erased only if provenance names them. */
const leastCharacters = 20
const keyBytes = 8
const noRuns = new Float64Array()

/**
 * Keyed fingerprints of erased texts. They find runs of erased words in other texts after the words are deleted, and do not reveal them.
 * A fingerprint has 53 bits: comparing 10⁶ stored with 10⁶ other runs gives a false match in about one of 10⁴ cases.
 */
export class Fingerprints {
  readonly #seeds: Seeds
  readonly #key: Buffer
  #sorted = new Float64Array()
  #added: number[] = []
  /** By number of tokens: whole texts that are shorter than a run. */
  readonly #short = new Map<number, Set<number>>()
  readonly #names = new Map<number, Set<number>>()
  /** Hashes of the most recently read tokens. Each token is part of several runs. */
  #hashed: readonly WordToken[] = []
  #hashes: (readonly [number, number])[] = []
  /** Built by the first search after a change. */
  #textFilter: RunFilter | undefined
  #nameFilter: RunFilter | undefined

  constructor(key: Buffer = randomBytes(keyBytes)) {
    this.#key = key
    this.#seeds = [key.readUInt32LE(0), key.readUInt32LE(4)]
  }

  get isEmpty(): boolean {
    return this.#sorted.length + this.#added.length + this.#short.size + this.#names.size === 0
  }

  /** Adds the runs of an erased text. A text shorter than a run is added as a whole if it has at least 20 characters. */
  add(text: string): void {
    this.#textFilter = undefined
    const tokens = tokenize(text)
    let end: number | undefined
    for (let from = 0; from < tokens.length; from++) {
      end = endOfRun(tokens, from)
      if (end === undefined) {
        if (from === 0 && tokens.reduce((sum, { word }) => sum + word.length + 1, -1) >= leastCharacters)
          addTo(this.#short, tokens.length, this.#hash(tokens, 0, tokens.length))
        return
      }
      this.#added.push(this.#hash(tokens, from, end))
    }
  }

  /** Adds a name, an email address or a telephone number of an erased person, of any length. */
  addName(name: string): void {
    this.#nameFilter = undefined
    const tokens = tokenize(name)
    if (tokens.length > 0) addTo(this.#names, tokens.length, this.#hash(tokens, 0, tokens.length))
  }

  /** Runs of erased texts in another text, ordered by start. They may overlap. */
  runsIn(text: string): FingerprintMatch[] {
    this.#settle()
    if (this.#sorted.length + this.#short.size === 0) return []
    this.#textFilter ??= new RunFilter(this.#seeds, this.#sorted, this.#short)
    const isStored = (start: number, end: number) => this.#isStored(text, start, end, this.#sorted, this.#short)
    if (!this.#textFilter.some(text, isStored)) return []
    const tokens = tokenize(text)
    const found: FingerprintMatch[] = []
    for (let from = 0; from < tokens.length; from++) {
      const end = this.#sorted.length === 0 ? undefined : endOfRun(tokens, from)
      if (end !== undefined) this.#note(found, tokens, from, end, (run) => has(this.#sorted, run))
      for (const [length, runs] of this.#short)
        if (from + length <= tokens.length) this.#note(found, tokens, from, from + length, (run) => runs.has(run))
    }
    return found
  }

  /** Names, email addresses and telephone numbers of the erased person in a text. */
  namesIn(text: string): FingerprintMatch[] {
    if (this.#names.size === 0) return []
    this.#nameFilter ??= new RunFilter(this.#seeds, noRuns, this.#names)
    const isStored = (start: number, end: number) => this.#isStored(text, start, end, noRuns, this.#names)
    if (!this.#nameFilter.some(text, isStored)) return []
    const tokens = tokenize(text)
    const found: FingerprintMatch[] = []
    for (let from = 0; from < tokens.length; from++)
      for (const [length, runs] of this.#names)
        if (from + length <= tokens.length) this.#note(found, tokens, from, from + length, (run) => runs.has(run))
    return found
  }

  /** Whether the fingerprint of a part of a text (UTF-16 offsets) is stored. */
  #isStored(text: string, start: number, end: number, runs: Float64Array, short: ShortRuns): boolean {
    const tokens = tokenize(text.slice(start, end))
    const run = this.#hash(tokens, 0, tokens.length)
    return has(runs, run) || short.get(tokens.length)?.has(run) === true
  }

  /** The key and the fingerprints. They can confirm a guessed text, but no text can be recovered from them. */
  toBytes(): Buffer {
    this.#settle()
    const short = (of: ReadonlyMap<number, ReadonlySet<number>>) =>
      [...of].flatMap(([length, runs]) => [...runs].flatMap((run) => [length, run]))
    const [texts, names] = [short(this.#short), short(this.#names)]
    const numbers = Float64Array.of(texts.length, names.length, ...texts, ...names)
    return Buffer.concat([
      this.#key,
      Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength),
      Buffer.from(this.#sorted.buffer, this.#sorted.byteOffset, this.#sorted.byteLength),
    ])
  }

  static fromBytes(bytes: Buffer): Fingerprints {
    const found = new Fingerprints(Buffer.from(bytes.subarray(0, keyBytes)))
    const numbers = new Float64Array(new Uint8Array(bytes.subarray(keyBytes)).buffer)
    const [texts = 0, names = 0] = numbers
    for (let at = 2; at < 2 + texts + names; at += 2)
      addTo(at < 2 + texts ? found.#short : found.#names, numbers[at] ?? 0, numbers[at + 1] ?? 0)
    found.#sorted = numbers.slice(2 + texts + names)
    return found
  }

  #note(
    found: FingerprintMatch[],
    tokens: readonly WordToken[],
    from: number,
    end: number,
    isKnown: (run: number) => boolean,
  ) {
    const run = this.#hash(tokens, from, end)
    if (isKnown(run)) found.push({ run, start: tokens[from]?.start ?? 0, end: tokens[end - 1]?.end ?? 0 })
  }

  #settle(): void {
    if (this.#added.length === 0) return
    const all = new Float64Array(this.#sorted.length + this.#added.length)
    all.set(this.#sorted)
    all.set(this.#added, this.#sorted.length)
    all.sort()
    this.#sorted = all.filter((run, at) => at === 0 || run !== all[at - 1])
    this.#added = []
    this.#textFilter = undefined
  }

  #hash(tokens: readonly WordToken[], from: number, end: number): number {
    if (this.#hashed !== tokens) {
      this.#hashed = tokens
      this.#hashes = tokens.map(({ word }) => hashOfWord(word, this.#seeds))
    }
    let high = this.#seeds[0]
    let low = this.#seeds[1]
    for (let at = from; at < end; at++) {
      const word = this.#hashes[at] ?? this.#seeds
      high = mixed(high ^ word[0])
      low = mixed(low ^ word[1])
    }
    return fingerprintOf(high, low)
  }
}

const fingerprintOf = (high: number, low: number): number => (high >>> 11) * 2 ** 32 + (low >>> 0)

function addTo(sets: Map<number, Set<number>>, length: number, run: number): void {
  const set = sets.get(length) ?? new Set()
  sets.set(length, set.add(run))
}

function has(sorted: Float64Array, run: number): boolean {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((sorted[middle] ?? 0) < run) from = middle + 1
    else to = middle
  }
  return sorted[from] === run
}

/** Merges overlapping and adjacent spans and sorts them. */
export function mergeSpans(spans: readonly TextSpan[]): TextSpan[] {
  const found: TextSpan[] = []
  for (const { start, end } of [...spans].sort((one, other) => one.start - other.start)) {
    const last = found.at(-1)
    if (last && start <= last.end) last.end = Math.max(last.end, end)
    else found.push({ start, end })
  }
  return found
}

/** Positions at which a text contains another text completely, word by word. */
export function occurrences(text: string, sought: string): TextSpan[] {
  const [tokens, words] = [tokenize(text), tokenize(sought).map(({ word }) => word)]
  if (words.length === 0) return []
  const found: TextSpan[] = []
  for (let from = 0; from + words.length <= tokens.length; from++)
    if (words.every((word, at) => tokens[from + at]?.word === word))
      found.push({ start: tokens[from]?.start ?? 0, end: tokens[from + words.length - 1]?.end ?? 0 })
  return found
}
