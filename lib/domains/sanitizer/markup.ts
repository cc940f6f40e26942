import { Fills, type Gap, gapOf, type Removal, wider } from './gaps.ts'
import type { Range } from './markdown-lines.ts'
import { sweepText } from './sweep.ts'
import {
  type Cut,
  closedNames,
  isEscaped,
  isNamePart,
  isNegation,
  isProse,
  isSystemMark,
  isTagName,
  opening,
  opensMarkup,
  QUOTED_VALUE,
  RISKY,
  RISKY_ANYWHERE,
  type TextKind,
} from './tags.ts'

/** The remaining text; `rounds` contains the cuts of each round, as offsets into the text at its beginning. */
export type StrippedMarkup = {
  text: string
  rounds: (Removal & { what?: Cut['what'] })[][]
  comments: number
  tags: number
  kind: TextKind
}

const ROUNDS = 4
const LESS = 60

const NAME_LIMIT = 64

const EXCLAMATION = 33
const DASH = 45
const SLASH = 47
const GREATER = 62

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
