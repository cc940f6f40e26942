import {
  encodedWord,
  endOfLines,
  isBase64Unit,
  isMixed,
  type LinesOfWidth,
  leastBase64,
  leastPadded,
  noLines,
  segmentsIn,
  wordOfHeader,
} from './base64.ts'
import { type Elements, endOfSection, markup } from './elements.ts'
import {
  type ByteReader,
  backslash,
  beyondBreaks,
  decodedReference,
  fieldIn,
  following,
  hexOf,
  isWrongLead,
  latinByte,
  maxOfLine,
  maxOfReference,
  misread,
  percentByte,
  percentUnit,
  quoted,
  quotedByte,
  readCharacter,
  reference,
  softBreak,
  splitsReference,
  wrongByte,
} from './escapes.ts'
import type { LayerBuilder } from './layer.ts'
import { type LightMarkup, lightMarkup } from './light-markup.ts'
import {
  endOfSeparated,
  isOffsetOfDump,
  type ListedBytes,
  mayBeSeparated,
  textOfList,
  textOfSeparated,
} from './listed-bytes.ts'
import { tex, texEscape } from './typeset.ts'

/** Classes of UTF-16 code units for the scanner. */
const plain = 0
const special = 1
const base64 = 2

const classes = new Uint8Array(0x10000)
for (let unit = 0; unit < 128; unit++) if (isBase64Unit(unit)) classes[unit] = base64
for (const sign of '&<>%\\=\u001b\'[]{}|\0"\b') classes[sign.charCodeAt(0)] = special
/** Characters that are invisible, or that only control lines, directions and glyphs. */
const isInvisible = (unit: number): boolean =>
  unit === 0xad ||
  unit === 0x34f ||
  unit === 0x61c ||
  unit === 0x180e ||
  (unit >= 0x200b && unit <= 0x200f) ||
  (unit >= 0x202a && unit <= 0x202e) ||
  (unit >= 0x2060 && unit <= 0x206f) ||
  (unit >= 0xfe00 && unit <= 0xfe0f) ||
  unit === 0xfeff
for (let unit = 0; unit < 0x10000; unit++) if (isInvisible(unit)) classes[unit] = special
// The first half of tags and further selectors of glyphs (U+E0000 to U+E01EF).
classes[0xdb40] = special
// UTF-8 that was read as Latin-1 begins with one of these.
for (let unit = 0xc2; unit <= 0xf4; unit++) classes[unit] = special

/** Letters as people style them: in circles and squares, as flags, and small capitals. The words of a text do not have these. */
const styledLetters = new Map<number, string>()
const inAlphabet = (first: number, letters = 'abcdefghijklmnopqrstuvwxyz'): void => {
  for (const [at, letter] of [...letters].entries()) styledLetters.set(first + at, letter)
}
for (const first of [0x24b6, 0x24d0, 0x249c, 0x1f110, 0x1f130, 0x1f150, 0x1f170, 0x1f1e6]) inAlphabet(first)
for (const [at, sign] of [...'ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ'].entries())
  styledLetters.set(sign.charCodeAt(0), 'abcdefghijklmnopqrstuvwyz'.charAt(at))
for (const point of styledLetters.keys()) if (point < 0x10000) classes[point] = special
/** The first half of the others. */
const halfOfStyled = 0xd83c
classes[halfOfStyled] = special
const styledAt = (text: string, at: number): string | undefined => styledLetters.get(text.codePointAt(at) ?? 0)

/** Signs that begin what another layer removes. */
const joins = '%\\&<\u00ad\u200b\u001b'
const header = /=\?([\w-]+)(?:\*[\w-]*)?\?([bBqQ])\?([^?\s]*)\?=/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are controlled by them
const terminal = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z^_])/y
const terminalAnywhere = new RegExp(terminal.source)
/** Apostrophes as SQL and shells write them inside a quoted text. */
const doubled = /'(?:\\''|"'"'|')(?=\p{L})/uy
const isLetter = /^\p{L}/u

/** Letters of UTF-16, read byte by byte. */
const wide = /\0[^\0]\0[^\0]\0/

