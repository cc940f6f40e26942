import { decode } from 'html-entities'
import {
  encodedWord,
  endOfLines,
  isBase64Unit,
  leastBase64,
  leastPadded,
  maxBreaks,
  segmentsIn,
  wordOfHeader,
} from './base64.ts'
import type { LayerBuilder } from './layer.ts'
import { type LightMarkup, lightMarkup } from './light-markup.ts'
import { tex, texEscape } from './typeset.ts'

/** Classes of UTF-16 code units for the scanner. */
const plain = 0
const special = 1
const base64 = 2

const classes = new Uint8Array(0x10000)
for (let unit = 0; unit < 128; unit++) if (isBase64Unit(unit)) classes[unit] = base64
for (const sign of '&<>%\\=\u001b\'[]{}|\0"') classes[sign.charCodeAt(0)] = special
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

/** The characters that Windows-1252 has where Latin-1 has control characters. */
const windows = new Map(
  [...'€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'].map(
    (sign, at) => [sign.charCodeAt(0), 0x80 + at] as const,
  ),
)
const latinByte = (unit: number): number => (unit < 0x100 ? unit : (windows.get(unit) ?? -1))
const fromLatin = (byte: number): string => String.fromCharCode(byte)

const hexOf = (unit: number): number =>
  unit >= 48 && unit <= 57
    ? unit - 48
    : unit >= 65 && unit <= 70
      ? unit - 55
      : unit >= 97 && unit <= 102
        ? unit - 87
        : -1
const byteAt = (text: string, at: number): number => {
  const [high, low] = [hexOf(text.charCodeAt(at)), hexOf(text.charCodeAt(at + 1))]
  return high < 0 || low < 0 ? -1 : high * 16 + low
}

/** How many bytes follow the first one in UTF-8; -1 if it cannot be the first. */
const following = (byte: number): number =>
  byte < 0x80
    ? 0
    : byte >= 0xc2 && byte < 0xe0
      ? 1
      : byte >= 0xe0 && byte < 0xf0
        ? 2
        : byte >= 0xf0 && byte < 0xf5
          ? 3
          : -1

/** A byte in a text, written as an escape sequence. */
interface WrittenByte {
  byte: number
  /** Exclusive end of the sequence. */
  end: number
}
type ByteReader = (text: string, at: number) => WrittenByte | undefined

/** Reads one character of UTF-8 from consecutive escape sequences. A byte that is not UTF-8 is read as Windows-1252. */
function readCharacter(text: string, at: number, read: ByteReader): { text: string; end: number } | undefined {
  const first = read(text, at)
  if (!first) return undefined
  const more = following(first.byte)
  let [point, end, isWhole] = [more <= 0 ? first.byte : first.byte & (0x3f >> more), first.end, more >= 0]
  for (let n = 0; n < more && isWhole; n++) {
    const next = read(text, end)
    isWhole = next !== undefined && (next.byte & 0xc0) === 0x80
    if (next && isWhole) {
      point = point * 64 + (next.byte & 0x3f)
      end = next.end
    }
  }
  if (!isWhole || point > 0x10ffff) return { text: fromLatin(first.byte), end: first.end }
  return { text: String.fromCodePoint(point), end }
}

