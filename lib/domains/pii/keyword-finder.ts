/** Finds many words in one pass over a text (Aho–Corasick). Words must be in lower case and match in any case. */
export class KeywordFinder {
  /** Class of each UTF-16 unit; 0 for units that occur in no word. */
  readonly #classes = new Uint16Array(0x10000)
  readonly #width: number
  readonly #next: Int16Array
  /** Words that end at a state. */
  readonly #ends: number[][]
  readonly #hasEnd: Uint8Array

  constructor(words: readonly string[]) {
    const units = [...new Set(words.join(''))]
    this.#width = units.length + 1
    // Excludes capitals of another letter: the capital of a Turkish ı is I.
    for (const [at, unit] of units.entries())
      for (const written of new Set([unit, unit.toUpperCase()]))
        if (written.length === 1 && written.toLowerCase() === unit) this.#classes[written.charCodeAt(0)] = at + 1
    const states = 1 + words.reduce((sum, { length }) => sum + length, 0)
    this.#next = new Int16Array(states * this.#width)
    this.#ends = Array.from({ length: states }, () => [])
    let made = 1
    for (const [index, word] of words.entries()) {
      let state = 0
      for (let at = 0; at < word.length; at++) {
        const slot = state * this.#width + (this.#classes[word.charCodeAt(at)] ?? 0)
        if ((this.#next[slot] ?? 0) === 0) this.#next[slot] = made++
        state = this.#next[slot] ?? 0
      }
      this.#ends[state]?.push(index)
    }
    this.#link(made)
    this.#hasEnd = Uint8Array.from(this.#ends, ({ length }) => (length > 0 ? 1 : 0))
  }

  /** Calls `found` with each word's index and its end offset, in text order. */
  find(text: string, found: (word: number, end: number) => void): void {
    const [classes, next, hasEnd, width] = [this.#classes, this.#next, this.#hasEnd, this.#width]
    let state = 0
    for (let at = 0; at < text.length; at++) {
      state = next[state * width + (classes[text.charCodeAt(at)] ?? 0)] ?? 0
      if (hasEnd[state] === 1) for (const word of this.#ends[state] ?? []) found(word, at + 1)
    }
  }

  /** Breadth first: a state without a transition uses that of its longest suffix. */
  #link(states: number): void {
    const suffix = new Int16Array(states)
    const queue = [0]
    for (const state of queue)
      for (let unit = 1; unit < this.#width; unit++) {
        const slot = state * this.#width + unit
        const target = this.#next[slot] ?? 0
        const other = state === 0 ? 0 : (this.#next[(suffix[state] ?? 0) * this.#width + unit] ?? 0)
        if (target === 0) this.#next[slot] = other
        else {
          suffix[target] = other
          this.#ends[target]?.push(...(this.#ends[other] ?? []))
          queue.push(target)
        }
      }
  }
}
