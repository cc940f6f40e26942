import type { Range } from './markdown-lines.ts'
import {
  closedNames,
  isNegation,
  isPlaceholderWith,
  isSystemMark,
  isTagName,
  isTypeOrPlaceholder,
  mayCompare,
  OPERATOR,
  opening,
  type TextKind,
} from './tags.ts'

const NAME_LIMIT = 64

/**
 * Removes nested markup (`<<b>script>`, `<!-<!-- -->- -->`) of any depth in one pass from right to left: the text to the right of the
 * position is already free of markup and never changes again. Kept positions form a linked list; a cut only moves its head. Quotes are not
 * parsed here: the next sweep does that.
 */
class Chain {
  readonly #text: string
  readonly #kind: TextKind
  readonly #closed: ReadonlySet<string>
  readonly #none: number
  /** For a kept position: the next one, the next `>` and the last character of the next comment end. */
  readonly #next: Int32Array
  readonly #greater: Int32Array
  readonly #commentEnd: Int32Array
  #head: number
  comments = 0
  tags = 0

  constructor(text: string, kind: TextKind) {
    this.#text = text
    this.#kind = kind
    this.#closed = closedNames(text)
    this.#none = text.length
    this.#next = new Int32Array(text.length + 1).fill(text.length)
    this.#greater = new Int32Array(text.length + 1).fill(text.length)
    this.#commentEnd = new Int32Array(text.length + 1).fill(text.length)
    this.#head = text.length
  }

  push(at: number, isCode: boolean): void {
    const after = this.#head
    this.#next[at] = after
    this.#head = at
    const character = this.#text[at]
    // Code ends every tag before it, but no comment.
    this.#greater[at] = isCode ? this.#none : character === '>' ? at : this.#of(this.#greater, after)
    this.#commentEnd[at] = (character === '-' ? this.#dashes(after) : undefined) ?? this.#of(this.#commentEnd, after)
    if (character === '<' && !isCode) this.#fold(at)
  }

  cuts(): Range[] {
    const cuts: Range[] = []
    let expected = 0
    for (let at = this.#head; ; at = this.#of(this.#next, at)) {
      if (at > expected) cuts.push({ start: expected, end: at })
      if (at >= this.#none) return cuts
      expected = at + 1
    }
  }

  #fold(at: number): void {
    const first = this.#of(this.#next, at)
    const second = this.#of(this.#next, first)
    const what = opening(this.#text.charAt(first), this.#text.charAt(second), this.#kind)
    if (what === undefined || (what === 'declaration' && isNegation(this.#text, at))) return
    const third = this.#of(this.#next, second)
    if (this.#text[first] === '!' && this.#text[second] === '-' && this.#text[third] === '-') {
      const end = this.#of(this.#commentEnd, second)
      this.#cut(end < this.#none ? end : third)
      this.comments += 1
      return
    }
    const end = this.#of(this.#greater, at)
    if (end >= this.#none || what === 'instruction') return
    if (what === 'declaration') {
      this.#cut(end)
      this.comments += 1
    } else if (this.#isTag(at, end)) {
      this.#cut(end)
      this.tags += 1
    }
  }

  #isTag(at: number, end: number): boolean {
    let position = this.#of(this.#next, at)
    const isClosing = this.#text[position] === '/'
    if (isClosing) position = this.#of(this.#next, position)
    let name = ''
    for (
      ;
      name.length <= NAME_LIMIT && /^[\w:.-]$/.test(this.#text.charAt(position));
      position = this.#of(this.#next, position)
    ) {
      name += this.#text.charAt(position)
    }
    if (!/^[\s/>]$/.test(this.#text.charAt(position)) || !isTagName(name)) return false
    if (isSystemMark(name, this.#text.charAt(at - 1), this.#text.charAt(this.#of(this.#next, end)))) return false
    if (
      (position === end || isPlaceholderWith(name, this.#portion(position, end))) &&
      !isClosing &&
      !this.#closed.has(name.toLowerCase())
    )
      if (
        isTypeOrPlaceholder(
          name,
          this.#text.slice(Math.max(0, at - 4), at),
          this.#text.charAt(this.#of(this.#next, end)),
        )
      )
        return false
    return !mayCompare(name) || !OPERATOR.test(this.#portion(position, end))
  }

  /** The text of a tag up to its end or the next `<`. Only cuts read a position twice, and they remove it. */
  #portion(from: number, end: number): string {
    let portion = ''
    for (let at = from; at < end && this.#text[at] !== '<'; at = this.#of(this.#next, at))
      portion += this.#text.charAt(at)
    return portion
  }

  #cut(last: number): void {
    this.#head = this.#of(this.#next, last)
  }

  /** End of a `-->` or `--!>` whose first dash is just before `second`. */
  #dashes(second: number): number | undefined {
    if (this.#text[second] !== '-') return undefined
    let last = this.#of(this.#next, second)
    if (this.#text[last] === '!') last = this.#of(this.#next, last)
    return this.#text[last] === '>' ? last : undefined
  }

  #of(chain: Int32Array, at: number): number {
    return chain[at] ?? this.#none
  }
}

/** Finds nested comments and tags of a text outside of `code`, and their numbers. */
export function collapse(
  text: string,
  code: readonly Range[],
  kind: TextKind,
): { cuts: Range[]; comments: number; tags: number } {
  if (!text.includes('<')) return { cuts: [], comments: 0, tags: 0 }
  const chain = new Chain(text, kind)
  let index = code.length - 1
  for (let at = text.length - 1; at >= 0; at -= 1) {
    while ((code[index]?.start ?? -1) > at) index -= 1
    chain.push(at, (code[index]?.end ?? -1) > at)
  }
  return { cuts: chain.cuts(), comments: chain.comments, tags: chain.tags }
}
