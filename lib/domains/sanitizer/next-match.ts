/** The next match of a pattern, or the next occurrence of a character, at or after a position. */
interface Next {
  /** Start of the next match; the text's length plus one if there is none. */
  at(from: number): number
  /** End of the match that `at(from)` finds. */
  endAt(from: number): number
  /** Whether a match starts before `limit`. */
  before(from: number, limit: number): boolean
}

/**
 * Finds the next match of a pattern at or after a position; positions must not decrease. Results are cached until the position passes them,
 * so all calls together cost one pass over the text. Use one instance per text.
 */
export class NextMatch implements Next {
  readonly #text: string
  readonly #pattern: RegExp
  #start = -1
  #end = -1

  constructor(text: string, pattern: RegExp) {
    this.#text = text
    this.#pattern = new RegExp(pattern.source, `${pattern.flags.replace('g', '')}g`)
  }

  at(from: number): number {
    if (this.#start < from) {
      this.#pattern.lastIndex = from
      const match = from > this.#text.length ? null : this.#pattern.exec(this.#text)
      this.#start = match ? match.index : this.#text.length + 1
      this.#end = match ? match.index + match[0].length : this.#start
    }
    return this.#start
  }

  endAt(from: number): number {
    this.at(from)
    return this.#end
  }

  before(from: number, limit: number): boolean {
    return this.at(from) < limit && this.#start <= this.#text.length
  }
}

/** Like {@link NextMatch} for one character, and several times as fast. */
export class NextSign implements Next {
  readonly #text: string
  readonly #sign: string
  #start = -1

  constructor(text: string, sign: string) {
    this.#text = text
    this.#sign = sign
  }

  at(from: number): number {
    if (this.#start < from) {
      const found = this.#text.indexOf(this.#sign, from)
      this.#start = found < 0 ? this.#text.length + 1 : found
    }
    return this.#start
  }

  endAt(from: number): number {
    return Math.min(this.at(from) + 1, this.#text.length + 1)
  }

  before(from: number, limit: number): boolean {
    return this.at(from) < limit && this.#start <= this.#text.length
  }
}