interface Region extends Elements {
  readonly light: LightMarkup
  isTex?: boolean
  /** A cell of a table with JSON: every two quotation marks are one. */
  isCell?: boolean
  isQuoted?: boolean
  isWide?: boolean
  /** The part was read in another encoding than it was written in: no other letters precede each other so often. */
  isMisread?: boolean
  /** The lines of one width that were read last. */
  readonly lines: LinesOfWidth
  /** Separated bytes up to this offset contain no text. */
  binaryEnd?: number
  /** Matches a line that ends with the name of a field, not with a soft line break of quoted-printable. */
  field?: RegExp
}

const isHidden = (text: string, at: number): boolean =>
  (isInvisible(text.charCodeAt(at)) && !(text.charCodeAt(at) === 0xad && isLatinByte(text.charCodeAt(at - 1)))) ||
  text.charCodeAt(at) === 0xdb40
const isLatinByte = (unit: number): boolean => unit >= 0x80 && unit <= 0xf4

/** Returns the end of what was decoded at an offset; the same offset if nothing was. */
type Decoder = (layer: LayerBuilder, text: string, at: number, region: Region, copied: () => void) => number

const takeCharacter = (layer: LayerBuilder, text: string, at: number, copied: () => void, read: ByteReader): number => {
  const character = readCharacter(text, at, read)
  if (!character) return at
  copied()
  layer.unit(at, character.end, character.text)
  return character.end
}
function characterReference(layer: LayerBuilder, text: string, at: number, copied: () => void): number {
  reference.lastIndex = at
  const found = reference.exec(text)?.[0]
  const decodedText = found === undefined ? undefined : decodedReference(found)
  if (found === undefined || decodedText === found || decodedText === undefined) return at
  // Without its semicolon, only the first characters are the reference.
  const rest = found.endsWith(';') ? 0 : commonEnd(found, decodedText)
  copied()
  layer.unit(at, at + found.length - rest, decodedText.slice(0, decodedText.length - rest))
  return at + found.length - rest
}
const quotationMark: Decoder = (layer, text, at, region, copied) => {
  if (text.charCodeAt(at + 1) !== 34 || at + 1 >= region.end) return at
  if (!region.isCell && (isEmptyString(text, at) || encodedBackslash.test(text.slice(Math.max(0, at - 8), at))))
    return at
  copied()
  layer.unit(at, at + 2, '"')
  return at + 2
}
/** Where a text is TeX, braces group its words. */
const texGroup: Decoder = (layer, text, at, region, copied) => {
  const unit = text.charCodeAt(at)
  if (unit === 92 || (unit === 123 && text.charCodeAt(at + 1) === 92))
    region.isTex ??= tex.test(text.slice(region.start, region.end))
  if (region.isTex !== true) return at
  if (unit === 92) return texEscape(layer, text, at, copied)
  copied()
  layer.markup(at, at + 1, '')
  return at + 1
}
const headerWord: Decoder = (layer, text, at, _region, copied) => {
  if (text.charCodeAt(at + 1) !== 63) return at
  header.lastIndex = at
  const found = header.exec(text)
  const word = found ? encodedWord(found[1] ?? '', found[2] ?? '', found[3] ?? '') : undefined
  if (!found || word === undefined) return at
  copied()
  let end = at + found[0].length
  layer.coded(at, end, word, wordOfHeader)
  const space = /^\s+(?==\?)/.exec(text.slice(end, end + 16))
  if (space) {
    layer.drop(end, end + space[0].length)
    end += space[0].length
  }
  return end
}
const quotedPrintable: Decoder = (layer, text, at, region, copied) => {
  region.isQuoted ??= quoted.test(text.slice(region.start, region.end))
  if (!region.isQuoted) return at
  const end = softBreak(text, at)
  if (end < 0) return takeCharacter(layer, text, at, copied, quotedByte)
  // `note=` before a line break is a field of a form. In a text with codes or several line breaks, only a short line is.
  region.field ??= fieldIn(text.slice(region.start, region.end))
  const lead = text.slice(Math.max(region.start, at - maxOfLine), at)
  if (region.field.test(lead) && !splitsReference(lead, text.slice(end, end + maxOfReference))) return at
  const character = takeCharacter(layer, text, at, copied, quotedByte)
  if (character > at) return character
  copied()
  layer.drop(at, end)
  return end
}
const terminalCode: Decoder = (layer, text, at, _region, copied) => {
  terminal.lastIndex = at
  if (!terminal.test(text)) return at
  copied()
  // A terminal moves to the right over a space.
  if (text[terminal.lastIndex - 1] === 'C') layer.unit(at, terminal.lastIndex, ' ')
  else layer.drop(at, terminal.lastIndex)
  return terminal.lastIndex
}
const apostrophe: Decoder = (layer, text, at, _region, copied) => {
  doubled.lastIndex = at
  if (at === 0 || !doubled.test(text) || !isLetter.test(text[at - 1] ?? '')) return at
  copied()
  layer.unit(at, doubled.lastIndex, "'")
  return doubled.lastIndex
}
const invisibleCharacter: Decoder = (layer, text, at, _region, copied) => {
  const unit = text.charCodeAt(at)
  if (unit !== 0xdb40 && !isInvisible(unit)) return at
  const end = unit === 0xdb40 ? at + 2 : at + 1
  copied()
  layer.drop(at, end)
  return end
}
const wrongUtf8: Decoder = (layer, text, at, region, copied) => {
  if (following(text.charCodeAt(at)) <= 0) return at
  if (!isWrongLead(text, at)) {
    region.isMisread ??= misread.test(text.slice(region.start, region.end))
    if (!region.isMisread) return at
  }
  const character = readCharacter(text, at, wrongByte)
  if (!character || character.end === at + 1) return at
  copied()
  layer.unit(at, character.end, character.text)
  return character.end
}

