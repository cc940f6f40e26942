/** A range of text; `end` is exclusive. */
export type Range = { start: number; end: number }

type Fence = {
  /** Number of its line, offset of the fence characters, and the end of their line. */
  line: number
  start: number
  lineEnd: number
  mark: string
  length: number
  /** Prefix required before every line of the block: spaces, and `>` in a quotation. */
  margin: string
  /** `isInside`: it may be in a list or quotation, whose end also ends the fence; `mayOpen`: it is then certainly a fence. */
  isInside: boolean
  mayOpen: boolean
  /** Whether it may close another fence: nothing follows it, and it does not begin a list item. */
  isBare: boolean
  /** Its info string contains a `|`, before a delimiter row, so some parsers take it for a table header. */
  isRow: boolean
}

/** `doubtedTo`: Markdown parsers disagree up to this offset, so nothing in between may be treated as code. */
type FencedCode = Range | 'unclosed' | { doubtedTo: number }

export type Lines = {
  /** Offset of a fence → what it opens, in order. */
  fences: ReadonlyMap<number, FencedCode>
  /** Lines whose code spans cannot continue on the next line. */
  alone: readonly Range[]
  tables: readonly Range[]
  /** Indented code blocks (CommonMark 0.31, 4.4) that certainly are in no list or other container. */
  indented: readonly Range[]
  /** Starts of sections and of list items at the margin, in order; ambiguity ends there. */
  sections: readonly number[]
  /** Starts of lines that end a paragraph for every parser: headings, and further items of a list at the margin. */
  breaks: readonly number[]
}

