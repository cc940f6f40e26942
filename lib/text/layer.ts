/** A part of a text, in UTF-16 offsets; `end` is exclusive. */
export interface Span {
  start: number
  end: number
}
/** A span that is replaced with a text. */
export interface Replacement extends Span {
  text: string
}

/** The position of a span in one of the decoded forms of a text. */
export interface ViewSpan extends Span {
  /** The number of layers below: 0 is the text itself. */
  depth: number
}
/** A span of a text. `view`: where it was found, if the text had to be decoded. */
export interface FoundSpan extends Span {
  view?: ViewSpan | undefined
}

/** How a piece of a decoded text relates to its range in the text below. */
export const pieceKinds = {
  /** Copied: every character has its own position. */
  same: 0,
  /** One escape sequence or reference; it is removed as a whole. */
  unit: 1,
  /** Tags, keys and punctuation of a format: an edit keeps them. */
  markup: 2,
  /** Soft hyphens, soft line breaks and the like: invisible, and removed with the words around them. */
  dropped: 3,
  /** A segment, such as Base64, that is decoded and encoded again as a whole. */
  coded: 4,
  /** The name of a property. */
  key: 5,
  /** Labels of speakers and formatting: not a part of the text, but what is cut may contain them. */
  label: 6,
} as const
type PieceKind = (typeof pieceKinds)[keyof typeof pieceKinds]
const { same, unit, markup, dropped, coded, key, label } = pieceKinds
/** Whether a piece contains no words of the text. */
const isBetween = (kind: number | undefined): boolean => kind === markup || kind === label

/** Encodes a decoded segment again. `cuts`: the replaced ranges, in offsets of the decoded text before. */
export type Encoder = (text: string, cuts: readonly Span[]) => string

/** A text with one level of encoding removed, and the position of each of its parts in the text below. */
export interface Layer {
  readonly base: string
  readonly text: string
  /** Exclusive end of the text itself. After it follow attributes and keys, which the format contains between or inside its texts. */
  readonly flowEnd: number
  /** Parts after `flowEnd` that people read, such as alternative texts of images. */
  readonly readable: readonly Span[]
  /** The text before this offset equals the base: a search of the base has found what it contains. */
  readonly newFrom: number
  /** Whether the layer removes no encoding, but labels or hyphens: the base can be read as well. */
  readonly isReading: boolean
  /** Whether the reading leaves out words that may be words of the text: it finds long runs only, and no source is read in it. */
  readonly isGuessed?: boolean
  /** Whether the base contains tags or the structure of JSON. */
  readonly hasStructure: boolean
  /** The texts that a format contains separately: each is decoded independently. Offsets of `text`, in pairs. */
  readonly regions: ArrayLike<number>
  readonly count: number
  readonly kinds: Uint8Array
  readonly starts: Int32Array
  readonly baseStarts: Int32Array
  readonly baseEnds: Int32Array
  readonly coders: ReadonlyMap<number, Encoder>
}

const grown = <T extends Uint8Array | Int32Array>(from: T, to: T): T => {
  to.set(from)
  return to
}
const [noKinds, noUnits, noOffsets] = [new Uint8Array(), Buffer.alloc(0), new Int32Array()]
/** Shorter parts are written sign by sign: a call for each would take longer. */
const leastAtOnce = 48
/**
 * A text that is written from left to right. A list of a million short strings would cost more than the text. Signs have one byte, until one
 * needs two.
 */