const styledLetter: Decoder = (layer, text, at, _region, copied) => {
  const letter = styledAt(text, at)
  if (letter === undefined) return at
  const end = text.charCodeAt(at) === halfOfStyled ? at + 2 : at + 1
  copied()
  layer.unit(at, end, letter)
  return end
}

/** Code points in the notation of Unicode: `U+0049 U+0020`, or `<U+0441>` between other letters. */
const notation = /U\+([0-9a-fA-F]{4,6})(?:[ ,;]{1,2}(?=U\+)|(?![0-9a-zA-Z])|(?=U\+))/y
const leastNoted = 3
const isNotation = (text: string, at: number): boolean => text.charCodeAt(at) === 85 && text.charCodeAt(at + 1) === 43
/** The end of code points that follow each other. */
function endOfNotation(text: string, start: number): number {
  let [at, count] = [start, 0]
  for (notation.lastIndex = at; notation.test(text); notation.lastIndex = at) {
    at = notation.lastIndex
    count++
  }
  return count < leastNoted ? start : at
}
function writeNotation(layer: LayerBuilder, text: string, start: number, end: number): void {
  for (let at = start; at < end; at = notation.lastIndex) {
    notation.lastIndex = at
    const point = Number.parseInt(notation.exec(text)?.[1] ?? '0', 16)
    layer.unit(at, notation.lastIndex, point > 0x10ffff ? ' ' : String.fromCodePoint(point))
  }
}
const bracketed = /<U\+([0-9a-fA-F]{4,6})>/y
const pointInBrackets: Decoder = (layer, text, at, _region, copied) => {
  if (!isNotation(text, at + 1)) return at
  bracketed.lastIndex = at
  const point = Number.parseInt(bracketed.exec(text)?.[1] ?? 'ffffff', 16)
  if (point > 0x10ffff) return at
  copied()
  layer.unit(at, bracketed.lastIndex, String.fromCodePoint(point))
  return bracketed.lastIndex
}

/** Letters as UTF-16 writes them, in a text that was read byte by byte: every second sign is zero. */
const wideCharacters: Decoder = (layer, text, at, region, copied) => {
  region.isWide ??= wide.test(text.slice(region.start, region.end))
  const isBetween =
    text.charCodeAt(at + 2) === 0 && at + 2 < region.end && text.charCodeAt(at + 1) > 0
      ? true
      : at - 2 >= region.start && text.charCodeAt(at - 2) === 0
  // Another encoding may have replaced the signs beside one of them.
  if (!isBetween && !region.isWide) return at
  copied()
  layer.drop(at, at + 1)
  return at + 1
}

const listOfBytes: Decoder = (layer, text, at, region, copied) => {
  const bytes = textOfList(text, at, region.end)
  if (!bytes) return at
  copied()
  layer.coded(at, bytes.end, bytes.text, bytes.encode)
  return bytes.end
}

