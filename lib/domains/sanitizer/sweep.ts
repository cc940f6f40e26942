import { gapOf } from './gaps.ts'
import { MarkdownCode, NextMatch, NextSign } from './markdown-code.ts'
import type { Range } from './markdown-lines.ts'
import {
  type Cut,
  closedNames,
  ELEMENTS,
  isEscaped,
  isNegation,
  isProse,
  isSystemMark,
  isTagName,
  type Name,
  nameAt,
  opening,
  QUOTED_VALUE,
  RISKY,
  RISKY_ANYWHERE,
  type TextKind,
} from './tags.ts'

export type Swept = { cuts: Cut[]; code: Range[] }

const COMMENT_END = /--!?>/
const HANDLER = /[\s/"']on[^\s"'>/=]+\s*=/i
const AUTOLINK = /<(?:(?:https?|ftp|mailto):[^\s<>]{0,2000}|[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[\w.-]{1,255})>/iy
/** Schemes in angle brackets that are dangerous when Markdown turns them into links. */
const OTHER_LINK = /<(?:javascript|vbscript|livescript|data|blob|view-source):[^\s<>]*>|<file:[\\/][^\s<>]*>/iy
/** Maximum length of a scheme or a local part in the two patterns before. */
const LINK_REACH = 66
/** An open tag (CommonMark 0.31, 6.6). */
const WHOLE_TAG = /^<[A-Za-z][A-Za-z0-9-]*(?:\s+[A-Za-z_:][\w.:-]*(?:=(?:[^\s"'=<>`{}]+|'[^']*'|"[^"]*"))?)*\s*\/?>$/
const MOST_TAG = 1_000
const PHP = /<\?(?:php\b|=)/iy
const WILDCARD = /^\w<\?(?:[>,]|\s+(?:extends|super)\s)/
const BLOCK_START = /(?:[ \t>]|[-+*][ \t]|\d{1,9}[.)][ \t])*/y

const SPACE = 32
const DOUBLE_QUOTE = 34
const SINGLE_QUOTE = 39
const LESS = 60
const EQUALS = 61
const GREATER = 62

/**
 * One pass from left to right, like a browser: whichever starts first, markup or code, wins. Finds comments and tags outside of code, and
 * the code. Linear: the ends of quoted tags are computed backwards for all starts at once.
 */
class Sweep {
  readonly #text: string
  readonly #kind: TextKind
  readonly #closed: ReadonlySet<string>
  readonly #greater: NextSign
  readonly #less: NextSign
  readonly #commentEnd: NextMatch
  readonly #instructionEnd: NextMatch
  readonly #handler: NextMatch
  readonly #risky: NextMatch
  readonly #riskyAnywhere: NextMatch
  readonly #quoted: NextMatch
  readonly #paragraphEnd: NextMatch
  readonly #newline: NextMatch
  readonly #linkSign: NextMatch
  #lineStart = 0
  /** Offset at which a block may start in the line at `#lineStart`; -1 if it is unknown. */
  #blockStart = -1
  #ends: Int32Array | undefined

  constructor(text: string, kind: TextKind) {
    this.#text = text
    this.#kind = kind
    this.#closed = closedNames(text)
    this.#greater = new NextSign(text, '>')
    this.#less = new NextSign(text, '<')
    this.#commentEnd = new NextMatch(text, COMMENT_END)
    this.#instructionEnd = new NextMatch(text, /\?>/)
    this.#handler = new NextMatch(text, HANDLER)
    this.#risky = new NextMatch(text, RISKY)
    this.#riskyAnywhere = new NextMatch(text, RISKY_ANYWHERE)
    this.#quoted = new NextMatch(text, QUOTED_VALUE)
    this.#paragraphEnd = new NextMatch(text, /\n[ \t]*\r?\n|\r[ \t]*\r/)
    this.#newline = new NextMatch(text, /[\r\n]/)
    this.#linkSign = new NextMatch(text, /[:@]/)
  }

  run(isStrict: boolean): Swept {
    const finder = isStrict || this.#kind === 'code' ? undefined : new MarkdownCode(this.#text, true)
    const cuts: Cut[] = []
    const code: Range[] = []
    let at = this.#text.indexOf('<')
    let position = 0
    while (at >= 0) {
      const next = finder?.after(position)
      if (next && next.start < at) {
        code.push(next)
        position = next.end
      } else {
        const cut = this.#at(at, finder?.markedAfter(position))
        if (cut) cuts.push(cut)
        position = cut?.end ?? at + 1
      }
      if (at < position) at = this.#text.indexOf('<', position)
    }
    return { cuts, code }
  }

  /** Returns what to cut at the `<` at `start`, before the next code. */
  #at(start: number, code: Range | undefined): Cut | undefined {
    const text = this.#text
    const limit = code?.start ?? text.length
    const what = opening(text.charCodeAt(start + 1), text.charCodeAt(start + 2), this.#kind)
    if (what === 'tag') return this.#tag(start, limit, code?.end ?? text.length)
    if (isNegation(text, start)) return undefined
    if (what === undefined) return undefined
    if (text.startsWith('<!--', start)) {
      // An unclosed comment only loses its opening, which makes the hidden text visible.
      const isClosed = this.#commentEnd.before(start + 2, text.length)
      return { start, end: isClosed ? this.#commentEnd.endAt(start + 2) : start + 4, what: 'comment' }
    }
    // `Comparator<? super A>`, `Class<?>`: a wildcard directly after a type name.
    if (what === 'instruction' && WILDCARD.test(text.slice(start - 1, start + 12))) return undefined
    if (what === 'instruction' && this.#instructionEnd.before(start + 2, limit)) {
      return { start, end: this.#instructionEnd.endAt(start + 2), what: 'comment' }
    }
    if (what === 'instruction' && this.#kind === 'plain' && this.#matches(PHP, start)) return undefined
    if (this.#greater.before(start + 2, limit)) return { start, end: this.#greater.endAt(start + 2), what: 'comment' }
    if (text.startsWith('</>', start)) return { start, end: start + 3, what: 'tag' }
    return this.#kind === 'markdown' && what !== undefined && text[start + 1] !== '/'
      ? { start, end: start + 2, what: 'comment' }
      : undefined
  }

  #tag(start: number, limit: number, codeEnd: number): Cut | undefined {
    const name = nameAt(this.#text, start)
    if (this.#kind === 'markdown' && this.#linkSign.before(start + 2, start + LINK_REACH)) {
      // The name of an element before a slash begins a tag for every browser, even if an address may begin alike.
      if (!(name && isTagName(name.word)) && this.#isAutolink(start)) return undefined
      if (this.#matches(OTHER_LINK, start)) return { start, end: OTHER_LINK.lastIndex, what: 'tag' }
    }
    const closing = this.#closing(start)
    // Whichever begins first wins (CommonMark 0.31, 6.1): a code span in a quoted value belongs to the tag.
    if (
      closing >= codeEnd &&
      codeEnd < start + MOST_TAG &&
      name &&
      isTagName(name.word) &&
      this.#isWholeTag(start, closing)
    )
      return { start, end: closing + 1, what: 'tag', gap: gapOf(name.word) }
    if (!this.#greater.before(start + 1, limit)) return this.#unfinished(start, name, limit)
    const end = closing >= 0 && closing < limit ? closing : this.#greater.at(start + 1)
    const cut: Cut = { start, end: end + 1, what: 'tag', gap: name && gapOf(name.word) }
    if (this.#handler.before(start + 1, end)) return cut
    if (!name || !isTagName(name.word)) return undefined
    if (isSystemMark(name.word, this.#text.charAt(start - 1), this.#text.charAt(end + 1))) return undefined
    return this.#isProse(start, name, end) ? undefined : cut
  }

  #isProse(start: number, name: Name, end: number): boolean {
    const text = this.#text
    const until = Math.min(end, this.#less.at(start + 1))
    const portion = text.slice(name.end, until)
    const tag = {
      name: name.word,
      isClosing: text[start + 1] === '/',
      isClosed: this.#closed.has(name.word.toLowerCase()),
      before: text.slice(Math.max(0, start - 4), start),
      after: text.charAt(end + 1),
      portion,
      isBare: until === end && portion.trim() === '',
      isRisky: this.#risky.before(start + 1, end),
      isRiskyAnywhere: this.#riskyAnywhere.before(start + 1, end),
      isQuoted: this.#quoted.before(start + 1, end),
    }
    return isProse(tag, isEscaped(text, start))
  }

  /**
   * A tag without its `>`, which a surrounding page or a following code span could complete. A dangerous one is cut to the end of its
   * paragraph; one that would open an HTML block of Markdown loses its name.
   */
  #unfinished(start: number, name: Name | undefined, limit: number): Cut | undefined {
    if (!name) return undefined
    const isElement = ELEMENTS.has(name.word.toLowerCase())
    const isQuoteOpen = limit < this.#text.length && this.#quoted.before(start, limit)
    if (this.#handler.before(start, limit) || (isElement && this.#risky.before(start, limit)) || isQuoteOpen) {
      return { start, end: Math.min(limit, this.#paragraphEnd.at(start), this.#text.length), what: 'tag' }
    }
    const opensBlock = this.#kind === 'markdown' && isElement && this.#isBlockStart(start)
    return opensBlock ? { start, end: name.end, what: 'tag' } : undefined
  }

  /** Whether a tag is one for every parser of Markdown, up to its `>`: in one paragraph, with ordinary names and values. */
  #isWholeTag(start: number, closing: number): boolean {
    const tag = this.#text.slice(start, closing + 1)
    return tag.length < MOST_TAG && !/\n[ \t>]*(?:\r?\n|`{3}|~{3}|[-+*#])/.test(tag) && WHOLE_TAG.test(tag)
  }

  #isAutolink(start: number): boolean {
    return this.#matches(AUTOLINK, start) && !this.#handler.before(start + 1, this.#greater.at(start + 1))
  }

  #matches(pattern: RegExp, at: number): boolean {
    pattern.lastIndex = at
    return pattern.test(this.#text)
  }

  #isBlockStart(position: number): boolean {
    while (this.#newline.before(this.#lineStart, position)) {
      this.#lineStart = this.#newline.endAt(this.#lineStart)
      this.#blockStart = -1
    }
    if (this.#blockStart < 0) {
      BLOCK_START.lastIndex = this.#lineStart
      BLOCK_START.test(this.#text)
      this.#blockStart = BLOCK_START.lastIndex
    }
    return this.#blockStart === position
  }

  /** End of the tag that starts at `start`, ignoring `>` in quoted values; -1 if it is never closed. */
  #closing(start: number): number {
    this.#ends ??= closings(this.#text)
    return this.#ends[start] ?? -1
  }
}

/**
 * Computes for each `<` the closing `>` of a tag that would start there, with the attribute states of the HTML standard (13.2.5.32 to
 * 13.2.5.39) run backwards: `tag`, `value`, … are the offsets at which a parser in that state at this position would leave the tag.
 */
function closings(text: string): Int32Array {
  const ends = new Int32Array(text.length)
  let tag = -1
  let value = -1
  let double = -1
  let single = -1
  let bare = -1
  for (let at = text.length - 1; at >= 0; at -= 1) {
    const code = text.charCodeAt(at)
    if (code === LESS) ends[at] = tag
    if (code === GREATER) {
      tag = at
      value = at
      bare = at
    } else if (code === DOUBLE_QUOTE) {
      value = double
      double = tag
    } else if (code === SINGLE_QUOTE) {
      value = single
      single = tag
    } else if (code === SPACE || (code >= 9 && code <= 13 && code !== 11)) {
      bare = tag
    } else if (code === EQUALS) {
      const after = value
      value = bare
      tag = after
    } else {
      value = bare
    }
  }
  return ends
}

/** Finds comments and tags outside of code, and the code, in order. */
export const sweepText = (text: string, kind: TextKind, isStrict = false): Swept => new Sweep(text, kind).run(isStrict)