const percentByte: ByteReader = (text, at) => {
  if (text.charCodeAt(at) !== 37) return undefined
  const byte = byteAt(text, at + 1)
  return byte < 0 ? undefined : { byte, end: at + 3 }
}
/** The end of a soft line break of quoted-printable; -1 if there is none. Tags that were removed may leave several line breaks. */
function softBreak(text: string, at: number): number {
  let end = at + 1
  while (text[end] === ' ' || text[end] === '\t') end++
  const breaks = beyondBreaks(text, end, 1)
  return breaks > end ? breaks : -1
}
const isUpperHex = (text: string, at: number): boolean => /[0-9A-F]/.test(text[at] ?? '')
const quotedByte: ByteReader = (text, from) => {
  const next = text.charCodeAt(from) === 61 ? softBreak(text, from) : -1
  const at = next < 0 ? from : next
  if (text.charCodeAt(at) !== 61 || !isUpperHex(text, at + 1) || !isUpperHex(text, at + 2)) return undefined
  return { byte: byteAt(text, at + 1), end: at + 3 }
}
const backslashByte: ByteReader = (text, at) => {
  if (text.charCodeAt(at) !== 92) return undefined
  if (text[at + 1] === 'x') {
    const byte = byteAt(text, at + 2)
    return byte < 0 ? undefined : { byte, end: at + 4 }
  }
  const octal = /^[0-3][0-7]{2}/.exec(text.slice(at + 1, at + 4))
  return octal ? { byte: Number.parseInt(octal[0], 8), end: at + 4 } : undefined
}
/** Characters that also follow an accented letter in a text that is right: spaces, soft hyphens and quotation marks. */
const isOrdinary = (unit: number): boolean => unit === 0xa0 || unit === 0xad || unit === 0xab || unit === 0xbb
/** Whether UTF-8 that was read as Latin-1 may begin here. Of Ã, Ð and Ñ only the first is a letter that ends words, and rarely. */
function isWrongLead(text: string, at: number): boolean {
  const [unit, next, after] = [text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2)]
  if (unit >= 0xe0) return !isOrdinary(next) && !isOrdinary(after)
  if (unit === 0xc3 || unit === 0xd0 || unit === 0xd1) return true
  return (unit <= 0xc5 || unit === 0xce || unit === 0xcf) && !isOrdinary(next)
}
const wrongByte: ByteReader = (text, at) => {
  if (at >= text.length) return undefined
  const byte = latinByte(text.charCodeAt(at))
  return byte >= 0x80 ? { byte, end: at + 1 } : undefined
}

/** Whether a text is quoted-printable: `=AB` alone also occurs in addresses of pages. */
const codes = '=3D|=20|=09|=1B|=[CD][0-9A-F]=[89AB]|=E[0-9A-F]=[89AB]|=F[0-4]=[89AB]|[A-Za-z]=[C-F][0-9A-F][a-z]'
const quotedCode = new RegExp(`${codes}|=[ \\t]*\\r?\\n[^]*=[ \\t]*\\r?\\n`)
const quoted = new RegExp(`=[ \\t]*\\r?\\n|${codes}`)

const letters: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  f: '\f',
  v: '\v',
  b: ' ',
  a: ' ',
  e: '\u001b',
  0: ' ',
  N: ' ',
  L: '\n',
  P: '\n',
}
/** Bytes as PostgreSQL writes them: all hexadecimal digits follow one `\\x`. */
const bytea = /^[0-9a-fA-F]{16}/
const codePoints = /u\{([0-9a-fA-F]{1,6})\}|x\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})/y

