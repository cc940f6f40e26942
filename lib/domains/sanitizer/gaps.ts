import type { Range } from './markdown-lines.ts'

/**
 * The separation that a reader sees where an element begins or ends: a line break, a space, or none. `figures`: parts that a browser shows
 * apart from the text before them (`10<sup>6</sup>`) need a space only between digits.
 */
export type Gap = 'line' | 'space' | 'figures'
/** A removed range; `fill` replaces it, so that text on both sides does not join. */
export type Removal = Range & { gap?: Gap | undefined; fill?: string }

const LINES = `address article aside blockquote body br caption center col colgroup dd details dialog dir div dl dt fieldset figcaption
figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main menu nav ol optgroup option p
plaintext pre search section summary table tbody tfoot thead title tr ul xmp`
/** Cells, elements that a browser draws as a box or picture, annotations of ruby, and tokens of MathML. */
const SPACES = `applet audio button canvas datalist embed iframe image img input keygen marquee meter mi mn mo ms mtd mtext mtr object
output picture progress rp rt rtc select svg td text textarea th video foreignobject desc`
const FIGURES = 'noembed noframes noscript script style sub sup template'

const GAPS = new Map<string, Gap>([
  ...LINES.split(/\s+/).map((name): [string, Gap] => [name, 'line']),
  ...SPACES.split(/\s+/).map((name): [string, Gap] => [name, 'space']),
  ...FIGURES.split(/\s+/).map((name): [string, Gap] => [name, 'figures']),
])

export const gapOf = (name: string): Gap | undefined => GAPS.get(name.toLowerCase())

const RANK = { line: 3, space: 2, figures: 1 }
export const wider = (one: Gap | undefined, other: Gap | undefined): Gap | undefined =>
  (other ? RANK[other] : 0) > (one ? RANK[one] : 0) ? other : one

const DIGIT = /^\p{N}$/u
const BLANK = /^\s?$/u
/** A line break before anything else could begin a block of Markdown. */
const WORD = /^[\p{L}\p{N}]$/u
/** Signs that begin a heading or a list, also within a tag that follows them. */
const BLOCK_SIGN = /^(?:#{1,6}|[-+*])(?:<\/?[A-Za-z][^<>\n]{0,200}>){0,4}[ \t]/
const TAGS_BEFORE = /(?:^|\n)[ \t]*(?:<[^<>\n]{0,200}>[ \t]*){0,8}$/
const FRONT_MATTER = /^---[ \t]*\r?\n[\s\S]*?\n(?:---|\.\.\.)[ \t]*(?=[\r\n]|$)/

/** Decides what replaces removed markup in one text. Positions must not decrease. Linear in the length of the text. */
export class Fills {
  readonly #text: string
  /** A text of one line, such as a name or a title, stays one line. */
  readonly #hasLines: boolean
  readonly #bodyStart: number
  #lineEnd = -1
  #isOneLine = true

  /** Whether the text is Markdown. */
  readonly #isMarkdown: boolean

  constructor(text: string, isMarkdown: boolean) {
    this.#text = text
    this.#isMarkdown = isMarkdown
    this.#hasLines = text.includes('\n')
    this.#bodyStart = text.startsWith('---') ? (FRONT_MATTER.exec(text)?.[0].length ?? 0) : 0
  }

  /** The replacement of a removed range. */
  of({ start, end }: Range, gap: Gap | undefined): string {
    if (this.#beginsBlock({ start, end })) return '\\'
    if (gap === undefined || start === 0) return ''
    const [before, after] = [this.#text.charAt(start - 1), this.#text.charAt(end)]
    if (BLANK.test(before) || BLANK.test(after)) return ''
    if (gap === 'figures') return DIGIT.test(before) && DIGIT.test(after) ? ' ' : ''
    return gap === 'line' && WORD.test(after) && this.#mayBreak(start) ? '\n' : ' '
  }

  /** Whether a sign that a reader saw as text would begin a heading or a list without the tag before it: `<a href="#x">#</a> name`. */
  #beginsBlock({ start, end }: Range): boolean {
    return (
      this.#isMarkdown &&
      '#-+*'.includes(this.#text.charAt(end) || ' ') &&
      BLOCK_SIGN.test(this.#text.slice(end, end + 900)) &&
      TAGS_BEFORE.test(this.#text.slice(Math.max(0, start - 600), start))
    )
  }

  /** Front matter, headings and rows of tables end with their line. */
  #mayBreak(position: number): boolean {
    if (!this.#hasLines || position < this.#bodyStart) return false
    if (position > this.#lineEnd) {
      const start = this.#text.lastIndexOf('\n', position - 1) + 1
      const end = this.#text.indexOf('\n', position)
      this.#lineEnd = end < 0 ? this.#text.length : end
      this.#isOneLine = /^[ \t>]*#|\|/.test(this.#text.slice(start, this.#lineEnd))
    }
    return !this.#isOneLine
  }
}
