import { Fills, type Gap, gapOf, type Removal, wider } from './gaps.ts'
import { MarkdownCode, NextMatch, NextSign } from './markdown-code.ts'
import type { Range } from './markdown-lines.ts'
import {
  type Cut,
  closedNames,
  ELEMENTS,
  isEscaped,
  isNamePart,
  isNegation,
  isProse,
  isSystemMark,
  isTagName,
  type Name,
  nameAt,
  opening,
  opensMarkup,
  QUOTED_VALUE,
  RISKY,
  RISKY_ANYWHERE,
  type TextKind,
} from './tags.ts'

type Swept = { cuts: Cut[]; code: Range[] }

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
const sweepText = (text: string, kind: TextKind, isStrict = false): Swept => new Sweep(text, kind).run(isStrict)

/** The remaining text; `rounds` contains the cuts of each round, as offsets into the text at its beginning. */
export type StrippedMarkup = {
  text: string
  rounds: (Removal & { what?: Cut['what'] })[][]
  comments: number
  tags: number
  kind: TextKind
}

const ROUNDS = 4

const NAME_LIMIT = 64

const EXCLAMATION = 33
const DASH = 45
const SLASH = 47

/**
 * Removes nested markup (`<<b>script>`, `<!-<!-- -->- -->`) of any depth in one pass from right to left: the text to the right of the
 * position is already free of markup and never changes again. The kept positions form a stack, the leftmost on top; a cut only pops it.
 * Quotes are not parsed here: the next sweep does that.
 */
class Stack {
  readonly #text: string
  readonly #kind: TextKind
  readonly #closed: ReadonlySet<string>
  /** Kept positions; `level` below means an index into them. */
  readonly #kept: Int32Array
  #height = 0
  /** Levels of the kept `>`, and -1 where code ends every tag before it; `#greaterSince` has the level of each entry. */
  readonly #greater: number[] = []
  readonly #greaterSince: number[] = []
  /** Levels of the last characters of the kept comment ends, and of their first dashes. */
  readonly #commentEnd: number[] = []
  readonly #commentSince: number[] = []
  /** Gaps that removed elements leave, from right to left. */
  readonly #gaps: { at: number; gap: Gap }[] = []
  comments = 0
  tags = 0

  constructor(text: string, kind: TextKind) {
    this.#text = text
    this.#kind = kind
    this.#closed = closedNames(text)
    this.#kept = new Int32Array(text.length)
  }

