import { searchViews } from '#lib/text/views.ts'
import { tokenize } from '#lib/text/words.ts'
import type { TextSpan } from './fingerprints.ts'

/** Finds texts that another text contains completely, word by word. */
export interface TextFinder {
  spansIn(text: string): TextSpan[]
}

const [first, second] = [0x01000193, 0x85ebca6b]
function wordHash(word: string, seed: number): number {
  let hash = seed
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x5bd1e995) ^ (hash >>> 13)
  return hash
}
const joined = (one: number, other: number): number => (one >>> 0) * 2 ** 21 + (other >>> 11)

/** Hashes of all prefixes of a text. The hash of any part can be computed from them. */
function prefixes(words: readonly string[]): [Int32Array, Int32Array] {
  const [ones, others] = [new Int32Array(words.length + 1), new Int32Array(words.length + 1)]
  words.forEach((word, at) => {
    ones[at + 1] = Math.imul(ones[at] ?? 0, first) + wordHash(word, 0x811c9dc5)
    others[at + 1] = Math.imul(others[at] ?? 0, second) + wordHash(word, 0x9747b28c)
  })
  return [ones, others]
}
function power(base: number, exponent: number): number {
  let result = 1
  for (let at = 0; at < exponent; at++) result = Math.imul(result, base)
  return result
}

/** Finds many texts in one search. The cost depends on the number of different lengths, not of texts. Stores only hashes. */
export class TextIndex implements TextFinder {
  readonly #byLength = new Map<number, { hashes: Set<number>; powers: readonly [number, number] }>()

  constructor(texts: Iterable<string> = []) {
    for (const text of texts) this.add(text)
  }

  get isEmpty(): boolean {
    return this.#byLength.size === 0
  }

  /** A text without words is never found. */
  add(text: string): void {
    const words = tokenize(text).map(({ word }) => word)
    const length = words.length
    if (length === 0) return
    const [ones, others] = prefixes(words)
    const of = this.#byLength.get(length) ?? {
      hashes: new Set<number>(),
      powers: [power(first, length), power(second, length)] as const,
    }
    of.hashes.add(joined(ones[length] ?? 0, others[length] ?? 0))
    this.#byLength.set(length, of)
  }

  spansIn(text: string): TextSpan[] {
    return this.isEmpty ? [] : searchViews(text, (view) => this.#spansIn(view))
  }
  #spansIn(text: string): TextSpan[] {
    const tokens = tokenize(text)
    const [ones, others] = prefixes(tokens.map(({ word }) => word))
    const found: TextSpan[] = []
    for (const [length, { hashes, powers }] of this.#byLength)
      for (let from = 0; from + length <= tokens.length; from++) {
        const one = (ones[from + length] ?? 0) - Math.imul(ones[from] ?? 0, powers[0])
        const other = (others[from + length] ?? 0) - Math.imul(others[from] ?? 0, powers[1])
        if (hashes.has(joined(one | 0, other | 0)))
          found.push({ start: tokens[from]?.start ?? 0, end: tokens[from + length - 1]?.end ?? 0 })
      }
    return found
  }
}

export const finderOf = (texts: readonly string[] | TextFinder): TextFinder =>
  'spansIn' in texts ? texts : new TextIndex(texts)
/** Combines several finders. */
export const allOf = (...finders: readonly TextFinder[]): TextFinder => ({
  spansIn: (text) => finders.flatMap((finder) => finder.spansIn(text)),
})
