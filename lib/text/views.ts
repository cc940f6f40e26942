import { StringColumns } from './columns.ts'
import { decodeInline, mayBeEncoded, outermost } from './decoding.ts'
import { decodeJson, decodeLiteral, jsonValuesIn } from './json.ts'
import {
  applyReplacements,
  type FoundSpan,
  flowIn,
  isCodedAt,
  type Layer,
  LayerBuilder,
  mergeReplacements,
  type Replacement,
  replacementsBelow,
  type Span,
  spanBelow,
  structureIn,
  type ViewSpan,
  withoutStructure,
} from './layer.ts'
import { isOpeningOfBoard } from './light-markup.ts'
import { dumpsIn, hasDump } from './listed-bytes.ts'
import { decodeLiteralValue, hasLiteral, literalsIn } from './literals.ts'
import { beginUnpacking, hasMissedPacked } from './packed.ts'
import { joinHyphens, readings } from './readings.ts'
import { decodeRtf, hasRtf, rtfIn } from './typeset.ts'

/** A text as it is written and with each further level of encoding removed. */
export interface TextViews {
  readonly text: string
  readonly layers: readonly Layer[]
  /** A bound was reached, or compressed data could not be read: the text may contain more. */
  readonly isIncomplete: boolean
}

/** Levels of encoding that are removed; one encoding may need two. Nobody nests more, except to exceed a bound. */
const maxLayers = 12
/** Characters that are decoded in all layers together, for each character of the text and at least. */
const decodedPerCharacter = 12
const leastDecoded = 4 * 1024 * 1024

/** Reads a part of a text in a format. Undefined if it contains none. */
type Format = (builder: LayerBuilder, start: number, end: number, defers: boolean) => true | undefined

/** Reads values in their format, and what is between them sign by sign. */
function readValues<T extends Span>(
  builder: LayerBuilder,
  { start, end, defers }: Span & { defers: boolean },
  values: readonly T[],
  read: (value: T) => void,
): number {
  let from = start
  for (const value of values) {
    decodeInline(builder, from, value.start, defers)
    read(value)
    from = value.end
  }
  return Math.min(from, end)
}
const rtf: Format = (builder, start, end, defers) => {
  const { base } = builder
  if (!hasRtf(base, start, end) || !mayBegin(builder, start, end, defers)) return undefined
  const documents = rtfIn(base, start, end)
  if (documents.length === 0) return undefined
  const from = readValues(builder, { start, end, defers }, documents, (one) => decodeRtf(builder, one.start, one.end))
  decodeInline(builder, from, end, defers)
  return true
}
const json: Format = (builder, start, end, defers) => {
  if (!hasOpening(builder.base, start, end)) return undefined
  const values = jsonValuesIn(builder.base, start, end, (text, isForeign) => {
    if (!defers || !(isForeign || isCovered(text))) return false
    builder.isDeferred = true
    return true
  })
  if (values?.length === 0) return undefined
  const columns = new StringColumns()
  const isItem = values !== undefined && values.length > 1
  const from = readValues(builder, { start, end, defers }, values ?? [], (value) =>
    decodeJson(builder, value.start, value.end, columns, isItem),
  )
  columns.writeTo(builder, isItem, (first, last) => decodeLiteral(builder, first, last))
  decodeInline(builder, from, end, defers)
  return true
}
const literals: Format = (builder, start, end, defers) => {
  const { base } = builder
  if (!hasOpening(base, start, end) || !hasLiteral(base, start, end) || !mayBegin(builder, start, end, defers))
    return undefined
  const values = literalsIn(base, start, end).filter((one) => !isOpeningOfBoard(base, one))
  if (values.length === 0) return undefined
  if (defers && hasEscapeBetween(base, start, end, values)) {
    decodeInline(builder, start, end, defers, '\\')
    return true
  }
  const columns = new StringColumns()
  const from = readValues(builder, { start, end, defers }, values, (value) =>
    decodeLiteralValue(builder, value, columns, values.length > 1),
  )
  columns.writeTo(builder, true, (first, last) => builder.copy(first, last))
  decodeInline(builder, from, end, defers)
  return true
}
const dumps: Format = (builder, start, end, defers) => {
  if (!hasDump(builder.base, start, end)) return undefined
  const found = dumpsIn(builder.base, start, end)
  if (found.length === 0) return undefined
  const from = readValues(builder, { start, end, defers }, found, (one) =>
    builder.coded(one.start, one.end, one.text, one.encode),
  )
  decodeInline(builder, from, end, defers)
  return true
}
/** The formats of whole values. The first that a text contains is read. */
export const formats = new Map<string, Format>([
  ['dumps of bytes', dumps],
  ['RTF', rtf],
  ['JSON', json],
  ['literals of programs', literals],
])