  /** Keeps the character at `at`, which must be to the left of all others, and cuts the markup that it begins. */
  push(at: number, isCode: boolean): void {
    const level = this.#height
    const code = this.#text.charCodeAt(at)
    this.#kept[level] = at
    this.#height = level + 1
    if (isCode) {
      // Code ends every tag before it, but no comment.
      if (this.#greater.length > 0 && this.#greater[this.#greater.length - 1] !== -1) this.#markGreater(-1, level)
    } else if (code === GREATER) this.#markGreater(level, level)
    if (code === DASH) this.#findCommentEnd(level)
    else if (code === LESS && !isCode) this.#fold(level)
  }

  cuts(): Removal[] {
    const cuts: Removal[] = []
    const cut = (start: number, end: number) => {
      let gap: Gap | undefined
      for (let next = this.#gaps.at(-1); next && next.at < end; next = this.#gaps.at(-1)) {
        gap = wider(gap, next.gap)
        this.#gaps.pop()
      }
      cuts.push({ start, end, gap })
    }
    let expected = 0
    for (let level = this.#height - 1; level >= 0; level -= 1) {
      const at = this.#kept[level] ?? 0
      if (at > expected) cut(expected, at)
      expected = at + 1
    }
    if (this.#text.length > expected) cut(expected, this.#text.length)
    return cuts
  }

  #markGreater(greater: number, since: number): void {
    this.#greater.push(greater)
    this.#greaterSince.push(since)
  }

  /** Notes a `-->` or `--!>` whose first dash is at `level`. */
  #findCommentEnd(level: number): void {
    if (this.#code(level - 1) !== DASH) return
    const last = this.#code(level - 2) === EXCLAMATION ? level - 3 : level - 2
    if (this.#code(last) !== GREATER) return
    this.#commentEnd.push(last)
    this.#commentSince.push(level)
  }

  #fold(level: number): void {
    const text = this.#text
    const what = opening(this.#code(level - 1), this.#code(level - 2), this.#kind)
    if (what === undefined || (what === 'declaration' && isNegation(text, this.#kept[level] ?? 0))) return
    if (this.#code(level - 1) === EXCLAMATION && this.#code(level - 2) === DASH && this.#code(level - 3) === DASH) {
      this.#cut(this.#commentEnd.at(-1) ?? level - 3)
      this.comments += 1
      return
    }
    const end = this.#greater.at(-1) ?? -1
    if (end < 0 || what === 'instruction') return
    if (what === 'declaration') {
      this.#cut(end)
      this.comments += 1
    } else if (this.#isTag(level, end)) {
      this.#cut(end)
      this.tags += 1
    }
  }

  #isTag(level: number, end: number): boolean {
    const text = this.#text
    const at = this.#kept[level] ?? 0
    let position = level - 1
    const isClosing = this.#code(position) === SLASH
    if (isClosing) position -= 1
    let name = ''
    for (; name.length <= NAME_LIMIT && isNamePart(this.#code(position)); position -= 1) name += this.#at(position)
    if (!/^[\s/>]$/.test(this.#at(position)) || !isTagName(name)) return false
    const after = this.#at(end - 1)
    if (isSystemMark(name, text.charAt(at - 1), after)) return false
    const portion = this.#portion(position, end)
    const tag = {
      name,
      isClosing,
      isClosed: this.#closed.has(name.toLowerCase()),
      before: text.slice(Math.max(0, at - 4), at),
      after,
      portion,
      isBare: portion.trim() === '' && this.#code(position - portion.length) !== LESS,
      isRisky: RISKY.test(portion),
      isRiskyAnywhere: RISKY_ANYWHERE.test(portion),
      isQuoted: QUOTED_VALUE.test(portion),
    }
    if (isProse(tag, isEscaped(text, at))) return false
    const gap = gapOf(name)
    if (gap) this.#gaps.push({ at, gap })
    return true
  }

  /** The text of a tag up to its end or the next `<`. Only cuts read a position twice, and they remove it. */
  #portion(from: number, end: number): string {
    let portion = ''
    for (let level = from; level > end && this.#code(level) !== LESS; level -= 1) portion += this.#at(level)
    return portion
  }

  /** Removes everything on the stack down to the character at `last`. */
  #cut(last: number): void {
    this.#height = last
    while ((this.#greaterSince.at(-1) ?? -1) >= last) {
      this.#greaterSince.pop()
      this.#greater.pop()
    }
    while ((this.#commentSince.at(-1) ?? -1) >= last) {
      this.#commentSince.pop()
      this.#commentEnd.pop()
    }
  }

  #code(level: number): number {
    return level < 0 ? Number.NaN : this.#text.charCodeAt(this.#kept[level] ?? 0)
  }

  #at(level: number): string {
    return level < 0 ? '' : this.#text.charAt(this.#kept[level] ?? 0)
  }
}

/** Finds nested comments and tags of a text outside of `code`, and their numbers. */
function collapse(
  text: string,
  code: readonly Range[],
  kind: TextKind,
): { cuts: Removal[]; comments: number; tags: number } {
  if (!text.includes('<')) return { cuts: [], comments: 0, tags: 0 }
  const stack = new Stack(text, kind)
  let end = text.length
  for (const range of code.toReversed()) {
    for (let at = end - 1; at >= range.end; at -= 1) stack.push(at, false)
    for (let at = Math.min(range.end, end) - 1; at >= range.start; at -= 1) stack.push(at, true)
    end = range.start
  }
  for (let at = end - 1; at >= 0; at -= 1) stack.push(at, false)
  return { cuts: stack.cuts(), comments: stack.comments, tags: stack.tags }
}

/**
 * Stages 1 and 2: removes comments and tags until none remains. A round parses like a browser, then removes markup that the cuts created.
 * Text that still changes after four rounds was crafted to; it loses every `<` that could begin markup, so the process always ends. Linear
 * in the length of the text.
 */
export function stripMarkup(text: string, kind: TextKind, isStrict = false): StrippedMarkup {
  const done: StrippedMarkup = { text, rounds: [], comments: 0, tags: 0, kind }
  for (let round = 0; round < ROUNDS; round += 1) {
    const { cuts, code } = sweepText(done.text, kind, isStrict)
    if (cuts.length === 0) return done
    let comments = 0
    for (const { what } of cuts) if (what === 'comment') comments += 1
    apply(done, cuts, comments, cuts.length - comments)
    const nested = collapse(done.text, shift(code, cuts), kind)
    apply(done, nested.cuts, nested.comments, nested.tags)
  }
  return disarm(done)
}

/** Removes every `<` that could begin markup, and thereby all markup. */
export function disarm(done: StrippedMarkup): StrippedMarkup {
  const { text } = done
  const cuts: Range[] = []
  let next = Number.NaN
  for (let at = text.length - 1; at >= 0; at -= 1) {
    const code = text.charCodeAt(at)
    if (code === LESS && opensMarkup(next)) cuts.push({ start: at, end: at + 1 })
    else next = code
  }
  return apply(done, cuts.reverse(), 0, cuts.length)
}

function apply(
  done: StrippedMarkup,
  cuts: StrippedMarkup['rounds'][number],
  comments: number,
  tags: number,
): StrippedMarkup {
  if (cuts.length === 0) return done
  const { text } = done
  const fills = new Fills(text, done.kind === 'markdown')
  const retained: string[] = []
  let position = 0
  let begin = 0
  let gap: Removal['gap']
  for (const [index, cut] of cuts.entries()) {
    if (cut.start > position) {
      retained.push(text.slice(position, cut.start))
      begin = cut.start
      gap = undefined
    }
    gap = wider(gap, cut.gap)
    position = cut.end
    // Adjacent cuts are one gap.
    if (cuts[index + 1]?.start === position) continue
    const fill = fills.of({ start: begin, end: position }, gap)
    if (fill === '') continue
    cut.fill = fill
    retained.push(fill)
  }
  retained.push(text.slice(position))
  done.text = retained.join('')
  done.rounds.push(cuts)
  done.comments += comments
  done.tags += tags
  return done
}

/** Offsets of code ranges after the cuts. */
function shift(code: readonly Range[], cuts: readonly Cut[]): Range[] {
  let index = 0
  let removed = 0
  return code.map(({ start, end }) => {
    for (let cut = cuts[index]; cut && cut.end <= start; cut = cuts[index]) {
      removed += cut.end - cut.start - (cut.fill ?? '').length
      index += 1
    }
    return { start: start - removed, end: end - removed }
  })
}
