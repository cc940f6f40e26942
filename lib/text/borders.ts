import { type FoundSpan, type Layer, pieceKinds, type Span } from './layer.ts'
import { viewsOf } from './views.ts'

const { unit, markup, dropped, coded, key, label } = pieceKinds

/** Signs between two words that belong to separate strings, cells, statements or sentences. */
const separation = /["'`“”„«»][\s\\]*[,:;][\s\\]*["'`“”„«»]|[\]})>][\s\\"'`,;]*[[{(<]|\||[:：]\s|[?!]\s/u
/** In a text that is not encoded, a name does not continue in the next paragraph. */
const paragraph = /\n[ \t]*\r?\n/
const gaps = /[^\p{L}\p{M}\p{N}]+/gu
const isSeparated = (words: string, isPlain: boolean): boolean =>
  [...words.matchAll(gaps)].some(([gap]) => separation.test(gap) || (isPlain && paragraph.test(gap)))

const lineBreakOnly = /^\s*(?:<br\b[^<>]*>\s*)+$/i
const hasWord = /[\p{L}\p{N}]/u

/** Of the pieces of a stream, at least one in this many has a space at its end: they are tokens, not values. */
const rarestEdge = 5
const streams = new WeakMap<Layer, Map<number, boolean>>()

function firstPiece({ starts, count }: Layer, offset: number): number {
  let [from, to] = [0, count]
  while (to - from > 1) {
    const middle = (from + to) >>> 1
    if ((starts[middle] ?? 0) <= offset) from = middle
    else to = middle
  }
  // Pieces without text may be at the same offset.
  while (from > 0 && (starts[from - 1] ?? 0) === offset) from--
  return from
}
const endOfPiece = ({ starts, count, text }: Layer, at: number): number =>
  at + 1 < count ? (starts[at + 1] ?? 0) : text.length
const isSpace = (text: string, at: number): boolean => text.charCodeAt(at) <= 32

/** Whether the strings of the region at an offset are the tokens of one text: spaces at their ends continue them. */
function isStreamAt(layer: Layer, offset: number): boolean {
  const { regions, text, baseStarts, baseEnds, count, starts } = layer
  let [from, to] = [0, regions.length / 2]
  while (to - from > 1) {
    const middle = (from + to) >>> 1
    if ((regions[middle * 2] ?? 0) <= offset) from = middle
    else to = middle
  }
  const [start = 0, end = text.length] = [regions[from * 2], regions[from * 2 + 1]]
  const known = streams.get(layer) ?? new Map<number, boolean>()
  streams.set(layer, known)
  const found = known.get(start)
  if (found !== undefined) return found
  let [joints, edges] = [0, 0]
  for (let at = firstPiece(layer, start) + 1; at < count && (starts[at] ?? 0) < end; at++) {
    const first = starts[at] ?? 0
    if (first <= start || baseStarts[at] === baseEnds[at - 1]) continue
    joints++
    if (isSpace(text, first) || isSpace(text, first - 1)) edges++
  }
  const isStream = edges * rarestEdge >= joints
  known.set(start, isStream)
  return isStream
}

/** Whether a span of a decoded text was made of parts that a border separates in the text below. */
function crossesIn(layers: readonly Layer[], depth: number, { start, end }: Span): boolean {
  const layer = layers[depth - 1]
  if (!layer) return false
  const { base, text, kinds, starts, baseStarts, baseEnds, count, isReading } = layer
  let [from, to] = [-1, -1]
  let isOnlyCoded = true
  let between: number[] = []
  // The piece before may end where the span starts.
  for (let at = Math.max(0, firstPiece(layer, start) - 1); at < count; at++) {
    const [kind, first, next] = [kinds[at], starts[at] ?? 0, endOfPiece(layer, at)]
    // A name of a program is divided here: its words may belong to somebody else's name.
    if (
      isReading &&
      kind === markup &&
      first < next &&
      baseStarts[at] === baseEnds[at] &&
      first <= end &&
      next >= start
    )
      return true
    if (first >= end) break
    if (kind === dropped) continue
    if (kind === markup || kind === label) {
      if (from >= 0 || (first >= start && next > first)) between.push(at)
      continue
    }
    if (next <= start) continue
    const isCopy = kind !== unit && kind !== coded
    const [baseStart, baseEnd] = [baseStarts[at] ?? 0, baseEnds[at] ?? 0]
    const own = isCopy ? baseStart + Math.max(0, start - first) : baseStart
    const ownEnd = isCopy ? Math.min(baseEnd, baseStart + (end - first)) : baseEnd
    isOnlyCoded &&= kind === coded
    if (from >= 0) {
      if (own < to || kind === key) return true
      if (between.some((one) => isHard(layer, one))) return true
      const isJoint = between.length === 0 && own > to && kinds[at - 1] !== dropped
      if (isJoint && !isStreamAt(layer, first)) return true
    } else {
      from = own
      if (between.some((one) => isHard(layer, one))) return true
    }
    between = []
    to = ownEnd
  }
  if (between.some((one) => isHard(layer, one) && endOfPiece(layer, one) > (starts[one] ?? 0))) return true
  if (from < 0 || isOnlyCoded) return false
  return base !== text && crossesIn(layers, depth - 1, { start: from, end: to })
}
/** Whether the structure between two words separates records, values, lines of speakers or blocks. Tags inside words do not. */
function isHard(layer: Layer, at: number): boolean {
  const { base, text, starts, baseStarts, baseEnds, isReading, isGuessed = false } = layer
  const [start, end] = [baseStarts[at] ?? 0, baseEnds[at] ?? 0]
  const written = base.slice(start, end)
  if (isReading) return (isGuessed || start === 0 || base[start - 1] === '\n') && hasWord.test(written)
  return text.slice(starts[at], endOfPiece(layer, at)).includes('\n') && !lineBreakOnly.test(written)
}

/**
 * Whether the words of a span belong to separate values, records, cells, statements or lines with labels: together they are no name of one
 * person, but may be one of two.
 */
export function crossesBorder(text: string, { start, end, view }: FoundSpan): boolean {
  const { layers } = viewsOf(text)
  const [depth, at] = view ? [view.depth, view] : [0, { start, end }]
  const shown = layers[depth - 1]?.text ?? text
  return isSeparated(shown.slice(at.start, at.end), depth === 0) || crossesIn(layers, depth, at)
}

/**
 * Whether the parts of a span of a decoded text are in another order, or the names of properties, in the text below. The offsets are those of
 * what a search of this form reads.
 */
export function isScattered(text: string, span: Span & { depth: number }): boolean {
  const layer = viewsOf(text).layers[span.depth - 1]
  if (!layer) return false
  const { kinds, starts, baseStarts, baseEnds, count, newFrom } = layer
  const [start, end] = [newFrom + span.start, newFrom + span.end]
  let to = -1
  for (let at = firstPiece(layer, start); at < count && (starts[at] ?? 0) < end; at++) {
    const kind = kinds[at]
    if (kind === markup || kind === label || kind === dropped || endOfPiece(layer, at) <= start) continue
    if (kind === key || (baseStarts[at] ?? 0) < to) return true
    to = baseEnds[at] ?? 0
  }
  return false
}
