import { headBytes, mayContainText, textOfBytes } from './bytes.ts'
import type { Encoder } from './layer.ts'

// Bytes as programs print them: lists of numbers, columns of a dump, lines of uuencode.

/** Bytes in a text from where they were sought up to `end`, and the text that they contain. */
export interface ListedBytes {
  end: number
  text: string
  encode: Encoder
}

/** Of a shorter list of numbers, nobody can tell whether they are bytes. */
const leastListed = 16
const isDigit = (unit: number): boolean => unit >= 48 && unit <= 57
const isHexDigit = (unit: number): boolean => isDigit(unit) || ((unit | 32) >= 97 && (unit | 32) <= 102)
const isBlank = (unit: number): boolean => unit <= 32
const hexOf = (byte: number): string => byte.toString(16).padStart(2, '0')

/** The text of bytes, and how they are written again. */
function listed(bytes: Uint8Array, end: number, write: (bytes: readonly number[]) => string) {
  if (bytes.length < leastListed) return undefined
  const found = textOfBytes(bytes)
  if (!found) return undefined
  const encode: Encoder = (rest, cuts) => write([...found.write(rest, cuts)])
  return { end, text: found.text, encode }
}

/** What a text is made of, and the scripts of its letters outside ASCII: at most two alphabets, or Chinese, Japanese and Korean. */
const isText = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}\t\r\n]+$/u
const letterOrSpace = /[\p{L}\p{M}\p{Zs}]/gu
const ideographs = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu
const [mostBlocks, sizeOfBlock, shareOfLetters] = [3, 256, 0.8]
/** The text of a list of code points or units of UTF-16; undefined if the numbers are something else. */
function textOfPoints(points: readonly number[]): string | undefined {
  if (points.length < leastListed || points.some((point) => point < 9)) return undefined
  const text = points
    .map((point) => (point > 0xffff ? String.fromCodePoint(point) : String.fromCharCode(point)))
    .join('')
  if (!isText.test(text) || (text.match(letterOrSpace)?.length ?? 0) < points.length * shareOfLetters) return undefined
  const blocks = new Set(
    [...text.replace(ideographs, '')].map((sign) => Math.floor((sign.codePointAt(0) ?? 0) / sizeOfBlock)),
  )
  return blocks.size > mostBlocks ? undefined : text
}

const byteOfList = /0[xX][0-9a-fA-F]{1,6}|-?\d{1,7}/y
/**
 * The text of a list of bytes that begins with a bracket, in one line or several: `[73, 32, 104]`, `{0x49, 0x20}`. Java and C write bytes
 * with a sign.
 */
export function textOfList(text: string, start: number, end: number): ListedBytes | undefined {
  const close = text.charCodeAt(start) === 123 ? 125 : 93
  let at = start + 1
  while (at < end && isBlank(text.charCodeAt(at))) at++
  const first = text.charCodeAt(at)
  if (!isDigit(first) && !(first === 45 && isDigit(text.charCodeAt(at + 1)))) return undefined
  const lead = text.slice(start, at)
  const bytes: number[] = []
  let [between, isSigned, isHex, isWide] = ['', false, false, false]
  for (;;) {
    byteOfList.lastIndex = at
    const found = byteOfList.exec(text)?.[0] ?? ''
    isHex ||= /^0[xX]/.test(found)
    const value = Number(found)
    if (found === '' || Number.isNaN(value) || value > 0x10ffff || value < -128) return undefined
    isSigned ||= value < 0
    isWide ||= value > 255
    bytes.push(value < 0 ? value & 255 : value)
    at += found.length
    const from = at
    while (at < end && (isBlank(text.charCodeAt(at)) || text.charCodeAt(at) === 44)) at++
    if (at >= end) return undefined
    if (text.charCodeAt(at) === close) {
      const tail = text.slice(from, at + 1)
      const write = (byte: number): string =>
        isHex ? `0x${hexOf(byte)}` : String(isSigned ? (byte << 24) >> 24 : byte)
      const whole = (rest: readonly number[]): string => `${lead}${rest.map(write).join(between)}${tail}`
      const asBytes = isWide ? undefined : listed(Uint8Array.from(bytes), at + 1, whole)
      if (asBytes || isSigned) return asBytes
      const points = textOfPoints(bytes)
      const encode: Encoder = (rest) => whole([...rest].map((sign) => sign.codePointAt(0) ?? 32))
      return points === undefined ? undefined : { end: at + 1, text: points, encode }
    }
    if (at === from) return undefined
    if (bytes.length === 1) between = text.slice(from, at)
  }
}