const mayBeEncodedIn = (text: string, start: number, end: number): boolean =>
  mayBeEncoded(text, start, end, true) || (text.slice(start, end).includes('(') && hasLiteral(text, start, end))
function decodeRegion(builder: LayerBuilder, start: number, end: number, defers: boolean): void {
  if (!mayBeEncodedIn(builder.base, start, end)) {
    builder.copy(start, end)
    return
  }
  for (const read of formats.values()) if (read(builder, start, end, defers)) return
  decodeInline(builder, start, end, defers)
}
/** Whether the lines of a text are divided by another encoding. */
const isCovered = (text: string): boolean => {
  const first = outermost(text)
  return first === '=' || first === '"' || first === '\0' || first === '\u001b'
}
/** Whether a format that contains the text can be removed already: another encoding may be around it. */
const mayBegin = (builder: LayerBuilder, start: number, end: number, defers: boolean): boolean => {
  const first = defers ? outermost(builder.base.slice(start, end)) : undefined
  if (first === undefined || first === '\\') return true
  builder.isDeferred = true
  return false
}
/** An escape sequence outside strings: an encoding is around the literals. */
const outerEscape = /\\(?:[nr]|u[0-9a-fA-F]{4}|[ux]\{|x[0-9a-fA-F]{2}|[0-3][0-7]{2})/
/** An escape of a string itself: an encoding around the string would have doubled its backslash. */
const ownEscape = /(?<!\\)(?:\\\\)*\\[nrt'"]/
function hasEscapeBetween(text: string, start: number, end: number, values: readonly Span[]): boolean {
  // A path before the literals, or an escape after them, says nothing about literals that have their own escapes.
  const isOwn = values.some((one) => text.slice(one.start, one.end).includes('\\'))
  if (isOwn && values.some((one) => ownEscape.test(text.slice(one.start, one.end)))) return false
  let from = isOwn ? (values[0]?.end ?? end) : start
  for (const one of isOwn ? values.slice(1) : values) {
    if (outerEscape.test(text.slice(from, one.start))) return true
    from = one.end
  }
  return !isOwn && values.length > 0 && outerEscape.test(text.slice(from, end))
}
/** Whether a value of JSON or a literal of a program may begin. */
const hasOpening = (text: string, start: number, end: number): boolean => {
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (unit === 123 || unit === 91 || unit === 40) return true
    if (unit === 34 && (at === start || text.charCodeAt(at - 1) === 58)) return true
  }
  return false
}

function decodeLayer(base: string, regions: ArrayLike<number>, flowEnd: number, defers = true): Layer | undefined {
  const builder = new LayerBuilder(base)
  for (let at = 0; at < regions.length; at += 2) {
    const from = builder.length
    if ((regions[at] ?? 0) >= flowEnd) builder.endFlow()
    decodeRegion(builder, regions[at] ?? 0, regions[at + 1] ?? 0, defers)
    if (regions.length > 2) builder.region(from, builder.length)
  }
  if (builder.isChanged) return builder.build()
  return defers && builder.isDeferred ? decodeLayer(base, regions, flowEnd, false) : undefined
}

let latest: TextViews = { text: '', layers: [], isIncomplete: false }

function decode(text: string): Omit<TextViews, 'text'> {
  beginUnpacking()
  const layers: Layer[] = []
  let [base, flowEnd, total] = [text, text.length, 0]
  let former: Layer | undefined
  const bound = Math.max(leastDecoded, text.length * decodedPerCharacter)
  const add = (layer: Layer | undefined): boolean => {
    if (!layer || layer.text === base) return false
    layers.push(layer)
    base = layer.text
    flowEnd = layer.flowEnd
    former = layer
    total += base.length
    return true
  }
  while (layers.length < maxLayers && total <= bound && mayBeEncoded(base))
    if (!add(decodeLayer(base, former?.regions ?? [0, text.length], flowEnd))) break
  const isBounded = (layers.length === maxLayers || total > bound) && mayBeEncoded(base)
  for (const read of readings.values()) add(read(base, flowEnd))
  return { layers, isIncomplete: isBounded || hasMissedPacked() }
}

/**
 * The views of a text. Every layer removes one level of all encodings, until nothing changes; the last layers remove labels of
 * speakers and hyphens. The views of the latest text are retained, because several searches follow each other.
 */
export function viewsOf(text: string): TextViews {
  if (latest.text !== text || text === '') latest = { text, ...decode(text) }
  return latest
}

/** A span of a view as a span of the text itself. */
function spanOf({ layers }: TextViews, view: ViewSpan): FoundSpan {
  let span: Span = view
  for (let depth = view.depth; depth > 0; depth--) {
    const layer = layers[depth - 1]
    if (layer) span = spanBelow(layer, span)
  }
  return view.depth === 0 ? { start: view.start, end: view.end } : { start: span.start, end: span.end, view }
}

/**
 * Where a span is exactly: in the text itself, or in the form in which the innermost segment that contains it is decoded. Below that form,
 * everything in the segment has the same place.
 */
export function exactPlace(text: string, { start, end, view }: FoundSpan): ViewSpan {
  const { layers } = viewsOf(text)
  let place: ViewSpan = view ?? { depth: 0, start, end }
  for (let depth = place.depth; depth > 0; depth--) {
    const layer = layers[depth - 1]
    if (!layer || isCodedAt(layer, place.start)) break
    place = { ...spanBelow(layer, place), depth: depth - 1 }
  }
  return place
}
/** A span of a form as a span of a form below. */
function placeAt({ layers }: TextViews, view: ViewSpan, depth: number): Span {
  let span: Span = view
  for (let from = view.depth; from > depth; from--) {
    const layer = layers[from - 1]
    if (layer) span = spanBelow(layer, span)
  }
  return span
}

/**
 * Searches the text and all its decoded forms. The results are ranges of the text itself, those of the most decoded form last. `isLastFirst`:
 * searches the most decoded form first.
 */
export function searchViews<T extends Span>(
  text: string,
  find: (view: string) => readonly T[],
  { isLastFirst = false } = {},
): (T & FoundSpan)[] {
  const views = viewsOf(text)
  const { length } = views.layers
  const byDepth: (T & FoundSpan)[][] = []
  for (let n = 0; n <= length; n++) {
    const depth = isLastFirst ? length - n : n
    const { text: view, newFrom } = views.layers[depth - 1] ?? { text, newFrom: 0 }
    const found = find(newFrom === 0 ? view : view.slice(newFrom))
    byDepth[depth] =
      depth === 0
        ? [...found]
        : found.map((one) => ({
            ...one,
            ...spanOf(views, { depth, start: newFrom + one.start, end: newFrom + one.end }),
          }))
  }
  return byDepth.flat()
}

/** What a reader sees: completely decoded, without tags, keys and values that describe a message. */
export function readerText(text: string): string {
  const last = viewsOf(text).layers.at(-1)
  return last ? last.text.slice(0, last.flowEnd) : text
}

const brokenLines = /(?<=[\p{L}\p{N}\p{P}])\\(?=\r?\n[\p{L}\p{N}])/gu
const brokenLine = new RegExp(brokenLines.source, 'u')
/**
 * The texts that a person wrote in a value, for fingerprints: without tags, attributes, keys and values that describe a message, which
 * values of other people also contain.
 */
export function spokenTexts(text: string): string[] {
  const found = new Set<string>()
  // Escape sequences of a text that is not completely decoded would be words that other texts in the same encoding contain.
  let read: string | undefined
  const { layers } = decode(text)
  layers.forEach((layer, at) => {
    if (layer.isGuessed) return
    for (const { start, end } of layer.readable)
      if (layer.isReading) found.add(flowIn(layer, { start, end }))
      else for (const one of spokenTexts(layer.text.slice(start, end))) found.add(one)
    if (layer.isReading) found.add(layer.text.slice(0, layer.flowEnd))
    else if (layers[at + 1]?.isReading !== false) read = layer.text.slice(0, layer.flowEnd)
  })
  found.add(read ?? text)
  // Programs continue a line after a backslash. In Markdown, it ends the line between two words.
  if (brokenLine.test(text)) for (const one of spokenTexts(text.replace(brokenLines, ''))) found.add(one)
  for (const one of [...found]) found.add(joinHyphens(one)?.text ?? one)
  return [...found].filter((one) => one.trim() !== '')
}

/** Readings of a text that are only guessed, such as its words without the tag that follows each of them. They contain the text itself too. */
export const guessedReadings = (text: string): string[] =>
  viewsOf(text).layers.flatMap((layer) => (layer.isGuessed ? [layer.text] : []))

/**
 * The spans that were found in the most decoded form. The same words in a form below may have escaped structure between them, which an
 * edit would remove.
 */
export function maxDecoded(text: string, spans: readonly FoundSpan[]): FoundSpan[] {
  const views = viewsOf(text)
  const found: FoundSpan[] = []
  const byDepth = Map.groupBy(
    spans.flatMap((span) => withLabels(views, span)),
    ({ view }) => view?.depth ?? 0,
  )
  for (const depth of [...byDepth.keys()].sort((one, other) => other - one)) {
    /** What the spans of more decoded forms contain of each form. */
    const covered = new Map<number, Span[]>()
    const coveredIn = (form: number): Span[] => {
      const known = covered.get(form) ?? mergeReplacements(found.flatMap((one) => deletionIn(views, one, form)))
      covered.set(form, known)
      return known
    }
    const own = (byDepth.get(depth) ?? []).filter((span) => {
      const place = exactPlace(text, span)
      return !coveredIn(place.depth).some((one) => one.start <= place.start && one.end >= place.end)
    })
    // A call with so many arguments would exceed the stack.
    for (const one of own) found.push(one)
  }
  return found
}
/** The part of a form that is deleted with a span of a more decoded one. */
function deletionIn(views: TextViews, { start, end, view }: FoundSpan, depth: number): Replacement[] {
  if (depth === 0) return [{ start, end, text: '' }]
  return view && view.depth >= depth ? [{ ...placeAt(views, view, depth), text: '' }] : []
}
/** A span of a form without labels or hyphens as spans of the form below, which has them. */
function withLabels(views: TextViews, span: FoundSpan): FoundSpan[] {
  const { depth, start, end } = span.view ?? { depth: 0, start: 0, end: 0 }
  const layer = views.layers[depth - 1]
  if (layer?.isReading !== true) return [span]
  const below: Span[] = []
  for (const one of replacementsBelow(layer, [{ start, end, text: '' }])) {
    const last = below.at(-1)
    // A hyphen that was dropped between two parts of a word.
    if (last?.end === one.start) last.end = one.end
    else below.push({ start: one.start, end: one.end })
  }
  return below.flatMap((one) => withLabels(views, spanOf(views, { depth: depth - 1, start: one.start, end: one.end })))
}

/**
 * The quotation marks and operators between the parts of strings that people read without them: the parts of a form that its readings
 * contain as structure only. In order, without overlaps.
 */
export function structureOf(text: string, depth: number): Span[] {
  const views = viewsOf(text)
  const found: Replacement[] = []
  for (let above = depth; above < views.layers.length; above++) {
    const layer = views.layers[above]
    if (!layer?.isReading) break
    if (layer.hasStructure)
      for (const one of structureIn(layer)) found.push({ ...placeAt(views, { ...one, depth: above }, depth), text: '' })
  }
  return mergeReplacements(found)
}

/**
 * Translates found spans to replacements in the text itself: escapes are cut as a whole, Base64 is encoded again, tags and the structure
 * of JSON remain, and names of properties stay distinct. `onKey` is called if the name of a property changes.
 */
export function replacementsOf(
  text: string,
  spans: readonly FoundSpan[],
  by = '',
  onKey: () => void = () => {},
): Replacement[] {
  const { layers } = viewsOf(text)
  const byDepth = new Map<number, Replacement[]>()
  for (const { start, end, view } of spans) {
    const { depth, ...at } = view ?? { depth: 0, start, end }
    const of = byDepth.get(depth) ?? []
    of.push({ start: at.start, end: at.end, text: by })
    byDepth.set(depth, of)
  }
  let carried: Replacement[] = []
  for (let depth = layers.length; depth >= 0; depth--) {
    carried = mergeReplacements([...carried, ...(byDepth.get(depth) ?? [])])
    if (carried.length === 0) continue
    const above = layers[depth]
    const limited = above ? withoutStructure(above, carried, onKey) : carried
    const layer = layers[depth - 1]
    carried = layer ? replacementsBelow(layer, limited, onKey) : limited
  }
  return carried
}

/** Whether a span is in the name of a property. */
export function areInKeys(text: string, spans: readonly FoundSpan[]): boolean {
  let isFound = false
  const onKey = () => {
    isFound = true
  }
  if (spans.length > 0) replacementsOf(text, maxDecoded(text, spans), '', onKey)
  return isFound
}

/** Rounds after which words that remain are given up. */
const maxRounds = 4

/**
 * Replaces the spans that a search finds in a text and its decoded forms, and searches the result again. Undefined if something remains
 * that cannot be replaced: then the caller must delete the whole value.
 */
export function editText(text: string, find: (text: string) => readonly FoundSpan[], by = ''): string | undefined {
  let rest = text
  for (let round = 0; round < maxRounds; round++) {
    const spans = find(rest)
    if (spans.length === 0) return rest
    const replacements = replacementsOf(rest, maxDecoded(rest, spans), by)
    rest = applyReplacements(rest, replacements)
  }
  return find(rest).length === 0 ? rest : undefined
}
