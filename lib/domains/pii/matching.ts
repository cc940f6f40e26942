/** Character classes of the scanner. Words are runs of `digit`, `letterSign` and `latin`; runs of `wide` are separate words. */
const other = 0
export const digit = 1
export const letterSign = 2
/** A Latin letter beyond ASCII, or a combining accent. */
const latin = 3
/** Han, kana, hangul: scripts whose words are not separated by other characters. */
export const wide = 4
/** A letter of any other script. */
const foreign = 5
/** A character at which a recognizer checks further. */
export const anchor = 6

const ascii = new Uint8Array(128)
for (let code = 48; code < 58; code++) ascii[code] = digit
for (let code = 65; code < 91; code++) ascii[code] = ascii[code + 32] = letterSign
for (const sign of '-_.:@+<&\\%') ascii[sign.charCodeAt(0)] = anchor

function classify(code: number): number {
  if (code < 128) return ascii[code] ?? other
  if (code < 0xc0) return other
  if (code < 0x250 || (code >= 0x300 && code < 0x370) || (code >= 0x1e00 && code < 0x1f00))
    return code === 0xd7 || code === 0xf7 ? other : latin
  if (code < 0x1100) return foreign
  if (code < 0x1200) return wide
  if (code < 0x2000) return foreign
  if (code < 0x3041) return code === 0x3005 ? wide : other
  if (code < 0xa000) return code === 0x30fb ? other : wide
  if (code < 0xac00) return foreign
  if (code < 0xd7b0) return wide
  if (code >= 0xf900 && code < 0xfb00) return wide
  return code >= 0xfb00 && code < 0xfe00 ? foreign : other
}
/** Class of each UTF-16 unit. Surrogates are `other`: no searched word contains any. */
export const classes: Uint8Array = Uint8Array.from({ length: 0x10000 }, (_, code) => classify(code))

/** Whether the unit is an ASCII letter or digit; false outside of the text. */
export function isAlphanumeric(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code < 128 && (ascii[code] === digit || ascii[code] === letterSign)
}
/** Whether the unit is a digit. */
export function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 48 && code <= 57
}

/** Whether a word may begin here: the previous unit does not belong to a word, except to an escape (` `, `%20`). */
export function beginsWord(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  if (before !== 95 && !isAlphanumeric(text, at - 1)) return true
  const isEscape = text.charCodeAt(at - 2) === 92 && (before === 110 || before === 114 || before === 116)
  return isEscape || (text.charCodeAt(at - 3) === 37 && isHex(text, at - 2) && isHex(text, at - 1))
}

/** Whether the unit is a hexadecimal digit. */
export function isHex(text: string, at: number): boolean {
  const code = text.charCodeAt(at) | 32
  return isDigit(text, at) || (code >= 97 && code <= 102)
}

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