const entryOfRecord = /\s*"(\d{1,9})"(\s*:\s*)(\d{1,3})(\s*)([,}])/y
/** The text of bytes in a record with their offsets as keys, as JSON writes an array of bytes: `{"0":73,"1":32}`. */
export function textOfRecord(text: string, start: number, end: number): ListedBytes | undefined {
  const bytes: number[] = []
  let [lead, colon, at] = ['', ':', start + 1]
  for (;;) {
    entryOfRecord.lastIndex = at
    const found = entryOfRecord.exec(text)
    if (!found || entryOfRecord.lastIndex > end || Number(found[1]) !== bytes.length || Number(found[3]) > 255)
      return undefined
    if (bytes.length === 0) {
      colon = found[2] ?? ':'
      lead = /^\s*/.exec(found[0])?.[0] ?? ''
    }
    bytes.push(Number(found[3]))
    at = entryOfRecord.lastIndex
    if (found[5] !== '}') continue
    const tail = `${found[4]}}`
    return listed(
      Uint8Array.from(bytes),
      at,
      (rest) => `{${rest.map((byte, n) => `${lead}"${n}"${colon}${byte}`).join(',')}${rest.length > 0 ? tail : '}'}`,
    )
  }
}

/** One byte in hexadecimal digits, and what is before the next one. */
const hexByte = /(?:0[xX])?([0-9a-fA-F]{2})(?![0-9a-zA-Z])/y
const betweenBytes = /[ \t]{1,3}|,[ \t]{0,3}|:|-|[ \t,:]{0,3}\r?\n[ \t]{0,16}/y
/** Whether hexadecimal bytes that are separated from each other may begin at an offset, with a few bytes. */
export function mayBeSeparated(text: string, start: number): boolean {
  let at = start
  for (let count = 0; count < 4; count++) {
    hexByte.lastIndex = at
    if (!hexByte.test(text)) return false
    betweenBytes.lastIndex = hexByte.lastIndex
    if (!betweenBytes.test(text)) return false
    at = betweenBytes.lastIndex
  }
  return true
}
/** The end of hexadecimal bytes with separators between them, which {@link mayBeSeparated} has found, in a part up to `end`. */
export function endOfSeparated(text: string, start: number, end: number): number {
  for (let at = start; ; at = betweenBytes.lastIndex) {
    hexByte.lastIndex = at
    if (at >= end || !hexByte.test(text)) return at
    betweenBytes.lastIndex = hexByte.lastIndex
    if (!betweenBytes.test(text)) return hexByte.lastIndex
  }
}
/** The text of bytes in pairs of hexadecimal digits with a separator between them: `49 20 68`, `49:20:68`, `0x49, 0x20`. */
export function textOfSeparated(text: string, start: number, end: number): ListedBytes | undefined {
  if (!mayBeSeparated(text, start)) return undefined
  const bytes: number[] = []
  let [at, last, between] = [start, start, ' ']
  while (at < end) {
    hexByte.lastIndex = at
    const byte = hexByte.exec(text)?.[1]
    if (byte === undefined || hexByte.lastIndex > end) break
    bytes.push(Number.parseInt(byte, 16))
    last = hexByte.lastIndex
    betweenBytes.lastIndex = last
    const found = betweenBytes.exec(text)?.[0]
    if (found === undefined) break
    if (bytes.length === 1) between = found
    at = betweenBytes.lastIndex
  }
  const prefix = /^0[xX]/.exec(text.slice(start, start + 2))?.[0] ?? ''
  const isLarge = /[A-F]/.test(text.slice(start, last))
  return listed(Uint8Array.from(bytes), last, (rest) =>
    rest.map((byte) => `${prefix}${isLarge ? hexOf(byte).toUpperCase() : hexOf(byte)}`).join(between),
  )
}

