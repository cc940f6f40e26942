import { type Lines, type Range, readLines } from './markdown-lines.ts'

/** Line starts at which a paragraph may end, so that no code span crosses them: a superset of CommonMark's. */
const BOUNDARY =
  /\r(?!\n)|\n(?=[ \t]*(?:\r|\n|$|#{1,6}(?:\s|$)|[-+*](?:\s|$)|\d{1,9}[.)](?:\s|$)|[>|<]|`{3}|~{3}|=+[ \t]*(?:[\r\n]|$)|-+[ \t]*(?:[\r\n]|$)|(?:[*_-][ \t]*){3,}(?:[\r\n]|$)))/

const BACKSLASH = 92
const BACKTICK = 96
const TILDE = 126

/** Start of the next backticks or tildes; the text's length if there are none. */
function runFrom(text: string, from: number): number {
  let at = from
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === BACKTICK || code === TILDE) break
  }
  return at
}

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

/**
 * Finds the code of a Markdown text: closed fences (CommonMark 0.31, 4.5), indented blocks (4.4) and inline code spans (6.1). Where Markdown parsers may disagree
 * it finds less: its results must be code for every parser. Positions passed in must not decrease; all calls together cost one pass.
 */
export class MarkdownCode {
  readonly #text: string
  readonly #starts: number[] = []
  readonly #lengths: number[] = []
  /** Index of the next run of the same length, or -1. */
  readonly #twins: Int32Array
  readonly #lines: Lines
  readonly #boundary: NextMatch
  readonly #lineEnd: NextMatch
  readonly #blank: NextMatch
  readonly #pipe: NextMatch
  #index = 0
  #block = 0
  #table = 0
  #alone = 0
  #section = 0
  #break = 0
  /** Before this offset, parsers may pair backticks differently. */
  #doubtedTo = 0
  /** Before this offset, parsers may disagree about the end of a fence. */
  #unsureTo = 0
  #found: Range | undefined

  constructor(text: string, isLeadCode: boolean) {
    this.#text = text
    this.#lines = readLines(text, isLeadCode)
    this.#boundary = new NextMatch(text, BOUNDARY)
    this.#lineEnd = new NextMatch(text, /[\r\n]/)
    this.#blank = new NextMatch(text, /(?:\r\n|\n|\r(?!\n))[ \t]*(?=[\r\n]|$)/)
    this.#pipe = new NextMatch(text, /(?<!\\)\|/)
    for (let start = runFrom(text, 0); start < text.length; ) {
      const mark = text.charCodeAt(start)
      let end = start + 1
      while (text.charCodeAt(end) === mark) end += 1
      if (mark === BACKTICK || end - start >= 3) {
        this.#starts.push(start)
        this.#lengths.push(end - start)
      }
      start = runFrom(text, end)
    }
    this.#twins = new Int32Array(this.#starts.length).fill(-1)
    const seen = new Map<number, number>()
    for (let index = this.#starts.length - 1; index >= 0; index -= 1) {
      const start = this.#starts[index] ?? 0
      const length = this.#lengths[index] ?? 0
      if (text.charCodeAt(start) !== BACKTICK) continue
      // A backslash escapes the first backtick of an opening run, but has no meaning inside the span.
      this.#twins[index] = seen.get(this.#isEscaped(start) ? length - 1 : length) ?? -1
      seen.set(length, index)
    }
  }

  /** The first closed code range that starts at `from` or later. */
  after(from: number): Range | undefined {
    const marked = this.markedAfter(from)
    const { indented } = this.#lines
    while ((indented[this.#block]?.start ?? Number.POSITIVE_INFINITY) < Math.max(from, this.#unsureTo)) this.#block += 1
    const block = indented[this.#block]
    return block && block.start <= (marked?.start ?? Number.POSITIVE_INFINITY) ? block : marked
  }

  /** The first closed fence or code span that starts at `from` or later. It ends a tag before it; an indented block does not. */
  markedAfter(from: number): Range | undefined {
    if (this.#found && this.#found.start >= from) return this.#found
    this.#found = undefined
    for (; this.#index < this.#starts.length && !this.#found; this.#index += 1) {
      const start = this.#starts[this.#index] ?? 0
      if (start < from || start < this.#unsureTo) continue
      const fence = this.#lines.fences.get(start)
      if (fence === undefined && start >= this.#doubtedTo) this.#found = this.#span(this.#index, start)
      else if (typeof fence === 'object' && 'doubtedTo' in fence) this.#unsureTo = this.#sectionAfter(fence.doubtedTo)
      else if (typeof fence === 'object') this.#found = fence
    }
    return this.#found
  }

  #sectionAfter(position: number): number {
    const { sections } = this.#lines
    while ((sections[this.#section] ?? Number.POSITIVE_INFINITY) < position) this.#section += 1
    return sections[this.#section] ?? this.#text.length
  }

  #span(index: number, start: number): Range | undefined {
    const twin = this.#twins[index] ?? -1
    if (twin < 0) return undefined
    const closing = this.#starts[twin] ?? 0
    const limit = this.#standsAlone(start) ? this.#lineEnd.at(start) : this.#boundary.at(start)
    if (closing >= limit || this.#isSplitByTable(start, closing)) {
      // Before the certain end of the paragraph a parser may see a span here and then different ones later.
      const end = Math.min(this.#blank.at(start), this.#breakAfter(start))
      if (closing < end) this.#doubtedTo = end
      return undefined
    }
    return { start, end: closing + (this.#lengths[twin] ?? 0) }
  }

  #breakAfter(position: number): number {
    const { breaks } = this.#lines
    while ((breaks[this.#break] ?? Number.POSITIVE_INFINITY) <= position) this.#break += 1
    return breaks[this.#break] ?? Number.POSITIVE_INFINITY
  }

  #standsAlone(position: number): boolean {
    const { alone } = this.#lines
    while ((alone[this.#alone]?.end ?? Number.POSITIVE_INFINITY) <= position) this.#alone += 1
    return (alone[this.#alone]?.start ?? Number.POSITIVE_INFINITY) <= position
  }

  /** In a table, an unescaped `|` ends the cell and any code span in it (GFM 4.10). */
  #isSplitByTable(start: number, end: number): boolean {
    const { tables } = this.#lines
    while ((tables[this.#table]?.end ?? Number.POSITIVE_INFINITY) <= start) this.#table += 1
    return (tables[this.#table]?.start ?? Number.POSITIVE_INFINITY) <= start && this.#pipe.before(start, end)
  }

  #isEscaped(start: number): boolean {
    let slashes = 0
    while (this.#text.charCodeAt(start - 1 - slashes) === BACKSLASH) slashes += 1
    return slashes % 2 === 1
  }
}