const FENCE = /((?: *(?:>|(?:[-+*]|\d{1,9}[.)])(?= )))*)( *)(`{3,}(?=[^`\r\n]*(?:[\r\n]|$))|~{3,})/y
const BARE = /[ \t]*(?=[\r\n]|$)/y
const MARKER = /[ \t]*(?:[-+*]|\d{1,9}[.)])(?:[ \t]+|(?=[\r\n]|$))/y
const PREFIX = /(?:[ \t>]|[-+*][ \t]|\d{1,9}[.)][ \t])*(#{1,6}[ \t])?/y
const HEADING = /^#{1,6}[ \t]/
/**
 * A heading or a thematic break. After a blank line it is a block of its own for every parser, so code may follow without another one. A line of
 * hyphens may also begin front matter or a table, unless no line below it can end these.
 */
const WHOLE_BLOCK = /^(?:#{1,6}[ \t].*|\*{3,}[ \t]*|_{3,}[ \t]*|-{3,}[ \t]*)$/
/** The start of the last line of dots or hyphens, with the signs of a table's rulers: it may end front matter or a table. */
function lastRuler(text: string): number {
  for (let end = text.length; end > 0; ) {
    const start = Math.max(text.lastIndexOf('\n', end - 1), text.lastIndexOf('\r', end - 1)) + 1
    let [at, isRuler] = [start, false]
    for (; at < end && RULER_SIGNS.includes(text[at] ?? ''); at += 1) isRuler ||= '-.'.includes(text[at] ?? '')
    if (isRuler && at === end) return start
    if (start === 0) break
    end = start - 1
  }
  return -1
}
const RULER_SIGNS = ' \t-.:|+=>'
const TABBED_FENCE = /^[ >]*\t[ \t>]*(?:`{3}|~{3})/
const INDENT = / {4}| {0,3}\t/y
/** Beginnings of footnotes, definitions and admonitions, which some parsers continue with indented lines. */
const OTHER_CONTAINER = /^(?:\[\^[^\]\n]{1,80}\]:|:[ \t]|!!!|\?\?\?|===|:::|\/\/\/|@)/
/** Containers that certainly open at this position: a number other than 1 does not interrupt a paragraph. */
const CONTAINERS = /^ {0,3}(?:(?:>|[-+*]|0*1[.)]) {0,4})+$/
const NUMBERED = /^ {0,3}(?:(?:>|[-+*]|\d{1,9}[.)]) {0,4})+$/

const TAB = 9
const NEWLINE = 10
const RETURN = 13
const SPACE = 32
const HASH = 35
const STAR = 42
const DASH = 45
const COLON = 58
const UNDERSCORE = 95
const BACKTICK = 96
const PIPE = 124
const TILDE = 126
/** Whether {@link WHOLE_BLOCK} may match a line that begins with this character. */
const isWholeBlock = (code: number): boolean => code === HASH || code === STAR || code === UNDERSCORE || code === DASH
const isDigit = (code: number): boolean => code >= 48 && code <= 57
/** Whether {@link PREFIX} may match a line that begins with this character. */
const isPrefix = (code: number): boolean =>
  isDigit(code) || code === TAB || (code < 64 && ' #*+->'.includes(String.fromCharCode(code)))

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/** Lines of one container prefix, such as `> >`, that have fewer spaces after it than all earlier ones: the last is the first in the text. */
type Known = { from: number; lines: number[]; spaces: number[] }
const BLANK_REST = /\s*/y

/**
 * Returns whether every line of a fenced block has the fence's margin. Call it for the last fence first. A line is compared once for
 * each container prefix that it has, and at most once more for each fence, so all calls together take linear time.
 */
class Margins {
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

/** The indented lines with which a text begins, before a blank line. */
const LEADING_BLOCK = /^(?:[ \t]*\r?\n)*((?: {4}| {0,3}\t)[^\n]*(?:\n(?: {4}| {0,3}\t)[ \t]*[^\s][^\n]*)*)/
const PLAIN_TAG =
  /<\/?(?:div|span|p|b|i|em|strong|ul|ol|li|dl|dt|dd|table|thead|tbody|tr|td|th|h[1-6]|section|article|header|footer|main|nav|pre|code|blockquote|br|hr|small|label)(?:\s{1,20}(?:class|id|lang|role|scope|colspan|rowspan)(?:=(?:"[^"<>\n]{0,200}"|'[^'<>\n]{0,200}'))?){0,8}\s{0,4}\/?>/iy
/**
 * The end of the block of code with which a text begins; 0 if there is none. A reader that trims the text makes this block ordinary markup, so only
 * tags that do and hide nothing are code there.
 */
function leadingBlockEnd(text: string): number {
  const first = text.charCodeAt(0)
  if (first !== SPACE && first !== TAB && first !== NEWLINE && first !== RETURN) return 0
  const match = LEADING_BLOCK.exec(text)
  const block = match?.[1]
  if (!match || block === undefined) return 0
  const end = match[0].length
  for (const { index } of block.matchAll(/<(?=[a-z/!?])/gi)) {
    PLAIN_TAG.lastIndex = end - block.length + index
    if (!PLAIN_TAG.test(text)) return 0
  }
  return end
}

/**
 * Parses the Markdown blocks that matter for telling code from prose (CommonMark 0.31; tables as in GFM). `isLeadCode`: the block with which the text
 * begins may be code.
 */
export function readLines(text: string, isLeadCode: boolean): Lines {
  const found: Fence[] = []
  const alone: Range[] = []
  const tables: Range[] = []
  const sections: number[] = []
  const indented: Range[] = []
  const breaks: number[] = []
  let isInIndented = false
  let hasText = false
  let isListOpen = false
  let isTableOpen = false
  const leadEnd = isLeadCode ? leadingBlockEnd(text) : 0
  const starts: number[] = []
  const ends: number[] = []
  const tabbed = new Set<number>()
  let isAfterBlock = false
  let ruler: number | undefined
  let previous = { start: 0, isBlank: true, hasPipe: false, content: -1 }
  for (let start = 0; start <= text.length; ) {
    const signs = signsAt(text, start)
    const { end, isBlank } = signs
    const number = starts.length
    starts.push(start)
    ends.push(end)
    const first = text.charCodeAt(start)
    const isCode: boolean =
      !isBlank &&
      (hasText || start < leadEnd) &&
      !isListOpen &&
      (previous.isBlank || isAfterBlock || isInIndented) &&
      (first === SPACE || first === TAB) &&
      matchAt(INDENT, text, start) !== null
    // Outside of a list, a line that is indented this far begins none.
    const marker = signs.mayBeItem && !isCode ? (matchAt(MARKER, text, start)?.[0].length ?? -1) : -1
    const isFlush = !isBlank && first !== SPACE && first !== TAB
    if (isFlush && ((marker >= 0 && isListOpen) || (first === HASH && HEADING.test(text.slice(start, start + 8)))))
      breaks.push(start)
    if (
      isFlush &&
      (marker >= 0 ||
        (first === HASH && HEADING.test(text.slice(start, start + 8))) ||
        (previous.isBlank && isListOpen))
    )
      sections.push(start)
    if (marker >= 0 || (isFlush && OTHER_CONTAINER.test(text.slice(start, start + 84)))) isListOpen = true
    else if (isFlush && previous.isBlank) isListOpen = false
    if (!isBlank) {
      const block = indented.at(-1)
      if (isCode && isInIndented && block) block.end = end
      else if (isCode) indented.push({ start, end })
      isInIndented = isCode
      hasText = true
    }

    const fence = signs.hasMarks ? matchAt(FENCE, text, start) : undefined
    if (signs.hasMarks && signs.hasTab && TABBED_FENCE.test(text.slice(start, end))) tabbed.add(number)
    if (fence) {
      const containers = fence[1] ?? ''
      const margin = containers.replace(/[^>]/g, ' ') + (fence[2] ?? '')
      const marks = fence[3] ?? ''
      const indent = margin.length
      const after = start + indent + marks.length
      const fits = previous.content >= 0 && indent >= previous.content && indent <= previous.content + 3
      const opens = (previous.isBlank ? NUMBERED : CONTAINERS).test(containers + (fence[2] ?? ''))
      found.push({
        line: number,
        start: start + indent,
        lineEnd: end,
        mark: marks[0] ?? '',
        length: marks.length,
        margin,
        isInside: containers !== '' || (isListOpen && indent > 0),
        mayOpen: containers !== '' ? opens : indent <= 3 || (isListOpen && (previous.isBlank || fits)),
        isBare: !/[^ >]/.test(containers) && matchAt(BARE, text, after) !== null,
        isRow: text.slice(after, end).includes('|') && isRulerAfter(text, end),
      })
    }
    // A heading ends with its line, and text indented this far may be a code block, which contains no spans.
    const prefix = isPrefix(first) ? matchAt(PREFIX, text, start) : undefined
    if (prefix?.[1] !== undefined || / {4}|\t/.test(prefix?.[0] ?? '')) alone.push({ start, end })

    const table = tables.at(-1)
    if (isTableOpen && table) {
      table.end = end
      isTableOpen = !isBlank
    } else if (signs.isRuler && (signs.hasPipe || previous.hasPipe)) {
      tables.push({ start: previous.start, end })
      isTableOpen = true
    }
    isAfterBlock = isFlush && previous.isBlank && isWholeBlock(first) && WHOLE_BLOCK.test(text.slice(start, end))
    if (isAfterBlock && first === DASH) {
      ruler ??= lastRuler(text)
      isAfterBlock = ruler <= start
    }
    previous = { start, isBlank, hasPipe: signs.hasPipe, content: marker }
    start = end + (text.charCodeAt(end) === RETURN && text.charCodeAt(end + 1) === NEWLINE ? 2 : 1)
  }
  return { fences: pair(found, new Margins(text, starts, ends, tabbed)), alone, tables, indented, sections, breaks }
}

/** Whether the next line may be the delimiter row that makes a line the header of a table. */
const isRulerAfter = (text: string, end: number): boolean =>
  signsAt(text, end + (text.charCodeAt(end) === RETURN && text.charCodeAt(end + 1) === NEWLINE ? 2 : 1)).isRuler

/** What the characters of a line suggest, so that most patterns need not be tried. */
type Signs = {
  end: number
  isBlank: boolean
  hasTab: boolean
  hasPipe: boolean
  /** Three backticks or tildes in a row. */
  hasMarks: boolean
  /** Its first character that is not blank may begin a list item. */
  mayBeItem: boolean
  /** Consists of the characters of a table's delimiter row. */
  isRuler: boolean
}

function signsAt(text: string, start: number): Signs {
  let isBlank = true
  let hasTab = false
  let hasPipe = false
  let hasMarks = false
  let mayBeItem = false
  let hasDash = false
  let hasOthers = false
  let marks = 0
  let end = start
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end)
    if (code === NEWLINE || code === RETURN) break
    if (code === TAB) hasTab = true
    else if (code !== SPACE) {
      if (isBlank) mayBeItem = isDigit(code) || code === DASH || code === 43 || code === STAR
      isBlank = false
      if (code === PIPE) hasPipe = true
      else if (code === DASH) hasDash = true
      else if (code !== COLON) hasOthers = true
    }
    if (code !== BACKTICK && code !== TILDE) marks = 0
    else {
      marks = code === text.charCodeAt(end - 1) ? marks + 1 : 1
      if (marks === 3) hasMarks = true
    }
  }
  return { end, isBlank, hasTab, hasPipe, hasMarks, mayBeItem, isRuler: hasDash && !hasOthers }
}

function pair(found: readonly Fence[], margins: Margins): Map<number, FencedCode> {
  const deep: Record<string, Fence[]> = { '`': [], '~': [] }
  const shallow: Record<string, Fence[]> = { '`': [], '~': [] }
  const paired: [number, FencedCode][] = []
  for (const fence of found.toReversed()) {
    const isShallow = /^ {0,3}$/.test(fence.margin)
    const closer = nearest((fence.isInside ? deep : shallow)[fence.mark] ?? [], fence.length)
    if (isShallow || fence.isInside) paired.push([fence.start, opened(fence, closer, margins)])
    if (!fence.isBare) continue
    push(deep[fence.mark] ?? [], fence)
    if (isShallow) push(shallow[fence.mark] ?? [], fence)
  }
  return new Map(paired.reverse())
}

/**
 * At the top level an unclosed fence extends to the end of the text. In a list or quotation any line without its prefix ends the block:
 * where that may have happened the text is ambiguous.
 */
function opened(fence: Fence, closer: Fence | undefined, margins: Margins): FencedCode {
  const doubted = { doubtedTo: closer ? closer.start + closer.length : fence.lineEnd }
  if (fence.isRow) return closer || fence.isInside ? doubted : 'unclosed'
  if (!fence.isInside) return closer ? { start: fence.start, end: closer.start + closer.length } : 'unclosed'
  if (!closer || !fence.mayOpen || closer.margin !== fence.margin) return doubted
  return margins.areWhole(fence.line, closer.line, fence.margin)
    ? { start: fence.start, end: closer.start + closer.length }
    : doubted
}

/** Keeps those closing fences that a shorter opening fence would not reach earlier; lengths decrease towards the top. */
function push(stack: Fence[], fence: Fence): void {
  while ((stack.at(-1)?.length ?? Number.POSITIVE_INFINITY) <= fence.length) stack.pop()
  stack.push(fence)
}

/** Binary search for the nearest closing fence with at least `length` characters. */
function nearest(stack: readonly Fence[], length: number): Fence | undefined {
  let low = 0
  let high = stack.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((stack[middle]?.length ?? 0) >= length) low = middle + 1
    else high = middle
  }
  return stack[low - 1]
}