/** What a line of a dump begins with: an offset, and the first byte. */
const lineOfDump = /([0-9a-fA-F]{6,16})(:?[ \t]{1,3})(?=[0-9a-fA-F]{2})/y
const groupOfDump = /((?:[0-9a-fA-F]{2}){1,8})(?:( {1,3})|(?=\r?\n|$))/y
const mostInLine = 32
/** All lines of a dump have this number of bytes, unless its format has another one. */
const usualWidth = 16

interface LineOfDump {
  start: number
  offset: number
  /** The characters of the offset, and what is after it. */
  digits: number
  separator: string
  bytes: number[]
  /** The bytes in the first group. */
  group: number
  /** Whether there is a wider gap in the middle. */
  hasGap: boolean
  column: string | undefined
  /** The end of the bytes, and of the line. */
  bytesEnd: number
  end: number
}
function lineAt(text: string, start: number, end: number, width: number): LineOfDump | undefined {
  lineOfDump.lastIndex = start
  const head = lineOfDump.exec(text)
  if (!head) return undefined
  const [whole, digits = '', separator = ''] = head
  const bytes: number[] = []
  let [at, group, hasGap] = [start + whole.length, 0, false]
  let column: string | undefined
  while (at < end && bytes.length < width) {
    groupOfDump.lastIndex = at
    const found = groupOfDump.exec(text)
    if (!found) break
    const pairs = found[1]?.match(/../g) ?? []
    group ||= pairs.length
    if (pairs.length > group || bytes.length + pairs.length > width) break
    for (const pair of pairs) bytes.push(Number.parseInt(pair, 16))
    at = groupOfDump.lastIndex
    const gap = found[2]?.length ?? 0
    if (gap < 2) continue
    // After the last byte, the same bytes follow as characters.
    groupOfDump.lastIndex = at
    const isMiddle = group === 1 && bytes.length === width / 2 && groupOfDump.exec(text)?.[1]?.length === 2
    if (!isMiddle) break
    hasGap = true
  }
  if (bytes.length === 0) return undefined
  const next = text.indexOf('\n', at)
  const to = next < 0 || next > end ? end : next
  const bytesEnd = at
  const rest = text.slice(at, to).replace(/\r$/, '').trimStart()
  // The columns of another table are no characters of these bytes.
  if (rest !== '') {
    const shown = /^\|(.*)\|$/s.exec(rest)?.[1] ?? rest
    if (Math.abs(shown.length - bytes.length) > (shown === rest ? 1 : 0) && shown.trim().length !== bytes.length)
      return undefined
    column = shown === rest ? '' : '|'
  }
  return {
    start,
    offset: Number.parseInt(digits, 16),
    digits: digits.length,
    separator,
    bytes,
    group,
    hasGap,
    column,
    bytesEnd,
    end: to,
  }
}

const shownByte = (byte: number): string => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.')
/** How a dump is written. Its offsets and its bytes may have letters of different cases. */
interface StyleOfDump extends LineOfDump {
  width: number
  isSwapped: boolean
  hasSize: boolean
  inCaseOfOffsets: (digits: string) => string
  inCaseOfBytes: (digits: string) => string
}
const upperCase = (digits: string): string => digits.toUpperCase()
const sameCase = (digits: string): string => digits
/** What writes hexadecimal digits in the case of others; undefined if these have no letters. */
function caseOf(lines: readonly LineOfDump[], digitsOf: (line: LineOfDump) => string) {
  for (const line of lines) {
    const letter = /[a-fA-F]/.exec(digitsOf(line))?.[0]
    if (letter !== undefined) return letter < 'a' ? upperCase : sameCase
  }
  return undefined
}
/** Bytes as a dump of the same columns. */
function dumpOf(bytes: readonly number[], style: StyleOfDump): string {
  const { width, isSwapped, inCaseOfOffsets, inCaseOfBytes } = style
  const lines: string[] = []
  const address = (offset: number): string =>
    inCaseOfOffsets((style.offset + offset).toString(16).padStart(style.digits, '0'))
  for (let offset = 0; offset < bytes.length; offset += width) {
    const own = bytes.slice(offset, offset + width)
    const groups: string[] = []
    for (let at = 0; at < own.length; at += style.group) {
      const pairs = own.slice(at, at + style.group).map(hexOf)
      // A word has two bytes, also the last one.
      if (isSwapped && pairs.length === 1) pairs.push('00')
      groups.push(inCaseOfBytes((isSwapped ? pairs.reverse() : pairs).join('')))
    }
    const half = width / 2
    const columns = style.hasGap
      ? [groups.slice(0, half).join(' '), groups.slice(half).join(' ')].join('  ').trimEnd()
      : groups.join(' ')
    const full = Math.ceil(width / style.group) * (style.group * 2 + 1) + (style.hasGap ? 1 : 0)
    const shown = own.map(shownByte).join('')
    const line = `${address(offset)}${style.separator}${columns}`
    if (style.column === undefined) lines.push(line)
    else
      lines.push(
        `${line.padEnd(style.digits + style.separator.length + full + 1)}${style.column}${shown}${style.column}`,
      )
  }
  if (style.hasSize) lines.push(address(bytes.length))
  return lines.join('\n')
}

