/** Lines of one container prefix, such as `> >`, that have fewer spaces after it than all earlier ones: the last is the first in the text. */
type Known = { from: number; lines: number[]; spaces: number[] }

const SPACE = 32
const BLANK_REST = /\s*/y

/**
 * Returns whether every line of a fenced block has the fence's margin. Call it for the last fence first. A line is compared once for
 * each container prefix that it has, and at most once more for each fence, so all calls together take linear time.
 */
export class Margins {
  readonly #text: string
  /** Start of each line, and end of each line without its line break. */
  readonly #starts: readonly number[]
  readonly #ends: readonly number[]
  /** Lines that no margin fits. */
  readonly #refused: ReadonlySet<number>
  readonly #known = new Map<string, Known>()

  constructor(text: string, starts: readonly number[], ends: readonly number[], refused: ReadonlySet<number>) {
    this.#text = text
    this.#starts = starts
    this.#ends = ends
    this.#refused = refused
  }

  /** Whether all lines between `opener` and `closer` begin with `margin` or are blank after its last `>`. */
  areWhole(opener: number, closer: number, margin: string): boolean {
    const prefix = margin.trimEnd()
    const known = this.#known.get(prefix) ?? { from: this.#starts.length, lines: [], spaces: [] }
    this.#known.set(prefix, known)
    this.#read(known, prefix, opener + 1)
    // The number of spaces increases along the array, so the last line with too few of them is the first in the text.
    const least = margin.length - prefix.length
    let low = 0
    let high = known.spaces.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((known.spaces[middle] ?? 0) < least) low = middle + 1
      else high = middle
    }
    const violation = low === 0 ? closer : (known.lines[low - 1] ?? closer)
    return violation >= closer
  }

  /** Reads the lines from `from` to the ones that are known, or to the first that does not have the prefix. */
  #read(known: Known, prefix: string, from: number): void {
    const spaces: number[] = []
    for (let line = from; line < known.from; line += 1) {
      const found = this.#spacesIn(line, prefix)
      spaces.push(found)
      if (found >= 0) continue
      known.lines.length = 0
      known.spaces.length = 0
      break
    }
    for (let line = from + spaces.length - 1; line >= from; line -= 1) {
      const found = spaces[line - from] ?? 0
      if (found === Number.POSITIVE_INFINITY) continue
      while ((known.spaces.at(-1) ?? -2) >= found) {
        known.spaces.pop()
        known.lines.pop()
      }
      known.spaces.push(found)
      known.lines.push(line)
    }
    known.from = from
  }

  /** Spaces after the prefix: infinite if the rest of the line is blank, -1 without the prefix. */
  #spacesIn(line: number, prefix: string): number {
    const end = this.#ends[line] ?? 0
    const start = (this.#starts[line] ?? 0) + prefix.length
    if (this.#refused.has(line) || start > end || !this.#text.startsWith(prefix, start - prefix.length)) return -1
    let at = start
    while (at < end && this.#text.charCodeAt(at) === SPACE) at += 1
    if (at === end) return Number.POSITIVE_INFINITY
    BLANK_REST.lastIndex = at
    BLANK_REST.test(this.#text)
    return BLANK_REST.lastIndex >= end ? Number.POSITIVE_INFINITY : at - start
  }
}