/** The decoders of the scanner. Those of one sign are tried in this order. */
export const decoders = new Map<string, { signs: string; decode: Decoder }>([
  [
    'character references',
    { signs: '&', decode: (layer, text, at, _, copied) => characterReference(layer, text, at, copied) },
  ],
  ['code points in brackets', { signs: '<', decode: pointInBrackets }],
  ['elements', { signs: '<', decode: markup }],
  ['sections of XML', { signs: ']', decode: endOfSection }],
  ['lists of bytes', { signs: '[{', decode: listOfBytes }],
  ['links and mentions', { signs: '<>[]|{', decode: lightMarkup }],
  ['doubled quotation marks', { signs: '"', decode: quotationMark }],
  ['TeX', { signs: '{}\\', decode: texGroup }],
  [
    'escapes with a backslash',
    { signs: '\\', decode: (layer, text, at, _, copied) => backslash(layer, text, at, copied) },
  ],
  ['UTF-16 that was read byte by byte', { signs: '\0', decode: wideCharacters }],
  [
    'percent-encoding',
    {
      signs: '%',
      decode: (layer, text, at, _, copied) =>
        Math.max(takeCharacter(layer, text, at, copied, percentByte), percentUnit(layer, text, at, copied)),
    },
  ],
  ['words of email headers', { signs: '=', decode: headerWord }],
  ['quoted-printable', { signs: '=', decode: quotedPrintable }],
  ['codes of terminals', { signs: '\u001b', decode: terminalCode }],
  ['doubled apostrophes', { signs: "'", decode: apostrophe }],
  ['invisible characters', { signs: '', decode: invisibleCharacter }],
  ['UTF-8 that was read as Latin-1', { signs: '', decode: wrongUtf8 }],
  ['styled letters', { signs: '', decode: styledLetter }],
])
/** The names of the decoders of each ASCII sign, and of all others. */
const namesOf = Array.from({ length: 128 }, (_, unit) =>
  [...decoders].flatMap(([name, { signs }]) => (signs.includes(String.fromCharCode(unit)) ? [name] : [])),
)
const namesOfOthers = ['invisible characters', 'UTF-8 that was read as Latin-1', 'styled letters']