/** What was read from an offset on: the text of bytes, or only lines up to `end` that contain none. */
type Examined = (ListedBytes & { start: number }) | { end: number; text?: undefined }

/** Beginnings of a text in a dump that are read to its end in vain. */
const mostVain = 64
const sizeOfDump = /^[0-9a-fA-F]{6,16}(?=\r?\n|$)/
/**
 * The text of the bytes in a hexadecimal dump with offsets, as `xxd` and `hexdump` write it. Without characters beside them, words of two
 * bytes are swapped. The text may begin in any line; all lines are read once.
 */
function textOfDump(text: string, start: number, end: number): Examined {
  const first = lineAt(text, start, end, usualWidth) ?? lineAt(text, start, end, mostInLine)
  if (!first) return { end: start }
  const width = first.bytes.length
  const isSwapped = first.column === undefined && first.group === 2
  const lines: LineOfDump[] = []
  const read: number[] = []
  let line: LineOfDump | undefined = first
  while (line && line.offset === first.offset + read.length) {
    lines.push(line)
    for (let n = 0; n < line.bytes.length; n += first.group) {
      const own = line.bytes.slice(n, n + first.group)
      read.push(...(isSwapped ? own.reverse() : own))
    }
    if (line.bytes.length < width || line.end + 1 >= end) break
    line = lineAt(text, line.end + 1, end, width)
  }
  const last = lines.at(-1) ?? first
  if (isSwapped && read.at(-1) === 0) read.pop()
  // The last line contains only how many bytes there are.
  const at = last.end + 1
  const size = sizeOfDump.exec(text.slice(at, Math.min(end, at + 20)))?.[0]
  const hasSize = size !== undefined && Number.parseInt(size, 16) === first.offset + read.length
  const bytes = Uint8Array.from(read)
  let vain = 0
  for (const [n, { start: from, offset }] of lines.entries()) {
    const own = bytes.subarray(n * width)
    if (first.column === undefined && (!hasSize || offset !== 0) && own.length <= width) break
    if (own.length > headBytes && (vain === mostVain || !mayContainText(own.subarray(0, headBytes)))) continue
    const inCaseOfBytes = caseOf(lines, (one) =>
      text.slice(one.start + one.digits + one.separator.length, one.bytesEnd),
    )
    const inCaseOfOffsets = caseOf(lines, (one) => text.slice(one.start, one.start + one.digits))
    const style: StyleOfDump = {
      ...first,
      offset,
      width,
      isSwapped,
      hasSize,
      inCaseOfBytes: inCaseOfBytes ?? sameCase,
      inCaseOfOffsets: inCaseOfOffsets ?? inCaseOfBytes ?? sameCase,
    }
    const found = listed(own, hasSize ? at + size.length : last.end, (rest) => dumpOf(rest, style))
    if (found) return { ...found, start: from }
    if (own.length > headBytes) vain++
  }
  // A shorter line may also be the first one of another dump.
  return { end: lines.length > 1 && last.bytes.length < width ? last.start - 1 : last.end }
}

