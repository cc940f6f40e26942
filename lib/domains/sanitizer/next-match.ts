/**
 * Finds the next match of a pattern at or after a position, for positions that never fall. Each answer is kept until
 * the position passes it, so any number of questions costs one pass over the text. Belongs to one text in one call.
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

  /** Where the next match starts; the length of the text plus one when there is none. */
  at(from: number): number {
    if (this.#start < from) {
      this.#pattern.lastIndex = from
      const match = from > this.#text.length ? null : this.#pattern.exec(this.#text)
      this.#start = match ? match.index : this.#text.length + 1
      this.#end = match ? match.index + match[0].length : this.#start
    }
    return this.#start
  }

  /** Where the match ends that `at(from)` found. */
  endAt(from: number): number {
    this.at(from)
    return this.#end
  }

  /** Whether there is a match that starts before `limit`. */
  before(from: number, limit: number): boolean {
    return this.at(from) < limit && this.#start <= this.#text.length
  }
}
