import { decodeInline } from './decoding.ts'
import { isCodedAt, LayerBuilder, type Span, spanBelow } from './layer.ts'

/**
 * Signs of an encoding, by what a text must contain for them: percent-encoding, character references, escapes of programs and shells,
 * quoted-printable. An escaped line end or quotation mark is none: the scanner reads it as it is.
 */
const signs: readonly { needs: string; pattern: RegExp }[] = [
  { needs: '%', pattern: /%[0-9a-fA-F]{2}/g },
  { needs: '&', pattern: /&(?:#[xX]?[0-9a-fA-F]{1,7};?|[a-zA-Z]{2,8};)/g },
  { needs: '\\', pattern: /\\(?:u\{?[0-9a-fA-F]{2,6}|x[0-9a-fA-F]{2}|[0-3][0-7]{2}|[@.+:=_ -](?=[\w.@+-]))/g },
  // JSON in a cell of a table, and a form.
  { needs: '""', pattern: /""(?=[\w.@+-])/g },
  { needs: '+', pattern: /(?<=[?&][\w.-]{1,30}=[^\s&"'<>+]{1,60})\+/g },
  { needs: '=', pattern: /=(?:40|2[BDE]|3[ADF]|5F)(?=[\w.@+=-])/g },
]
/** Invisible characters inside a value or a name. Between other letters they belong to the orthography. */
const invisible =
  /(?<=[\w@.+:=/\u00c0-\u052f-])[\u00ad\u200b-\u200d\u2060-\u2064\ufeff]{1,8}(?=[\w@.+:=/\u00c0-\u052f-])/g
const mayBeInvisible = /[\u00ad\u200b-\u200d\u2060-\u2064\ufeff]/
/** Digits and letters of mathematical alphabets, in circles and in brackets, as people style them. */
const styled = /\ud835[\udc00-\udfff]|[\u2460-\u24ff\u2070-\u209c\u2776-\u2793]/g
const mayBeStyled = /[\ud835\u2460-\u24ff\u2776-\u2793]/
/** Escapes of signs and line ends, as Markdown, shells and escaped logs write them. Between values they are read as they are. */
const escapedSigns = { needs: '\\', pattern: /\\(?:[<>|[\]_*#:"'` .,;]|[nrt](?=[a-z"'<[{*#-]))/gi }
const doubledQuotes = /""(?=[\w.@+-])|(?<=[\w.@+-])""/g
/** Signs of values in quoted-printable. The text layer decodes them where a text has several codes. */
const quotedSigns = /=(?:40|2[BDE]|3A|5F)(?=[\w= ])/g
const styles = new Map<string, string>([
  ['""', '"'],
  ['=40', '@'],
  ['=2B', '+'],
  ['=2D', '-'],
  ['=2E', '.'],
  ['=3A', ':'],
  ['=5F', '_'],
])
function plainSign(sign: string): string {
  const known = styles.get(sign)
  if (known !== undefined) return known
  const plain = sign.normalize('NFKC')
  styles.set(sign, plain)
  return plain
}

/** Text before an encoding that can name a value, and after it that can belong to it. */
const aroundValues = { before: 96, after: 64 }
/** Sentences are longer than values. */
const aroundSentences = { before: 192, after: 192 }
/** A window begins and ends beside white space, if there is some nearby. */
const atSpace = 48
/** Levels of encoding that are removed. */
const maxLevels = 4
/** Shorter runs of Base64 contain no value. */
const leastRun = 16

/** 1 to 64: values of Base64 characters; 0: others. */
const base64 = new Uint8Array(128)
for (const [at, sign] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries())
  base64[sign.charCodeAt(0)] = at + 1
base64[45] = 63
base64[95] = 64
const valueAt = (text: string, at: number): number => base64[text.charCodeAt(at)] ?? 0

/** Whether bytes are the beginning of a text in UTF-8 or, with every second byte zero, in UTF-16. */
function mayBeText(bytes: readonly number[]): boolean {
  let isWide = true
  for (let at = 1; at < bytes.length; at += 2) if (bytes[at] !== 0) isWide = false
  let following = 0
  for (const [at, byte] of bytes.entries()) {
    if (isWide && at % 2 === 1) continue
    if (following > 0) {
      if (byte < 0x80 || byte > 0xbf) return false
      following -= 1
    } else if (byte >= 0x80) {
      if (byte < 0xc2 || byte > 0xf4) return false
      following = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3
    } else if (byte === 127 || (byte < 32 && byte !== 9 && byte !== 10 && byte !== 13)) return false
  }
  return true
}
const sampleBytes = 12
/** Whether the run encodes a text: its first bytes tell, in Base64 or hexadecimal. A path before it shifts its beginning. */
function encodesText(text: string, start: number, end: number): boolean {
  let isHex = true
  for (let at = start; at < start + sampleBytes * 2 && at < end; at++)
    if (!/[0-9a-f]/i.test(text.charAt(at))) {
      isHex = false
      break
    }
  if (isHex) {
    const bytes: number[] = []
    for (let at = start; at + 1 < end && bytes.length < sampleBytes; at += 2)
      bytes.push(Number.parseInt(text.slice(at, at + 2), 16))
    if (mayBeText(bytes)) return true
  }
  for (let from = start; from < end - leastRun + 1; ) {
    const bytes: number[] = []
    let [bits, count] = [0, 0]
    for (let at = from; at < end && bytes.length < sampleBytes; at++) {
      bits = ((bits << 6) | (valueAt(text, at) - 1)) & 0xffff
      count += 6
      if (count < 8) continue
      count -= 8
      bytes.push((bits >>> count) & 255)
    }
    if (mayBeText(bytes)) return true
    // What a path or a name separates before it.
    const next = text.slice(from, Math.min(end, from + 64)).search(/[/_-]/)
    if (next < 0) return false
    from += next + 1
  }
  return false
}

/** Adds runs of Base64 or hexadecimal that encode a text. Looks at every sixteenth unit, so prose costs little. */
function addRuns(text: string, found: Span[]): void {
  for (let at = leastRun - 1; at < text.length; at += leastRun) {
    if (valueAt(text, at) === 0) continue
    let start = at
    while (start > 0 && at - start < leastRun && valueAt(text, start - 1) > 0) start -= 1
    let end = at + 1
    while (end < text.length && valueAt(text, end) > 0) end += 1
    if (end - start >= leastRun && encodesText(text, start, end)) {
      // Lines of Base64 continue each other.
      for (;;) {
        const gap = /^[ \t]{0,8}\r?\n[ \t]{0,8}(?=[A-Za-z0-9+/_-])/.exec(text.slice(end, end + 20))?.[0]
        if (gap === undefined || end - start < 60) break
        end += gap.length
        while (end < text.length && valueAt(text, end) > 0) end += 1
      }
      found.push({ start, end: text.charCodeAt(end) === 61 ? Math.min(text.length, end + 2) : end })
    }
    if (end > at) at = end - 1
  }
}

/** Short runs in a row are a table of words, as a tokenizer has. A value in it would get its name from another row. */
function isInTable(text: string, runs: readonly Span[], at: number): boolean {
  const run = runs[at]
  if (!run || run.end - run.start >= mostInTable) return false
  const [lead, tail] = [text.slice(Math.max(0, run.start - 32), run.start), text.slice(run.end, run.end + 24)]
  if (paddedBefore.test(lead) && encodedAfter.test(tail)) return true
  const near = runs.slice(Math.max(0, at - 3), at + 4).filter(({ start, end }) => {
    const distance = start > run.start ? start - run.end : run.start - end
    return end - start < mostInTable && distance < tableReach
  })
  return near.length > 3
}
const mostInTable = 40
const paddedBefore = /\s[A-Za-z0-9+/]{2,22}={1,2}\s$|\s[A-Za-z0-9+/]{2,22}={1,2}\s[A-Za-z0-9+/]{2,22}\s$/
const encodedAfter = /^=?\s[A-Za-z0-9+/]{4,22}(?:={1,2})?(?:\s|$)/
const tableReach = 160

function nearSpace(text: string, at: number, step: 1 | -1): number {
  for (let moved = 0; moved < atSpace; moved++) {
    const place = at + step * moved
    if (place <= 0 || place >= text.length) return Math.max(0, Math.min(text.length, place))
    if (text.charCodeAt(place - (step < 0 ? 1 : 0)) <= 32) return place
  }
  return at
}

/** Parts of a text that contain an encoding, with what surrounds it, in order and without overlaps. */
function windowsIn(text: string, isProse: boolean): Span[] {
  const { before, after } = isProse ? aroundSentences : aroundValues
  const places: Span[] = []
  for (const { needs, pattern } of isProse ? [...signs, escapedSigns] : signs) {
    if (!text.includes(needs)) continue
    for (const { 0: sign, index } of text.matchAll(pattern)) places.push({ start: index, end: index + sign.length })
  }
  // Readers of sentences fold letters to their appearance and ignore invisible characters themselves.
  if (!isProse)
    for (const [mayBe, pattern] of [
      [mayBeInvisible, invisible],
      [mayBeStyled, styled],
    ] as const)
      if (mayBe.test(text))
        for (const { 0: sign, index } of text.matchAll(pattern)) places.push({ start: index, end: index + sign.length })
  const runs: Span[] = []
  if (!isProse) addRuns(text, runs)
  for (const [at, run] of runs.entries()) if (!isInTable(text, runs, at)) places.push(run)
  const windows: Span[] = []
  for (const place of places.sort((one, other) => one.start - other.start)) {
    const last = windows.at(-1)
    if (last && place.start - before <= last.end) {
      if (place.end + after > last.end) last.end = Math.min(text.length, place.end + after)
      continue
    }
    if (last) last.end = nearSpace(text, last.end, 1)
    windows.push({
      start: Math.max(last?.end ?? 0, nearSpace(text, Math.max(0, place.start - before), -1)),
      end: Math.min(text.length, place.end + after),
    })
  }
  return windows
}

const inForm = /[?&=][^\s]{0,60}\+|\+[^\s]{0,20}%[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}[^\s]{0,20}\+/

/** In place of a tag's sign: tags name values, so they remain. */
const masked = '\ue000'
const hide = (text: string): string => text.replaceAll('<', masked)
const show = (text: string): string => text.replaceAll(masked, '<')

interface Level {
  text: string
  /** The place of a span of the level in the text. */
  back: (span: Span) => Span
  /** Whether the character at an offset was in Base64. */
  isCoded: (offset: number) => boolean
}

/** The text with plain characters in place of styled ones, doubled quotation marks and codes of quoted-printable. */
function plainOf(text: string): Level | undefined {
  const patterns = [
    mayBeStyled.test(text) ? [styled] : [],
    text.includes('""') ? [doubledQuotes] : [],
    text.includes('=') ? [quotedSigns] : [],
  ].flat()
  const places = patterns.flatMap((pattern) => [...text.matchAll(pattern)])
  if (places.length === 0) return undefined
  const builder = new LayerBuilder(text)
  let from = 0
  for (const { 0: sign, index } of places.sort((one, other) => one.index - other.index)) {
    builder.copy(from, index)
    from = index + sign.length
    builder.unit(index, from, plainSign(sign))
  }
  builder.copy(from, text.length)
  const layer = builder.build()
  return { text: layer.text, back: (span) => spanBelow(layer, span), isCoded: () => false }
}
/** The text with one level of each encoding removed. */
function decodedOnce(text: string): Level | undefined {
  const base = hide(text)
  for (const defers of [true, false]) {
    const builder = new LayerBuilder(base)
    decodeInline(builder, 0, base.length, defers)
    const layer = builder.isChanged ? builder.build() : undefined
    if (layer !== undefined && layer.text !== base)
      return {
        text: show(layer.text),
        back: (span) => spanBelow(layer, span),
        isCoded: (offset) => isCodedAt(layer, offset),
      }
    if (!builder.isDeferred) break
  }
  return undefined
}

const above = (below: Level, { text, back, isCoded }: Level): Level => ({
  text,
  back: (span) => below.back(back(span)),
  isCoded: (offset) => isCoded(offset) || below.isCoded(back({ start: offset, end: offset + 1 }).start),
})

/** The first and the last level of a text without its encodings: values may themselves look encoded, and encodings are nested. */
function levelsOf(text: string): Level[] {
  const levels: Level[] = []
  let current = text
  for (let count = 0; count < maxLevels; count++) {
    const next = (count === 0 ? plainOf(current) : undefined) ?? decodedOnce(current)
    if (next === undefined) break
    const below = levels.at(-1)
    levels.push(below ? above(below, next) : next)
    current = next.text
  }
  return levels.length > 2 ? [...levels.slice(0, 1), ...levels.slice(-1)] : levels
}

/** Lines of Base64 of any width, also behind the signs of quotations, lists and comments. */
const codedLines =
  /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}(?:[ \t]{0,8}\r?\n[ \t>#*/]{0,8}[A-Za-z0-9+/_-]{4,})*={0,2}/g
const lineEnds = /[ \t]{0,8}\r?\n[ \t>#*/]{0,8}/
/** Characters of Base64 that are decoded by themselves, and how many runs or groups of lines are. */
const maxAlone = 8_192
const maxRuns = 200

/** Base64 without its line ends and signs, also without a last line, which may be a word after it. */
const joinedLines = (run: string): string[] => {
  const lines = run.slice(0, maxAlone).split(lineEnds)
  return lines.length > 1 ? [lines.join(''), lines.slice(0, -1).join('')] : lines
}
/** Base64 in a text, without what surrounds it. */
function runsAlone(text: string): (Span & { texts: string[] })[] {
  const runs: Span[] = []
  addRuns(text, runs)
  const groups = Array.from(text.matchAll(codedLines), ({ 0: run, index }) => ({
    start: index,
    end: index + run.length,
  })).filter(({ start, end }) => text.slice(start, Math.min(end, start + maxAlone)).includes('\n'))
  return [...runs.slice(0, maxRuns), ...groups.slice(0, maxRuns)].map(({ start, end }) => ({
    start,
    end,
    texts: joinedLines(text.slice(start, end).trimEnd()),
  }))
}

export interface DecodedPart {
  text: string
  /** Where a span of it is in the text that was searched. A value in Base64 is the whole Base64. */
  placeOf: (span: Span) => Span
  /** Whether the character at an offset was in Base64 or hexadecimal. */
  isCoded: (offset: number) => boolean
}

/**
 * Searches the parts of a text that contain encodings, without these. Returns the findings with their places in the text. `isCoded`: the
 * finding was in Base64 or hexadecimal.
 * @param options `isProse`: searches for sentences rather than values: with more text around an encoding, escaped signs, and Base64 in lines of
 * any width. `until`: the offset from which on nothing is searched; asked before each part.
 */
export function searchDecoded<T extends Span>(
  text: string,
  find: (part: DecodedPart) => readonly T[],
  { isProse = false, until }: { isProse?: boolean; until?: () => number } = {},
): (T & { isCoded: boolean })[] {
  const found: (T & { isCoded: boolean })[] = []
  const search = ({ text: part, back, isCoded }: Level, base: number) => {
    const placeOf = (span: Span): Span => {
      const place = back(span)
      return { start: base + place.start, end: base + place.end }
    }
    for (const each of find({ text: part, placeOf, isCoded })) {
      const place = placeOf(each)
      if (place.end > place.start)
        found.push({ ...each, start: place.start, end: place.end, isCoded: isCoded(each.start) })
    }
  }
  for (const { start, end } of windowsIn(text, isProse)) {
    if (until && start >= until()) break
    const part = text.slice(start, end)
    for (const level of levelsOf(part)) search(level, start)
    if (!inForm.test(part)) continue
    // A form writes a plus sign for a space, and no plus sign.
    const spaced = part.replaceAll('+', ' ')
    search({ text: spaced, back: (span) => span, isCoded: () => false }, start)
    for (const level of levelsOf(spaced)) search(level, start)
  }
  if (!isProse) return found
  // Beside other text, the end of Base64 may look like a line end of quoted-printable.
  for (const { start, end, texts } of runsAlone(text)) {
    if (until && start >= until()) continue
    for (const level of texts.flatMap(levelsOf))
      search({ text: level.text, back: () => ({ start, end }), isCoded: () => true }, 0)
  }
  return found
}