class TextWriter {
  length = 0
  readonly #expected: number
  /** Allocated by the first part: most readings of a text remove nothing from it. */
  #bytes = noUnits
  #isWide = false
  constructor(expected: number) {
    this.#expected = Math.max(16, expected)
  }
  /** Appends a part of a text. */
  write(text: string, start: number, end: number): void {
    if (end <= start) return
    const length = this.length + end - start
    this.#reserve(length)
    if (!this.#isWide && !this.#writeNarrow(text, start, end)) this.#widen(length)
    if (this.#isWide) this.#writeWide(text, start, end)
    this.length = length
  }
  #reserve(length: number): void {
    const width = this.#isWide ? 2 : 1
    if (length * width <= this.#bytes.length) return
    const size = Math.max(length, this.#expected, (this.#bytes.length / width) * 2)
    const bytes = Buffer.allocUnsafeSlow(size * width)
    bytes.set(this.#bytes.subarray(0, this.length * width))
    this.#bytes = bytes
  }
  /** Writes signs of one byte; returns false if one needs two. */
  #writeNarrow(text: string, start: number, end: number): boolean {
    const bytes = this.#bytes
    let [to, all] = [this.length, 0]
    for (let at = start; at < end; at++) {
      const sign = text.charCodeAt(at)
      all |= sign
      bytes[to++] = sign
    }
    return all <= 0xff
  }
  #writeWide(text: string, start: number, end: number): void {
    const bytes = this.#bytes
    let to = this.length * 2
    if (end - start >= leastAtOnce) {
      bytes.write(text.slice(start, end), to, 'utf16le')
      return
    }
    for (let at = start; at < end; at++) {
      const sign = text.charCodeAt(at)
      bytes[to++] = sign & 0xff
      bytes[to++] = sign >>> 8
    }
  }
  #widen(least: number): void {
    const wide = Buffer.allocUnsafeSlow(Math.max(least, this.#bytes.length) * 2)
    for (let at = 0; at < this.length; at++) {
      wide[at * 2] = this.#bytes[at] ?? 0
      wide[at * 2 + 1] = 0
    }
    this.#bytes = wide
    this.#isWide = true
  }
  toString(): string {
    return this.#isWide
      ? this.#bytes.toString('utf16le', 0, this.length * 2)
      : this.#bytes.toString('latin1', 0, this.length)
  }
}

/** Most layers have few pieces. V8 allocates arrays of more than 64 bytes outside its heap, which takes many times longer. */
const fewest = 16

/** Builds a {@link Layer} from left to right. */
export class LayerBuilder {
  readonly base: string
  isChanged = false
  /** Whether something was left to the next layer, because another encoding may be around it. */
  isDeferred = false
  hasStructure = false
  readonly #written: TextWriter
  #count = 0
  #kinds = noKinds
  #starts = noOffsets
  #baseStarts = noOffsets
  #baseEnds = noOffsets
  readonly #coders = new Map<number, Encoder>()
  /** The start, the end, the kind, and whether people read it, of each part that follows the text. */
  #tails = new Int32Array(fewest)
  #tailCount = 0
  readonly #later: { write: () => void; isReadable: boolean }[] = []
  #flowEnd: number | undefined
  #borders = noOffsets
  #borderCount = 0
  /** The part of the base at the end of the text that is not yet written: a layer that changes nothing writes nothing. */
  #pending = 0
  #pendingEnd = 0

  constructor(base: string) {
    this.base = base
    this.#written = new TextWriter(base.length)
  }

  #writePending(): void {
    this.#written.write(this.base, this.#pending, this.#pendingEnd)
    this.#pending = this.#pendingEnd
  }
  #push(kind: PieceKind, start: number, end: number): void {
    this.#writePending()
    const at = this.#count
    if (at === this.#kinds.length) {
      const size = Math.max(fewest, at * 2)
      this.#kinds = grown(this.#kinds, new Uint8Array(size))
      this.#starts = grown(this.#starts, new Int32Array(size))
      this.#baseStarts = grown(this.#baseStarts, new Int32Array(size))
      this.#baseEnds = grown(this.#baseEnds, new Int32Array(size))
    }
    this.#kinds[at] = kind
    this.#starts[at] = this.#written.length
    this.#baseStarts[at] = start
    this.#baseEnds[at] = end
    this.#count = at + 1
  }
  #pushText(kind: PieceKind, start: number, end: number, text: string): void {
    this.#push(kind, start, end)
    this.#written.write(text, 0, text.length)
  }
  #pushCopy(kind: PieceKind, start: number, end: number): void {
    this.#push(kind, start, end)
    this.#pending = Math.min(start, this.base.length)
    this.#pendingEnd = Math.min(end, this.base.length)
  }

  get length(): number {
    return this.#written.length + this.#pendingEnd - this.#pending
  }
  copy(start: number, end: number): void {
    if (end <= start) return
    const last = this.#count - 1
    if (last >= 0 && this.#kinds[last] === same && this.#baseEnds[last] === start) {
      this.#baseEnds[last] = end
      this.#pendingEnd = Math.min(end, this.base.length)
    } else this.#pushCopy(same, start, end)
  }
  unit(start: number, end: number, text: string): void {
    this.isChanged = true
    this.#pushText(unit, start, end, text)
  }
  markup(start: number, end: number, text: string): void {
    this.isChanged = true
    this.hasStructure = true
    this.#pushText(markup, start, end, text)
  }
  /** The label of a speaker: it is not a part of the text, but words around it are removed with it. */
  label(start: number, end: number): void {
    this.isChanged = true
    this.#pushText(label, start, end, '')
  }
  /** Separates two words between which the base has nothing. */
  gap(at: number): void {
    this.isChanged = true
    this.#pushText(markup, at, at, ' ')
  }
  drop(start: number, end: number): void {
    this.isChanged = true
    this.#pushText(dropped, start, end, '')
  }
  coded(start: number, end: number, text: string, encode: Encoder): void {
    this.isChanged = true
    this.#coders.set(this.#count, encode)
    const from = this.length
    this.#pushText(coded, start, end, text)
    this.region(from, this.length)
  }
  /** Appends a part of the base after the text, in a line of its own. */
  tail(start: number, end: number, kind: 'same' | 'key', isReadable = false): void {
    if (end <= start) return
    const at = this.#tailCount
    if (at + 4 > this.#tails.length) this.#tails = grown(this.#tails, new Int32Array(this.#tails.length * 2))
    const tails = this.#tails
    tails[at] = start
    tails[at + 1] = end
    tails[at + 2] = kind === 'key' ? key : same
    tails[at + 3] = isReadable ? 1 : 0
    this.#tailCount = at + 4
  }
  /** Appends a further reading of parts of the base after the text, in a line of its own. */
  afterwards(write: () => void, isReadable = true): void {
    this.#later.push({ write, isReadable })
  }
  region(start: number, end: number): void {
    if (end <= start) return
    if (this.#borderCount + 2 > this.#borders.length)
      this.#borders = grown(this.#borders, new Int32Array(Math.max(fewest, this.#borders.length * 2)))
    this.#borders[this.#borderCount++] = start
    this.#borders[this.#borderCount++] = end
  }

  /** Marks the end of the text; attributes and keys of the layers below follow. */
  endFlow(): void {
    this.#flowEnd ??= this.length
  }

  /** The parts between the borders of all regions. */
  #regions(): Int32Array {
    const borders = this.#borders.subarray(0, this.#borderCount).sort()
    const regions = new Int32Array(borders.length * 2)
    let count = 0
    for (let at = 1; at < borders.length; at++) {
      const [start = 0, end = 0] = [borders[at - 1], borders[at]]
      if (end <= start) continue
      regions[count++] = start
      regions[count++] = end
    }
    return regions.subarray(0, count)
  }
  #writtenText(): string {
    this.#writePending()
    return this.#written.toString()
  }
  build(): Layer {
    const flowEnd = this.#flowEnd ?? this.length
    const readable: Span[] = []
    for (let at = 0; at < this.#tailCount; at += 4) {
      const [start = 0, end = 0] = [this.#tails[at], this.#tails[at + 1]]
      const kind = this.#tails[at + 2] === key ? key : same
      this.#pushText(markup, start, start, '\n')
      const from = this.length
      this.#pushCopy(kind, start, end)
      this.region(from, this.length)
      if (this.#tails[at + 3] === 1) readable.push({ start: from, end: this.length })
    }
    // What is written may append more.
    for (const { write, isReadable } of this.#later) {
      this.#pushText(markup, 0, 0, '\n')
      const from = this.length
      write()
      this.region(from, this.length)
      if (isReadable) readable.push({ start: from, end: this.length })
    }
    this.region(0, this.length)
    const regions = () => this.#regions()
    let known: Int32Array | undefined
    return {
      base: this.base,
      text: this.#writtenText(),
      flowEnd,
      readable,
      newFrom: 0,
      isReading: false,
      hasStructure: this.hasStructure,
      // Most layers contain nothing else to decode, and sorting many regions takes long.
      get regions() {
        known ??= regions()
        return known
      },
      count: this.#count,
      kinds: this.#kinds,
      starts: this.#starts,
      baseStarts: this.#baseStarts,
      baseEnds: this.#baseEnds,
      coders: this.#coders,
    }
  }
}

/** The index of the piece that contains an offset of the decoded text. */
function pieceAt({ starts, count }: Pick<Layer, 'starts' | 'count'>, offset: number): number {
  let [from, to] = [0, count]
  while (to - from > 1) {
    const middle = (from + to) >>> 1
    if ((starts[middle] ?? 0) <= offset) from = middle
    else to = middle
  }
  return from
}

/** Whether the character at an offset of the decoded text was part of Base64 or another segment that is decoded as a whole. */
export const isCodedAt = (layer: Layer, offset: number): boolean => layer.kinds[pieceAt(layer, offset)] === coded

/** What a further reading of the base, in a span of the decoded text, contains of the text itself. */
export function flowIn(layer: Layer, { start, end }: Span): string {
  const { kinds, starts, baseStarts, baseEnds, count, flowEnd, text } = layer
  for (let at = pieceAt(layer, start); at < count && (starts[at] ?? 0) < end; at++) {
    const [first, base] = [starts[at] ?? 0, baseStarts[at] ?? 0]
    if (first < start || (baseEnds[at] ?? 0) <= flowEnd) continue
    return text.slice(start, kinds[at] === same ? first + Math.max(0, flowEnd - base) : first)
  }
  return text.slice(start, end)
}

/** The range in the base of a span of the decoded text. */
export function spanBelow(layer: Layer, { start, end }: Span): Span {
  const { kinds, starts, baseStarts, baseEnds, count } = layer
  let [from, to] = [Number.POSITIVE_INFINITY, 0]
  for (let at = pieceAt(layer, start); at < count && (starts[at] ?? 0) < end; at++) {
    const [kind, first] = [kinds[at], starts[at] ?? 0]
    const next = at + 1 < count ? (starts[at + 1] ?? 0) : layer.text.length
    if (isBetween(kind) || kind === dropped || next <= start) continue
    const [base, baseEnd] = [baseStarts[at] ?? 0, baseEnds[at] ?? 0]
    const isCopy = kind === same || kind === key
    from = Math.min(from, isCopy ? base + Math.max(0, start - first) : base)
    to = Math.max(to, isCopy ? Math.min(baseEnd, base + (end - first)) : baseEnd)
  }
  return from <= to ? { start: from, end: to } : { start: 0, end: 0 }
}

/**
 * Sorts replacements and merges those that overlap, and deletions with what precedes them: what the level below has between the two is then
 * removed as well. Of merged texts, the first remains.
 */
export function mergeReplacements(replacements: readonly Replacement[]): Replacement[] {
  const merged: Replacement[] = []
  for (const one of [...replacements].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = merged.at(-1)
    if (last && (one.start < last.end || (one.start === last.end && one.text === ''))) {
      last.end = Math.max(last.end, one.end)
      if (last.text === '') last.text = one.text
    } else merged.push({ ...one })
  }
  return merged
}
export function applyReplacements(text: string, replacements: readonly Replacement[]): string {
  let rest = ''
  let from = 0
  for (const { start, end, text: by } of replacements) {
    rest += text.slice(from, start) + by
    from = end
  }
  return rest + text.slice(from)
}

/**
 * A text in the place of a span of the decoded text, with escapes: a character that the span contains escaped is escaped in the same way. What
 * replaces an encoded value has no other characters of the encoding than the value had.
 */
function escapedLike(
  { kinds, starts, baseStarts, baseEnds, count, text, base }: Layer,
  span: Span,
  by: string,
): string {
  if (!/[^\p{L}\p{N} ]/u.test(by)) return by
  const forms = new Map<string, string>()
  for (let at = pieceAt({ starts, count }, span.start); at < count && (starts[at] ?? 0) < span.end; at++) {
    const first = starts[at] ?? 0
    const next = at + 1 < count ? (starts[at + 1] ?? 0) : text.length
    if (kinds[at] === unit && next - first === 1 && first >= span.start)
      forms.set(text.slice(first, next), base.slice(baseStarts[at] ?? 0, baseEnds[at] ?? 0))
  }
  return forms.size === 0 ? by : by.replaceAll(/[^\p{L}\p{N} ]/gu, (character) => forms.get(character) ?? character)
}

/** The name of a property as a program reads it. */
function decodedKey(raw: string): string {
  if (!raw.includes('\\')) return raw
  try {
    return String(JSON.parse(`"${raw}"`))
  } catch {
    return raw
  }
}
/** Names that are not taken: a number follows one that is. It continues from name to name, so that many equal ones take linear time. */
export function freeNames(isTaken: (name: string) => boolean): (plain: string) => string {
  const numbers = new Map<string, number>()
  return (plain) => {
    let name = plain
    let n = numbers.get(plain) ?? 2
    if (isTaken(name))
      do name = `${plain} ${n++}`
      while (isTaken(name))
    numbers.set(plain, n)
    return name
  }
}
/** The name of a property of which nothing remains. Only letters, so that it is valid in every encoding. */
export const erasedKey = 'erased'
/**
 * Replacements in the base of a layer, such that a changed name of a property is not empty and differs from all other names in the text:
 * otherwise a program that reads the value would lose one of the properties. Equal names remain equal.
 */
function withDistinctKeys(layer: Layer, replacements: Replacement[]): Replacement[] {
  const { base, kinds, baseStarts, baseEnds, count } = layer
  const spans: Span[] = []
  for (let at = 0; at < count; at++)
    if (kinds[at] === key) spans.push({ start: baseStarts[at] ?? 0, end: baseEnds[at] ?? 0 })
  spans.sort((one, other) => one.start - other.start)
  const found: Replacement[] = []
  const taken = new Set<string>()
  const changed: { span: Span; cuts: Replacement[] }[] = []
  let next = 0
  for (const span of spans) {
    const cuts: Replacement[] = []
    for (; next < replacements.length; next++) {
      const one = replacements[next]
      if (!one || one.start >= span.end) break
      if (one.end <= span.start) found.push(one)
      else cuts.push(one)
    }
    if (cuts.length > 0) changed.push({ span, cuts })
    else taken.add(decodedKey(base.slice(span.start, span.end)))
  }
  for (const one of replacements.slice(next)) found.push(one)
  const given = new Map<string, string>()
  const free = freeNames((name) => taken.has(decodedKey(name)))
  for (const { span, cuts } of changed) {
    const raw = base.slice(span.start, span.end)
    const own = cuts.map((one) => ({ ...one, start: one.start - span.start, end: one.end - span.start }))
    const cut = applyReplacements(raw, own).trim()
    const rest = /[\p{L}\p{N}]/u.test(cut) ? cut : erasedKey
    const id = JSON.stringify([decodedKey(raw), rest])
    const name = given.get(id) ?? free(rest)
    given.set(id, name)
    taken.add(decodedKey(name))
    found.push({ ...span, text: name })
  }
  return mergeReplacements(found)
}

/**
 * Translates replacements in the decoded text to replacements in the base. Tags and other structure inside a replaced span remain. `onKey` is
 * called if the name of a property changes.
 */
export function replacementsBelow(
  layer: Layer,
  replacements: readonly Replacement[],
  onKey: () => void = () => {},
): Replacement[] {
  const { kinds, starts, baseStarts, baseEnds, count, text, coders } = layer
  const found: Replacement[] = []
  let isOfKeys = false
  const inside = new Map<number, Replacement[]>()
  for (const { start, end, text: by } of replacements) {
    let rest = escapedLike(layer, { start, end }, by)
    let isFirst = true
    for (let at = pieceAt(layer, start); at < count && (starts[at] ?? 0) < end; at++) {
      const [kind, first] = [kinds[at], starts[at] ?? 0]
      const next = at + 1 < count ? (starts[at + 1] ?? 0) : text.length
      const [base, baseEnd] = [baseStarts[at] ?? 0, baseEnds[at] ?? 0]
      if (kind === dropped && first > start) found.push({ start: base, end: baseEnd, text: '' })
      if (isBetween(kind) || kind === dropped || next <= start) continue
      const [from, to] = [Math.max(start, first), Math.min(end, next)]
      if (kind === coded) {
        const own = inside.get(at) ?? []
        own.push({ start: from - first, end: to - first, text: isFirst ? by : '' })
        inside.set(at, own)
      } else if (kind === same) {
        // White space beside a tag or a label separates what remains.
        let [cutFrom, cutTo] = [base + from - first, base + to - first]
        if (to < end && isBetween(kinds[at + 1])) while (cutTo > cutFrom && isSpace(layer.base, cutTo - 1)) cutTo--
        if (from > start && isBetween(kinds[at - 1])) while (cutFrom < cutTo && isSpace(layer.base, cutFrom)) cutFrom++
        if (cutFrom === cutTo) continue
        found.push({ start: cutFrom, end: cutTo, text: rest })
      } else if (kind === key) {
        found.push({ start: base + from - first, end: base + to - first, text: rest })
        isOfKeys = true
      } else found.push({ start: base, end: baseEnd, text: rest })
      rest = ''
      isFirst = false
    }
  }
  for (const [at, own] of inside) {
    const first = starts[at] ?? 0
    const next = at + 1 < count ? (starts[at + 1] ?? 0) : text.length
    const cuts = mergeReplacements(own)
    const cut = applyReplacements(text.slice(first, next), cuts)
    found.push({ start: baseStarts[at] ?? 0, end: baseEnds[at] ?? 0, text: coders.get(at)?.(cut, cuts) ?? '' })
  }
  const merged = mergeReplacements(found)
  if (isOfKeys) onKey()
  return isOfKeys ? withDistinctKeys(layer, merged) : merged
}

const isSpace = (text: string, at: number): boolean => text.charCodeAt(at) <= 32

/** The structure in the base of a layer. A layer that contains its base before other forms of it has none. */
export function structureIn({ kinds, baseStarts, baseEnds, count, newFrom }: Layer): Span[] {
  const found: Span[] = []
  for (let at = 0; at < count && newFrom === 0; at++) {
    const [start, end] = [baseStarts[at] ?? 0, baseEnds[at] ?? 0]
    if (kinds[at] === markup && end > start) found.push({ start, end })
  }
  return found
}

/** Limits replacements in the base of a layer to its texts: tags and the structure of JSON remain. `onKey` as above. */
export function withoutStructure(
  layer: Layer,
  replacements: readonly Replacement[],
  onKey: () => void = () => {},
): Replacement[] {
  if (!layer.hasStructure) return [...replacements]
  const { kinds, baseStarts, baseEnds, count } = layer
  const order = Array.from({ length: count }, (_, at) => at).sort(
    (one, other) => (baseStarts[one] ?? 0) - (baseStarts[other] ?? 0),
  )
  const found: Replacement[] = []
  let isOfKeys = false
  const sorted = mergeReplacements(replacements)
  const used = new Set<Replacement>()
  let from = 0
  for (const at of order) {
    const [start, end, kind] = [baseStarts[at] ?? 0, baseEnds[at] ?? 0, kinds[at]]
    while (from < sorted.length && (sorted[from]?.end ?? 0) <= start) from++
    if (kind === markup || end === start) continue
    for (let index = from; index < sorted.length; index++) {
      const one = sorted[index]
      if (!one || one.start >= end) break
      const [first, last] = [Math.max(one.start, start), Math.min(one.end, end)]
      if (first >= last) continue
      isOfKeys ||= kind === key
      const isWhole = kind === unit || kind === coded
      found.push({ start: isWhole ? start : first, end: isWhole ? end : last, text: used.has(one) ? '' : one.text })
      used.add(one)
    }
  }
  const merged = mergeReplacements(found)
  if (isOfKeys) onKey()
  return isOfKeys ? withDistinctKeys(layer, merged) : merged
}
