/** A stretch of text; `end` is the first offset after it. */
export type Range = { start: number; end: number }

type Fence = {
  /** Offsets of the marks and of the end of their line. */
  start: number
  lineEnd: number
  mark: string
  length: number
  /** Leading spaces. */
  indent: number
  /** Whether a list may be open here, and whether a fence this deep may then stand here. */
  inList: boolean
  mayOpen: boolean
  bare: boolean
  /** With a `|` in its info string some readers take it for the head of a table. */
  isRow: boolean
}

/**
 * `ambiguous`: readers of Markdown disagree from here on, so nothing after it may be taken for code; `doubtful`: it may
 * be no fence but part of a paragraph.
 */
export type FencedCode = Range | 'unclosed' | 'doubtful' | 'ambiguous'

export type Lines = {
  /** Offset of a fence's marks → what it opens, in order of appearance. */
  fences: ReadonlyMap<number, FencedCode>
  /** Lines whose code spans cannot go on in the next line. */
  alone: readonly Range[]
  tables: readonly Range[]
}

const FENCE = /( *)(`{3,}(?=[^`\r\n]*(?:[\r\n]|$))|~{3,})/y
const BARE = /[ \t]*(?=[\r\n]|$)/y
const MARKER = /[ \t]*(?:[-+*]|\d{1,9}[.)])(?:[ \t]+|(?=[\r\n]|$))/y
const PREFIX = /(?:[ \t>]|[-+*][ \t]|\d{1,9}[.)][ \t])*(#{1,6}[ \t])?/y
const RULER = /[-:| \t]+(?=[\r\n]|$)/y
const TABBED_FENCE = /^ *\t[ \t]*(?:`{3}|~{3})/

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/** Reads the blocks of a Markdown text that matter for telling code from prose (CommonMark 0.31; tables as in GFM). */
export function readLines(text: string): Lines {
  const found: Fence[] = []
  const alone: Range[] = []
  const tables: Range[] = []
  let isListOpen = false
  let isTableOpen = false
  let previous = { start: 0, isBlank: true, content: -1 }
  let start = 0
  for (const newline of text.matchAll(/\r\n?|\n|$/g)) {
    const end = newline.index
    const isBlank = (matchAt(BARE, text, start)?.index ?? -1) === start
    const marker = matchAt(MARKER, text, start)?.[0].length ?? -1
    const isFlush = !isBlank && text[start] !== ' ' && text[start] !== '\t'
    if (marker >= 0) isListOpen = true
    else if (isFlush && previous.isBlank) isListOpen = false

    const fence = matchAt(FENCE, text, start)
    if (fence) {
      const indent = (fence[1] ?? '').length
      const marks = fence[2] ?? ''
      const after = start + indent + marks.length
      const fits = previous.content >= 0 && indent >= previous.content && indent <= previous.content + 3
      found.push({
        start: start + indent,
        lineEnd: end,
        mark: marks[0] ?? '',
        length: marks.length,
        indent,
        inList: isListOpen && indent > 0,
        mayOpen: indent <= 3 || (isListOpen && (previous.isBlank || fits)),
        bare: matchAt(BARE, text, after) !== null,
        isRow: text.slice(after, end).includes('|'),
      })
    }
    // A heading ends with its line, and what is indented this far may be a block of code, which holds no spans.
    const prefix = matchAt(PREFIX, text, start)
    if (prefix?.[1] !== undefined || / {4}|\t/.test(prefix?.[0] ?? '')) alone.push({ start, end })

    const table = tables.at(-1)
    const ruler = isTableOpen ? '' : (matchAt(RULER, text, start)?.[0] ?? '')
    if (isTableOpen && table) {
      table.end = end
      isTableOpen = !isBlank
    } else if (ruler.includes('-') && (ruler.includes('|') || text.slice(previous.start, start).includes('|'))) {
      tables.push({ start: previous.start, end })
      isTableOpen = true
    }
    previous = { start, isBlank, content: marker }
    start = end + newline[0].length
  }
  return { fences: pair(text, found), alone, tables }
}

function pair(text: string, found: readonly Fence[]): Map<number, FencedCode> {
  const closers = { '`': [] as Fence[], '~': [] as Fence[], '`0': [] as Fence[], '~0': [] as Fence[] }
  const paired: [number, FencedCode][] = []
  for (const fence of found.toReversed()) {
    const deep = fence.mark === '~' ? closers['~'] : closers['`']
    const shallow = fence.mark === '~' ? closers['~0'] : closers['`0']
    const closer = nearest(fence.inList ? deep : shallow, fence.length)
    if (fence.indent <= 3 || fence.inList) paired.push([fence.start, opened(text, fence, closer)])
    if (!fence.bare) continue
    push(deep, fence)
    if (fence.indent <= 3) push(shallow, fence)
  }
  return new Map(paired.reverse())
}

/** Inside a list a line that is indented less ends the item, and with it the fence: then the text is ambiguous. */
function opened(text: string, fence: Fence, closer: Fence | undefined): FencedCode {
  if (!closer) return fence.indent > 3 ? 'doubtful' : 'unclosed'
  if (fence.isRow) return 'ambiguous'
  const range = { start: fence.start, end: closer.start + closer.length }
  if (!fence.inList) return range
  if (!fence.mayOpen || closer.indent !== fence.indent) return 'ambiguous'
  const margin = ' '.repeat(fence.indent)
  const lines = text.slice(fence.lineEnd, closer.start).split(/\r\n?|\n/)
  const isInside = lines.every((line) => line.trim() === '' || (line.startsWith(margin) && !TABBED_FENCE.test(line)))
  return isInside ? range : 'ambiguous'
}

/** Keeps of the closers to the right those that a shorter fence could not reach first: their length falls to the top. */
function push(stack: Fence[], fence: Fence): void {
  while ((stack.at(-1)?.length ?? Number.POSITIVE_INFINITY) <= fence.length) stack.pop()
  stack.push(fence)
}

/** The nearest closer with at least `length` marks, by halving. */
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