const decodeAt: Decoder = (layer, text, at, region, copied) => {
  for (const name of namesOf[text.charCodeAt(at)] ?? namesOfOthers) {
    const end = decoders.get(name)?.decode(layer, text, at, region, copied) ?? at
    if (end > at) return end
  }
  return at
}
/** A backslash in an encoding: it escapes the first of two quotation marks. */
const encodedBackslash = /(?:\\u\{0{0,4}5c\}|\\(?:u00|x)5c|\\134|%5c|&(?:#92|#x0{0,2}5c|bsol);)$/i
/** Whether two quotation marks are a string without characters. */
const isEmptyString = (text: string, at: number): boolean =>
  /[\s:=(,[{>]/.test(text[at - 1] ?? ' ') && /[\s,;)\]}<&]/.test(text[at + 2] ?? ' ')
function commonEnd(one: string, other: string): number {
  let length = 0
  while (length < one.length - 2 && length < other.length && one.at(-1 - length) === other.at(-1 - length)) length++
  return length
}

/** Invisible characters may be inside an escape sequence. Soft hyphens also occur in UTF-8 that was read as Latin-1. */
const invisible =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each of these characters is sought by itself
  /(?<![\u0080-\u00f4])\u00ad|[\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]|\udb40[\udc00-\uddef]/
/** JSON in a cell of a table: its own escapes belong to the next level. */
const cellWithJson = /[{[,:]\s{0,8}""(?!\\[}\]])[^",}\]\n]/
const tagBreak = /=[ \t]*(?:<br\b|<\/?[a-zA-Z][^<>\n]*>[ \t]*\r?\n|&#(?:1[03]|[xX]0{0,2}[aAdD]);)/
const escapedSign = /=\\(?!x[0-9a-f]{16})/
/** A line of quoted-printable may also end between the backslash and the rest of an escape sequence. */
const shellBreak = /\\=[ \t]*\r?\n(?!u[0-9a-f]{4}|x[0-9a-f]{2}|[0-3][0-7]{2})/
const plainBreak = /(?:^|[^\\])=(?:[0-9A-F]{2}|[ \t]*\r?\n)/
/**
 * The signs of the encoding that must be removed from a text before all others. The lines of quoted-printable end anywhere, also inside an
 * escape sequence or a tag. What is between an equals sign and such an end belongs to a format that contains the quoted-printable.
 */
export function outermost(text: string): string | undefined {
  if (text.includes('\0') && (wide.test(text) || text.includes('\\\0'))) return '\0'
  if (invisible.test(text)) return ''
  // Strings of JSON contain no raw code: it was written around them.
  if (text.includes('\u001b') && terminalAnywhere.test(text)) return '\u001b'
  if (text.includes('""') && cellWithJson.test(text)) return '"'
  if (!text.includes('=')) return undefined
  if (tagBreak.test(text)) return '<&'
  if (escapedSign.test(text) || (shellBreak.test(text) && !plainBreak.test(text))) return '\\'
  return quoted.test(text) ? '=' : undefined
}

function endOfPadding(text: string, at: number): number {
  let end = at
  while (end < at + 2 && text.charCodeAt(end) === 61) end++
  return end
}

/** Whether a run may be the first of several bytes that are separated from each other. Hyphens belong to the run. */
const isPair = (text: string, start: number, length: number): boolean =>
  (length === 2 || length === 4 || text.charCodeAt(start + 2) === 45) &&
  hexOf(text.charCodeAt(start)) >= 0 &&
  mayBeSeparated(text, start)
function separatedBytes(text: string, start: number, region: Region): ListedBytes | undefined {
  const found = textOfSeparated(text, start, region.end)
  if (!found) region.binaryEnd = endOfSeparated(text, start, region.end)
  return found
}

/**
 * Removes one level of every encoding from a part of the layer's base. `defers`: leaves Base64 beside other encodings to the next layer,
 * because an escape sequence or a tag may be between two parts of it. `first`: the signs of the encoding that must be removed before all
 * others.
 */
export function decodeInline(layer: LayerBuilder, start: number, end: number, defers = true, first?: string): void {
  const text = layer.base
  // Between the values of a format there is often nothing, or one sign.
  if (end - start < 2 && (end === start || classes[text.charCodeAt(start)] === plain)) {
    layer.copy(start, end)
    return
  }
  const region: Region = { start, end, light: {}, lines: { ...noLines } }
  const only = first ?? (defers ? outermost(text.slice(start, end)) : undefined)
  if (only !== undefined) layer.isDeferred = true
  if (only !== undefined && only !== '=') region.isQuoted = false
  if (only === '"') region.isCell = true
  let from = start
  let runStart = -1
  let at = start
  const copied = () => {
    layer.copy(from, at)
  }
  while (at <= end) {
    const kind = at < end ? (classes[text.charCodeAt(at)] ?? plain) : plain
    if (kind === base64) {
      if (runStart < 0) runStart = at
      at++
      continue
    }
    if (kind === plain && runStart < 0) {
      at++
      continue
    }
    if (runStart >= 0) {
      const length = at - runStart
      const points = only === undefined && isNotation(text, runStart) ? Math.min(end, endOfNotation(text, runStart)) : 0
      if (points > runStart) {
        layer.copy(from, runStart)
        writeNotation(layer, text, runStart, points)
        at = points
        from = at
        runStart = -1
        continue
      }
      const bytes =
        only === undefined && runStart >= (region.binaryEnd ?? 0) && isPair(text, runStart, length)
          ? separatedBytes(text, runStart, region)
          : undefined
      if (bytes) {
        layer.copy(from, runStart)
        layer.coded(runStart, bytes.end, bytes.text, bytes.encode)
        at = bytes.end
        from = at
        runStart = -1
        continue
      }
      const isBeside =
        only !== undefined ||
        (defers &&
          ((from > start && beyondBreaks(text, runStart, -1) <= from) ||
            joins.includes(text[Math.min(end, beyondBreaks(text, endOfPadding(text, at), 1))] ?? ' ')))
      if (isBeside) layer.isDeferred = true
      if (isBeside && length >= leastBase64) at = endOfLines(text, runStart, at, end)
      else if (!isBeside && (length >= leastBase64 || (length >= leastPadded && text[at] === '='))) {
        const { segments, end: until } = segmentsIn(text, runStart, at, { start: from, end }, region.lines)
        for (const segment of segments) {
          if (segment.end > end) continue
          layer.copy(from, segment.start)
          layer.coded(segment.start, segment.end, segment.text, segment.encode)
          from = segment.end
        }
        if (until > at && until <= end) at = until
      }
      runStart = -1
      if (at < from) at = from
      if (at >= end) break
      if (classes[text.charCodeAt(at)] === base64) continue
    }
    // What follows a decoded backslash is escaped by it on the next level: `\\\\%41` becomes `\\%41`, and then `%41`.
    const isEscaped = at === from && at > start && text.charCodeAt(at - 1) === 92
    if (only === '' && at < end && text.charCodeAt(at) === 92) {
      // A shell escapes every sign: with its backslash, an invisible one would leave an escape sequence that nobody wrote.
      let to = at
      while (to < end && text.charCodeAt(to) === 92) to++
      if (to < end && isHidden(text, to)) {
        copied()
        layer.drop(at, to)
        from = to
      }
      at = to
      continue
    }
    if (at > from && at < end && text.charCodeAt(at) === 8 && (only === undefined || only === '\b')) {
      // A printer writes a sign over the one before it.
      const width = text.charCodeAt(at - 1) >= 0xdc00 && text.charCodeAt(at - 1) < 0xe000 && at - 1 > from ? 2 : 1
      layer.copy(from, at - width)
      layer.drop(at - width, at + 1)
      at++
      from = at
      continue
    }
    const isTurn =
      at < end &&
      (classes[text.charCodeAt(at)] ?? plain) === special &&
      (isEscaped
        ? text.charCodeAt(at) === 92
        : only === undefined ||
          only.includes(text[at] ?? ' ') ||
          (only === '\\' && region.isTex === true && '{}'.includes(text[at] ?? ' ')) ||
          (only === '' && isHidden(text, at)))
    if (isTurn) {
      const next = decodeAt(layer, text, at, region, copied)
      if (next > at) {
        at = next
        from = next
        continue
      }
    }
    at++
  }
  layer.copy(from, end)
}

/** The beginning of a string, or of a named argument, after a bracket in a program. */
const literal = /\s{0,40}(?:[bBfFrRuU]{0,2}['"]|[\w$]{1,40}=)/y
const isBeforeLiteral = (text: string, at: number): boolean => {
  literal.lastIndex = at
  return literal.test(text)
}

/**
 * Whether a text may contain something to decode. Prose does not, and is searched directly. A part of a text may also contain the end of
 * what began in another part.
 */
export function mayBeEncoded(text: string, start = 0, end = text.length, isPart = false): boolean {
  let run = 0
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at)
    const kind = classes[unit]
    if (kind === base64) {
      run++
      continue
    }
    if (run >= leastBase64 && isMixed(text, at - run, at)) return true
    if (run > 1 && isPair(text, at - run, run)) return true
    if (run > 5 && isNotation(text, at - run)) return true
    if (run > 5 && run <= 16 && isOffsetOfDump(text, at - run, at)) return true
    if (run >= leastPadded && unit === 61) return true
    run = 0
    if (kind !== special) {
      if (unit === 40 && isBeforeLiteral(text, at + 1)) return true
      continue
    }
    if (unit === 123 || unit === 91) return true
    if (unit === 34 && (text.charCodeAt(at - 1) === 58 || text.charCodeAt(at - 1) === 34 || (isPart && at === start)))
      return true
    const next = text.charCodeAt(at + 1)
    if (unit === 39) {
      if (next === 39 || next === 92 || next === 34) return true
    } else if (unit === 38) {
      if (next === 35 || (next | 32) >= 97) return true
    } else if (unit === 34 || unit === 62 || unit === 125) {
      // What they close began before.
    } else if (unit === 93 || unit === 124) {
      if (isPart) return true
    } else if (unit === 60) {
      if (next === 33 || next === 35 || (next >= 47 && next <= 58) || next === 63 || next >= 64) return true
    } else if (unit === 37) {
      if (hexOf(next) >= 0 || next === 117) return true
    } else if (unit === 61) {
      if (hexOf(next) >= 0 || next <= 32 || next === 63) return true
    } else if (unit >= 0xc2 && unit <= 0xf4) {
      if (next >= 0x80 && latinByte(next) >= 0x80 && latinByte(next) < 0xc0) return true
    } else if (unit === halfOfStyled) {
      if (styledAt(text, at) !== undefined) return true
    } else return true
  }
  return run >= leastBase64 && isMixed(text, end - run, end)
}