const beginOfUuencode = /begin [0-7]{3,4} [^\r\n]{1,200}(\r?\n)/y
/** The value of a character in uuencode; -1 for others. */
const valueOfUuencode = (unit: number): number => (unit === 96 ? 0 : unit >= 32 && unit < 96 ? unit - 32 : -1)
function lineOfUuencode(bytes: readonly number[]): string {
  let line = String.fromCharCode(32 + bytes.length)
  for (let at = 0; at < bytes.length; at += 3) {
    const [one = 0, two = 0, three = 0] = bytes.slice(at, at + 3)
    for (const value of [one >> 2, ((one & 3) << 4) | (two >> 4), ((two & 15) << 2) | (three >> 6), three & 63])
      line += value === 0 ? '`' : String.fromCharCode(32 + value)
  }
  return line
}
const bytesInLine = 45
/** The text of a file in uuencode, from its first line to `end`. No other file begins in its lines. */
function textOfUuencode(text: string, start: number, end: number): Examined {
  beginOfUuencode.lastIndex = start
  const begin = beginOfUuencode.exec(text)
  if (!begin) return { end: start }
  const bytes: number[] = []
  for (let at = beginOfUuencode.lastIndex; at < end; ) {
    const next = text.indexOf('\n', at)
    const to = next < 0 || next > end ? end : next
    const line = text.slice(at, to).replace(/\r$/, '')
    const before = { end: at - 1 }
    at = to + 1
    const length = valueOfUuencode(line.charCodeAt(0))
    if (line === '' || length === 0) {
      const last = /^end(?=\r?\n|$)/.exec(text.slice(at, at + 5))
      if (!last || at + 3 > end) return before
      const found = listed(Uint8Array.from(bytes), at + 3, (rest) => {
        const lines: string[] = []
        for (let from = 0; from < rest.length; from += bytesInLine)
          lines.push(lineOfUuencode(rest.slice(from, from + bytesInLine)))
        return `${begin[0]}${[...lines, '`', 'end'].join(begin[1])}`
      })
      return found ? { ...found, start } : { end: at + 3 }
    }
    // Programs leave out spaces at the end of a line.
    if (length < 0 || length > bytesInLine || line.length > Math.ceil(length / 3) * 4 + 2) return before
    const units = line.slice(1).padEnd(Math.ceil(length / 3) * 4)
    const count = bytes.length
    for (let from = 0; bytes.length < count + length; from += 4) {
      const [one = -1, two = -1, three = -1, four = -1] = [0, 1, 2, 3].map((n) =>
        valueOfUuencode(units.charCodeAt(from + n)),
      )
      if (one < 0 || two < 0 || three < 0 || four < 0) return before
      bytes.push((one << 2) | (two >> 4), ((two & 15) << 4) | (three >> 2), ((three & 3) << 6) | four)
    }
    bytes.length = count + length
  }
  return { end }
}

const mayBeDump = /(?:^|\n)(?:[0-9a-fA-F]{6,16}:?[ \t]{1,3}[0-9a-fA-F]{2}|begin [0-7]{3,4} )/
/** Whether letters and digits are the offset of the first line of a dump, or the first word of uuencode. */
export function isOffsetOfDump(text: string, start: number, end: number): boolean {
  if (!isHexDigit(text.charCodeAt(start)) || (start > 0 && text.charCodeAt(start - 1) !== 10)) return false
  lineOfDump.lastIndex = start
  const head = lineOfDump.exec(text)
  return head?.[1]?.length === end - start
}
/** Whether a text may contain a dump or uuencode. */
export const hasDump = (text: string, start: number, end: number): boolean => mayBeDump.test(text.slice(start, end))

/** The dumps and files in uuencode of a part of a text: each fills its lines. */
export function dumpsIn(text: string, start: number, end: number): (ListedBytes & { start: number })[] {
  const found: (ListedBytes & { start: number })[] = []
  for (let at = start; at < end; ) {
    const unit = text.charCodeAt(at)
    const isFile = unit === 98 && text.startsWith('begin ', at)
    const one = isFile ? textOfUuencode(text, at, end) : isHexDigit(unit) ? textOfDump(text, at, end) : { end: at }
    if (one.text !== undefined) found.push(one)
    const next = text.indexOf('\n', one.end)
    at = next < 0 ? end : next + 1
  }
  return found
}
