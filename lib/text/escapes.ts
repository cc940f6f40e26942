import { decode } from 'html-entities'
import { maxBreaks } from './base64.ts'
import type { LayerBuilder } from './layer.ts'

/** The characters that Windows-1252 has where Latin-1 has control characters. */
const windows = new Map(
  [...'€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'].map(
    (sign, at) => [sign.charCodeAt(0), 0x80 + at] as const,
  ),
)
export const latinByte = (unit: number): number => (unit < 0x100 ? unit : (windows.get(unit) ?? -1))
const fromLatin = (byte: number): string => String.fromCharCode(byte)

export const hexOf = (unit: number): number =>
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
export const following = (byte: number): number =>
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
export type ByteReader = (text: string, at: number) => WrittenByte | undefined

/** Reads one character of UTF-8 from consecutive escape sequences. A byte that is not UTF-8 is read as Windows-1252. */
export function readCharacter(text: string, at: number, read: ByteReader): { text: string; end: number } | undefined {
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

export const percentByte: ByteReader = (text, at) => {
  if (text.charCodeAt(at) !== 37) return undefined
  const byte = byteAt(text, at + 1)
  return byte < 0 ? undefined : { byte, end: at + 3 }
}
/** A unit of UTF-16 as old browsers escape it: `%u0435`. Returns its end; the same offset if there is none. */
export function percentUnit(layer: LayerBuilder, text: string, at: number, copied: () => void): number {
  if (text.charCodeAt(at + 1) !== 117) return at
  const [high, low] = [byteAt(text, at + 2), byteAt(text, at + 4)]
  if (high < 0 || low < 0) return at
  copied()
  layer.unit(at, at + 6, String.fromCharCode(high * 256 + low))
  return at + 6
}
const base64Sign = /[A-Za-z0-9+/_-]/
/** Fewer signs of Base64 may be a word. */
const leastPadded = 16
/**
 * Whether an equals sign at the end of a line is the padding of Base64. Quoted-printable has no two equals signs there. A single one is
 * padding if the signs before it complete a group of four, and the next line does not continue them.
 */
function isPadding(text: string, at: number, next: number): boolean {
  const end = text[at - 1] === '=' ? at - 1 : at
  let start = end
  while (base64Sign.test(text[start - 1] ?? '')) start--
  if (end - start < leastPadded) return false
  if (end < at) return true
  const signs = text.slice(start, end)
  if ((signs.length + 1) % 4 !== 0 || !/[a-z]/.test(signs) || !/[A-Z]/.test(signs)) return false
  let until = next
  while (base64Sign.test(text[until] ?? '') || text[until] === '=') until++
  const isContinued = until > next && (until === text.length || text[until] === '\n' || text[until] === '\r')
  const isBlankBetween = /\n\s*\n/.test(text.slice(at + 1, next))
  return !isContinued || (isBlankBetween && until - next < leastPadded)
}
/** The end of a soft line break of quoted-printable; -1 if there is none. Tags that were removed may leave several line breaks. */
export function softBreak(text: string, at: number): number {
  let end = at + 1
  while (text[end] === ' ' || text[end] === '\t') end++
  const breaks = beyondBreaks(text, end, 1)
  return breaks > end && !isPadding(text, at, breaks) ? breaks : -1
}
const isUpperHex = (text: string, at: number): boolean => /[0-9A-F]/.test(text[at] ?? '')
export const quotedByte: ByteReader = (text, from) => {
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
export function isWrongLead(text: string, at: number): boolean {
  const [unit, next, after] = [text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2)]
  if (unit >= 0xe0) return !isOrdinary(next) && !isOrdinary(after)
  if (unit === 0xc3 || unit === 0xd0 || unit === 0xd1) return true
  return (unit <= 0xc5 || unit === 0xce || unit === 0xcf) && !isOrdinary(next)
}
/** Several characters in a row, each of them two or three letters of Latin-1 that no language has in this order. */
export const misread =
  /(?:[\u00c2-\u00df][\u0080-\u00bf\u0152-\u017e\u02c6\u02dc\u2013-\u203a\u20ac\u2122]|[\u00e0-\u00ef][\u0080-\u00bf\u0152-\u017e\u02c6\u02dc\u2013-\u203a\u20ac\u2122]{2}){4}/
export const wrongByte: ByteReader = (text, at) => {
  if (at >= text.length) return undefined
  const byte = latinByte(text.charCodeAt(at))
  return byte >= 0x80 ? { byte, end: at + 1 } : undefined
}

/** Whether a text is quoted-printable: `=AB` alone also occurs in addresses of pages. */
const codes =
  '=3D|=20|=09|=1B|=0D(?==0A|=?[ \\t]*\\r?\\n)|=[CD][0-9A-F]=[89AB]|=E[0-9A-F]=[89AB]|=F[0-4]=[89AB]|[A-Za-z]=[C-F][0-9A-F][a-z]'
const quotedCode = new RegExp(`${codes}|=[ \\t]*\\r?\\n[^]*=[ \\t]*\\r?\\n`)
export const quoted = new RegExp(`=[ \\t]*\\r?\\n|${codes}`)

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
const codePoints =
  /u\{([0-9a-fA-F]{1,6})\}|x\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(00[0-9a-fA-F]{4})(?:\r\n|[ \t\n])?/y

/** A unit of UTF-16 in C#: as one byte, its first two digits would be a control character that no text has. */
const unitOfSharp = /x(0[0-68bcefBCEF][0-9a-fA-F]{2}|1[0-9a-fA-F]{3})/y

/** Escapes that begin with a backslash: JSON, JavaScript, Python, C, YAML, CSS (with six digits) and shells. Returns the end of the sequence. */
export function backslash(layer: LayerBuilder, text: string, at: number, copied: () => void): number {
  const next = text[at + 1] ?? ''
  if (next === 'x' && bytea.test(text.slice(at + 2, at + 18))) {
    copied()
    layer.drop(at, at + 2)
    return at + 2
  }
  codePoints.lastIndex = at + 1
  const code = codePoints.exec(text)
  if (code) {
    const point = Number.parseInt(code[1] ?? code[2] ?? code[3] ?? code[4] ?? code[5] ?? '', 16)
    if (point > 0x10ffff) return at
    copied()
    layer.unit(at, codePoints.lastIndex, code[3] ? String.fromCharCode(point) : String.fromCodePoint(point))
    return codePoints.lastIndex
  }
  unitOfSharp.lastIndex = at + 1
  const unit = unitOfSharp.exec(text)?.[1]
  if (unit !== undefined) {
    copied()
    layer.unit(at, unitOfSharp.lastIndex, String.fromCharCode(Number.parseInt(unit, 16)))
    return unitOfSharp.lastIndex
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

export const reference = /&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});?/y
const references = new Map<string, string>()
export function decodedReference(found: string): string {
  const known = references.get(found)
  if (known !== undefined) return known
  const text = /^&#(?:0+|[xX]0+);?$/.test(found) ? '\0' : decode(found)
  if (references.size < 4_096) references.set(found, text)
  return text
}

/** The lines of quoted-printable are longer, except for those with an end of their own. */
export const maxOfLine = 60
const shortLine = `(?:^|\\n)(?=[^\\n]{1,${maxOfLine - 1}}$)`
/** The name of a field of a form, up to its equals sign. */
const name = '[\\w.-]{1,30}'
const before = `[?"',]|=(?![0-9A-F]{2})`
const field = new RegExp(`(?:^|[?&\\n;]|${shortLine}[^\\n]*(?:${before}))${name}$`)
const shortField = new RegExp(`${shortLine}(?:[^\\n]*(?:\\?|=(?![0-9A-F]{2}))|[^\\n=]*=[^\\n]*[&;])${name}$`)
const shortFieldOfForm = new RegExp(`${shortLine}(?:[^\\n]*(?:${before}|[&;]))?${name}$`)
/** A further field of a form: its equals sign begins neither a code nor a soft line break. */
const furtherField = new RegExp(`&${name}=(?![0-9A-F]{2}|[ \\t]*\\r?\\n)`)
export const fieldIn = (text: string): RegExp =>
  quotedCode.test(text) ? (furtherField.test(text) ? shortFieldOfForm : shortField) : field
/** Whether a soft line break is inside a character reference: `&n=` is also the name of a field. */
export const maxOfReference = 32
export function splitsReference(lead: string, rest: string): boolean {
  const first = /&#?\w{0,30}$/.exec(lead)?.[0]
  const last = first === undefined ? undefined : /^\w{0,30};/.exec(rest)?.[0]
  return last !== undefined && decodedReference(`${first}${last}`) !== `${first}${last}`
}

/** The offset beyond the line breaks at an offset, in one direction. */
export function beyondBreaks(text: string, at: number, step: 1 | -1): number {
  let to = at
  for (;;) {
    const unit = text.charCodeAt(step > 0 ? to : to - 1)
    if ((unit !== 10 && unit !== 13) || Math.abs(to - at) >= maxBreaks) return to
    to += step
  }
}