/** Escapes that begin with a backslash: JSON, JavaScript, Python, C, YAML and shells. Returns the end of the sequence. */
function backslash(layer: LayerBuilder, text: string, at: number, copied: () => void): number {
  const next = text[at + 1] ?? ''
  if (next === 'x' && bytea.test(text.slice(at + 2, at + 18))) {
    copied()
    layer.drop(at, at + 2)
    return at + 2
  }
  codePoints.lastIndex = at + 1
  const code = codePoints.exec(text)
  if (code) {
    const point = Number.parseInt(code[1] ?? code[2] ?? code[3] ?? code[4] ?? '', 16)
    if (point > 0x10ffff) return at
    copied()
    layer.unit(at, codePoints.lastIndex, code[3] ? String.fromCharCode(point) : String.fromCodePoint(point))
    return codePoints.lastIndex
  }
  const character = readCharacter(text, at, backslashByte)
  if (character) {
    copied()
    layer.unit(at, character.end, character.text)
    return character.end
  }
  // Twice escaped, a line continuation is a line break that is escaped once.
  if (next === '\n' || (next === '\r' && text[at + 2] === '\n')) {
    copied()
    if (text.charCodeAt(at - 1) === 92) {
      layer.unit(at, at + 2, next)
      return at + 2
    }
    let end = at + (next === '\n' ? 2 : 3)
    while (text[end] === ' ' || text[end] === '\t') end++
    layer.drop(at, end)
    return end
  }
  const letter = letters[next] ?? (/[!-/:-@[-`{-~ ]/.test(next) ? next : undefined)
  if (letter === undefined) {
    // A shell escapes every sign; an invisible one would otherwise leave the backslash inside a word.
    if (next === '' || (next >= ' ' && next < '\u007f')) return at
    copied()
    layer.drop(at, at + 1)
    return at + 1
  }
  copied()
  layer.unit(at, at + 2, letter)
  return at + 2
}

const reference = /&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});?/y
const references = new Map<string, string>()
function decodedReference(found: string): string {
  const known = references.get(found)
  if (known !== undefined) return known
  const text = /^&#(?:0+|[xX]0+);?$/.test(found) ? '\0' : decode(found)
  if (references.size < 4_096) references.set(found, text)
  return text
}

/** Elements that do not separate words. */
const inline = new Set(
  (
    'a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr o:p q rt ruby s samp ' +
    'rp rtc small span strike strong sub sup time tt u var wbr'
  ).split(' '),
)
const blocks = new Set(
  (
    'address article aside blockquote body br button caption center col colgroup dd details dialog div dl dt fieldset figcaption ' +
    'figure footer form frame h1 h2 h3 h4 h5 h6 head header hr html iframe img input legend li link main map menu meta nav noscript ol ' +
    'optgroup option p picture pre script section select source style summary svg table tbody td template textarea tfoot th thead ' +
    'title tr track ul video audio embed canvas area base'
  ).split(' '),
)
const annotations = new Set(['rt', 'rp', 'rtc'])
const maxAnnotation = 200
const tag = /<(\/?)([a-zA-Z][a-zA-Z0-9:._-]{0,63})((?:\s[^<>]*)?)>/y
const selfClosed = /<[a-zA-Z][a-zA-Z0-9:._-]{0,63}\/>/y
const otherMarkup = /<!--([\s\S]*?)-->|<!\[CDATA\[|<![a-zA-Z][^<>]*>|<\?[a-zA-Z][^<>]*\?>/y
const attributes = /(?:alt|title|content|value|label|placeholder|summary|aria-label)\s*=\s*("[^"]*"|'[^']*')/gi

/** Names of elements that the text also closes: then they are elements of XML, not placeholders. */
const closedNames = (text: string, start: number, end: number): Set<string> => {
  const names = new Set<string>()
  for (const { 1: name } of text.slice(start, end).matchAll(/<\/([a-zA-Z][a-zA-Z0-9:._-]{0,63})/g))
    names.add(name ?? '')
  return names
}

interface Region {
  start: number
  end: number
  readonly light: LightMarkup
  isTex?: boolean
  /** A cell of a table with JSON: every two quotation marks are one. */
  isCell?: boolean
  closed?: Set<string>
  isQuoted?: boolean
  /** Matches a line that ends with the name of a field, not with a soft line break of quoted-printable. */
  field?: RegExp
  /** A search beyond this offset has found no end of a comment. */
  noComment?: boolean
}

/** Returns the end of the tag; the same offset if there is none. */
function markup(layer: LayerBuilder, text: string, at: number, region: Region, copied: () => void): number {
  tag.lastIndex = at
  const found = tag.exec(text)
  if (found && tag.lastIndex <= region.end) {
    const [whole, slash = '', name = '', rest = ''] = found
    const known = name.toLowerCase()
    region.closed ??= closedNames(text, region.start, region.end)
    const isElement =
      inline.has(known) ||
      blocks.has(known) ||
      region.closed.has(name) ||
      slash !== '' ||
      rest.endsWith('/') ||
      /=\s*["']/.test(rest)
    if (!isElement) return at
    const end = at + whole.length
    copied()
    if (slash === '' && annotations.has(known)) {
      // How a word is read is not a part of the text.
      const next = text.indexOf('<', end)
      const until = next < 0 || next > Math.min(region.end, end + maxAnnotation) ? end : next
      layer.markup(at, until, '')
      layer.tail(end, until, 'same', true)
      return until
    }
    layer.markup(at, end, inline.has(known) ? '' : '\n')
    if (rest.includes('=')) {
      const from = end - 1 - rest.length
      layer.tail(from, end - 1, 'same')
      for (const { 1: value = '', index } of rest.matchAll(attributes)) {
        const first = from + index + (rest.slice(index).indexOf(value) + 1)
        layer.tail(first, first + value.length - 2, 'same', true)
      }
    }
    return end
  }
  selfClosed.lastIndex = at
  const empty = selfClosed.exec(text)
  if (empty) {
    copied()
    layer.markup(at, at + empty[0].length, inline.has(empty[0].slice(1, -2).toLowerCase()) ? '' : '\n')
    return at + empty[0].length
  }
  if (text.startsWith('<!--', at) && region.noComment) return at
  otherMarkup.lastIndex = at
  const other = otherMarkup.exec(text)
  if (!other || otherMarkup.lastIndex > region.end) {
    if (text.startsWith('<!--', at)) region.noComment = true
    return at
  }
  copied()
  layer.markup(at, at + other[0].length, '')
  if (other[1]) layer.tail(at + 4, at + 4 + other[1].length, 'same')
  return at + other[0].length
}

/** The lines of quoted-printable are longer, except for those with an end of their own. */
const maxOfLine = 60
const shortLine = `(?:^|\\n)(?=[^\\n]{1,${maxOfLine - 1}}$)`
/** The name of a field of a form, up to its equals sign. */
const name = '[\\w.-]{1,30}'
const before = `[?"',]|=(?![0-9A-F]{2})`
const field = new RegExp(`(?:^|[?&\\n;]|${shortLine}[^\\n]*(?:${before}))${name}$`)
const shortField = new RegExp(`${shortLine}(?:[^\\n]*(?:\\?|=(?![0-9A-F]{2}))|[^\\n=]*=[^\\n]*[&;])${name}$`)
const shortFieldOfForm = new RegExp(`${shortLine}(?:[^\\n]*(?:${before}|[&;]))?${name}$`)
/** A further field of a form: its equals sign begins neither a code nor a soft line break. */
const furtherField = new RegExp(`&${name}=(?![0-9A-F]{2}|[ \\t]*\\r?\\n)`)
const fieldIn = (text: string): RegExp =>
  quotedCode.test(text) ? (furtherField.test(text) ? shortFieldOfForm : shortField) : field
/** Whether a soft line break is inside a character reference: `&n=` is also the name of a field. */
const maxOfReference = 32
function splitsReference(lead: string, rest: string): boolean {
  const first = /&#?\w{0,30}$/.exec(lead)?.[0]
  const last = first === undefined ? undefined : /^\w{0,30};/.exec(rest)?.[0]
  return last !== undefined && decodedReference(`${first}${last}`) !== `${first}${last}`
}
/** Signs that begin what another layer removes. */
const joins = '%\\&<\u00ad\u200b\u001b'
const header = /=\?([\w-]+)(?:\*[\w-]*)?\?([bBqQ])\?([^?\s]*)\?=/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are controlled by them
const terminal = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z^_])/y
/** Apostrophes as SQL and shells write them inside a quoted text. */
const doubled = /'(?:\\''|"'"'|')(?=\p{L})/uy
const isLetter = /^\p{L}/u

const isHidden = (text: string, at: number): boolean =>
  (isInvisible(text.charCodeAt(at)) && !(text.charCodeAt(at) === 0xad && isLatinByte(text.charCodeAt(at - 1)))) ||
  text.charCodeAt(at) === 0xdb40
const isLatinByte = (unit: number): boolean => unit >= 0x80 && unit <= 0xf4

/** Returns the end of what was decoded at an offset; the same offset if nothing was. */
function decodeAt(layer: LayerBuilder, text: string, at: number, region: Region, copied: () => void): number {
  const unit = text.charCodeAt(at)
  const takeCharacter = (read: ByteReader): number => {
    const character = readCharacter(text, at, read)
    if (!character) return at
    copied()
    layer.unit(at, character.end, character.text)
    return character.end
  }
  switch (unit) {
    case 38: {
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
    case 60: {
      const tagEnd = markup(layer, text, at, region, copied)
      return tagEnd > at ? tagEnd : lightMarkup(layer, text, at, region, copied)
    }
    case 34:
      // A quotation mark in a cell of a table.
      if (text.charCodeAt(at + 1) !== 34 || at + 1 >= region.end) return at
      if (!region.isCell && (isEmptyString(text, at) || encodedBackslash.test(text.slice(Math.max(0, at - 8), at))))
        return at
      copied()
      layer.unit(at, at + 2, '"')
      return at + 2
    case 62:
    case 91:
    case 93:
    case 124:
      return lightMarkup(layer, text, at, region, copied)
    case 123:
    case 125: {
      // Where the text is TeX, braces group its words.
      if (unit === 123 && text.charCodeAt(at + 1) === 92) {
        const end = lightMarkup(layer, text, at, region, copied)
        if (end > at) return end
        region.isTex ??= tex.test(text.slice(region.start, region.end))
      }
      if (region.isTex !== true) return at
      copied()
      layer.markup(at, at + 1, '')
      return at + 1
    }
    case 0:
      return wideCharacters(layer, text, at, region, copied)
    case 37:
      return takeCharacter(percentByte)
    case 92: {
      region.isTex ??= tex.test(text.slice(region.start, region.end))
      const end = region.isTex ? texEscape(layer, text, at, copied) : at
      return end > at ? end : backslash(layer, text, at, copied)
    }
    case 61: {
      if (text.charCodeAt(at + 1) === 63) {
        header.lastIndex = at
        const found = header.exec(text)
        const word = found ? encodedWord(found[1] ?? '', found[2] ?? '', found[3] ?? '') : undefined
        if (found && word !== undefined) {
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
      }
      region.isQuoted ??= quoted.test(text.slice(region.start, region.end))
      if (!region.isQuoted) return at
      const end = softBreak(text, at)
      if (end < 0) return takeCharacter(quotedByte)
      // `note=` before a line break is a field of a form. In a text with codes or several line breaks, only a short line is.
      region.field ??= fieldIn(text.slice(region.start, region.end))
      const lead = text.slice(Math.max(region.start, at - maxOfLine), at)
      if (region.field.test(lead) && !splitsReference(lead, text.slice(end, end + maxOfReference))) return at
      const character = takeCharacter(quotedByte)
      if (character > at) return character
      copied()
      layer.drop(at, end)
      return end
    }
    case 27: {
      terminal.lastIndex = at
      if (!terminal.test(text)) return at
      copied()
      layer.drop(at, terminal.lastIndex)
      return terminal.lastIndex
    }
    case 39: {
      doubled.lastIndex = at
      if (at === 0 || !doubled.test(text) || !isLetter.test(text[at - 1] ?? '')) return at
      copied()
      layer.unit(at, doubled.lastIndex, "'")
      return doubled.lastIndex
    }
    case 0xdb40:
      copied()
      layer.drop(at, at + 2)
      return at + 2
  }
  if (isInvisible(unit)) {
    copied()
    layer.drop(at, at + 1)
    return at + 1
  }
  const wrong = following(unit)
  if (wrong <= 0 || !isWrongLead(text, at)) return at
  const character = readCharacter(text, at, wrongByte)
  if (!character || character.end === at + 1) return at
  copied()
  layer.unit(at, character.end, character.text)
  return character.end
}
/** A backslash in an encoding: it escapes the first of two quotation marks. */
const encodedBackslash = /(?:\\u\{0{0,4}5c\}|\\(?:u00|x)5c|\\134|%5c|&(?:#92|#x0{0,2}5c|bsol);)$/i
/** Whether two quotation marks are a string without characters. */
const isEmptyString = (text: string, at: number): boolean =>
  /[\s:=(,[{>]/.test(text[at - 1] ?? ' ') && /[\s,;)\]}<&]/.test(text[at + 2] ?? ' ')
/** Letters as UTF-16 writes them, in a text that was read byte by byte: every second sign is zero. */
function wideCharacters(
  layer: LayerBuilder,
  text: string,
  at: number,
  { start, end }: Region,
  copied: () => void,
): number {
  const isBetween =
    text.charCodeAt(at + 2) === 0 && at + 2 < end && text.charCodeAt(at + 1) > 0
      ? true
      : at - 2 >= start && text.charCodeAt(at - 2) === 0
  if (!isBetween) return at
  copied()
  layer.drop(at, at + 1)
  return at + 1
}
function commonEnd(one: string, other: string): number {
  let length = 0
  while (length < one.length - 2 && length < other.length && one.at(-1 - length) === other.at(-1 - length)) length++
  return length
}

/** Invisible characters may be inside an escape sequence. Soft hyphens also occur in UTF-8 that was read as Latin-1. */
const invisible =
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each of these characters is sought by itself
  /(?<![\u0080-\u00f4])\u00ad|[\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]|\udb40[\udc00-\uddef]/
/** Letters of UTF-16, read byte by byte. */
const wide = /\0[^\0]\0[^\0]\0/
/** JSON in a cell of a table: its own escapes belong to the next level. */
const cellWithJson = /[{[,:]\s{0,8}""(?!\\[}\]])[^",}\]\n]/
const tagBreak = /=[ \t]*(?:<br\b|<\/?[a-zA-Z][^<>\n]*>[ \t]*\r?\n|&#(?:1[03]|[xX]0{0,2}[aAdD]);)/
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are controlled by them
const terminalBreak = /=[ \t]*\u001b[^\n]{1,12}\r?\n/
const escapedSign = /=\\(?!x[0-9a-f]{16})/
/** A line of quoted-printable may also end between the backslash and the rest of an escape sequence. */
const shellBreak = /\\=[ \t]*\r?\n(?!u[0-9a-f]{4}|x[0-9a-f]{2}|[0-3][0-7]{2})/
const plainBreak = /(?:^|[^\\])=(?:[0-9A-F]{2}|[ \t]*\r?\n)/
/**
 * The signs of the encoding that must be removed from a text before all others. The lines of quoted-printable end anywhere, also inside an
 * escape sequence or a tag. What is between an equals sign and such an end belongs to a format that contains the quoted-printable.
 */
export function outermost(text: string): string | undefined {
  if (text.includes('\0') && wide.test(text)) return '\0'
  if (invisible.test(text)) return ''
  if (text.includes('""') && cellWithJson.test(text)) return '"'
  if (!text.includes('=')) return undefined
  if (tagBreak.test(text)) return '<&'
  if (terminalBreak.test(text)) return '\u001b'
  if (escapedSign.test(text) || (shellBreak.test(text) && !plainBreak.test(text))) return '\\'
  return quoted.test(text) ? '=' : undefined
}

/**
 * Removes one level of every encoding from a part of the layer's base. `defers`: leaves Base64 beside other encodings to the next layer,
 * because an escape sequence or a tag may be between two parts of it.
 */
export function decodeInline(layer: LayerBuilder, start: number, end: number, defers = true): void {
  const text = layer.base
  // Between the values of a format there is often nothing, or one sign.
  if (end - start < 2 && (end === start || classes[text.charCodeAt(start)] === plain)) {
    layer.copy(start, end)
    return
  }
  const region: Region = { start, end, light: {} }
  const only = defers ? outermost(text.slice(start, end)) : undefined
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
    if (runStart >= 0) {
      const length = at - runStart
      const isBeside =
        only !== undefined ||
        (defers &&
          ((from > start && beyondBreaks(text, runStart, -1) <= from) ||
            joins.includes(text[Math.min(end, beyondBreaks(text, at, 1))] ?? ' ')))
      if (isBeside && length >= leastBase64) at = endOfLines(text, runStart, at, end)
      else if (!isBeside && (length >= leastBase64 || (length >= leastPadded && text[at] === '='))) {
        const { segments, end: until } = segmentsIn(text, runStart, at, end)
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
    const isTurn = isEscaped
      ? text.charCodeAt(at) === 92
      : only === undefined ||
        only.includes(text[at] ?? ' ') ||
        (only === '\\' && region.isTex === true && '{}'.includes(text[at] ?? ' ')) ||
        (only === '' && isHidden(text, at))
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
    if (isTurn && at < end && (classes[text.charCodeAt(at)] ?? plain) === special) {
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

/** The offset beyond the line breaks at an offset, in one direction. */
function beyondBreaks(text: string, at: number, step: 1 | -1): number {
  let to = at
  for (;;) {
    const unit = text.charCodeAt(step > 0 ? to : to - 1)
    if ((unit !== 10 && unit !== 13) || Math.abs(to - at) >= maxBreaks) return to
    to += step
  }
}

/** The beginning of a string in a list of a programming language. */
const literal = /^[bBfFrRuU]{0,2}['"]|^[\w$]+=/

/** Whether a text may contain something to decode. Prose does not, and is searched directly. */
export function mayBeEncoded(text: string): boolean {
  let run = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    const kind = classes[unit]
    if (kind === base64) {
      run++
      continue
    }
    if (run >= leastBase64) return true
    if (run >= leastPadded && unit === 61) return true
    run = 0
    if (unit === 123 || unit === 91) return true
    if (unit === 34 && (text.charCodeAt(at - 1) === 58 || text.charCodeAt(at - 1) === 34)) return true
    if (unit === 40 && literal.test(text.slice(at + 1, at + 4))) return true
    if (kind !== special) continue
    const next = text.charCodeAt(at + 1)
    if (unit === 39) {
      if (next === 39 || next === 92 || next === 34) return true
    } else if (unit === 38) {
      if (next === 35 || (next | 32) >= 97) return true
    } else if (unit === 34 || unit === 62 || unit === 93 || unit === 125 || unit === 124) {
      // What they close began before.
    } else if (unit === 60) {
      if (next === 33 || next === 35 || (next >= 47 && next <= 58) || next === 63 || next >= 64) return true
    } else if (unit === 37) {
      if (hexOf(next) >= 0) return true
    } else if (unit === 61) {
      if (hexOf(next) >= 0 || next <= 32 || next === 63) return true
    } else if (unit >= 0xc2 && unit <= 0xf4) {
      if (next >= 0x80 && latinByte(next) >= 0x80 && latinByte(next) < 0xc0) return true
    } else return true
  }
  return run >= leastBase64
}
