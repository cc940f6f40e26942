/**
 * Finds the next match of a pattern at or after a position; positions must not decrease. Results are cached until the position passes them,
 * so all calls together cost one pass over the text. Use one instance per text.
 */
export class NextMatch {
  readonly #text: string
  readonly #pattern: RegExp
  #start = -1
  #end = -1

  constructor(text: string, pattern: RegExp) {
    this.#text = text
    this.#pattern = new RegExp(pattern.source, `${pattern.flags.replace('g', '')}g`)
  }

  /** Start of the next match; the text's length plus one if there is none. */
  at(from: number): number {
    if (this.#start < from) {
      this.#pattern.lastIndex = from
      const match = from > this.#text.length ? null : this.#pattern.exec(this.#text)
      this.#start = match ? match.index : this.#text.length + 1
      this.#end = match ? match.index + match[0].length : this.#start
    }
    return this.#start
  }

  /** End of the match that `at(from)` finds. */
  endAt(from: number): number {
    this.at(from)
    return this.#end
  }

  /** Whether a match starts before `limit`. */
  before(from: number, limit: number): boolean {
    return this.at(from) < limit && this.#start <= this.#text.length
  }
}
