import { headBytes, mayContainText, textOfBytes } from './bytes.ts'
import type { Encoder, Span } from './layer.ts'
import { mayBePacked, unpacked } from './packed.ts'

/** Shorter runs of Base64 characters are words. */
export const leastBase64 = 16
/** With padding at the end, a shorter run is Base64 too. */
export const leastPadded = 8

const values = new Int8Array(128).fill(-1)
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
for (let at = 0; at < 64; at++) values[alphabet.charCodeAt(at)] = at
values[45] = 62
values[95] = 63
export const isBase64Unit = (unit: number): boolean => unit < 128 && (values[unit] ?? -1) >= 0

/** Decodes the Base64 characters of a range, whose line breaks are ignored. */
function bytesOf(text: string, start: number, end: number): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(((end - start) * 3) / 4))
  let [length, bits, count] = [0, 0, 0]
  for (let at = start; at < end; at++) {
    const value = values[text.charCodeAt(at)] ?? -1
    if (value < 0) continue
    bits = ((bits << 6) | value) & 0xffffff
    count += 6
    if (count >= 8) {
      count -= 8
      bytes[length++] = (bits >>> count) & 255
    }
  }
  return bytes.subarray(0, length)
}

/** Encoded text has capitals, small letters and digits in any order. A word has a capital only at its beginning. */
function looksMixed(text: string, start: number, end: number): boolean {
  let [small, large, digits] = [0, 0, 0]
  const until = Math.min(end, start + 64)
  for (let at = start; at < until; at++) {
    const unit = text.charCodeAt(at)
    if (unit >= 97 && unit <= 122) small++
    else if (unit >= 65 && unit <= 90) large += at === start ? 0 : 1
    else if (unit >= 48 && unit <= 57) digits++
  }
  return (small > 0 && large > 0) || digits > 0
}
/** Whether a part of the characters may look mixed. A name of letters of one case is no encoding. */
export function isMixed(text: string, start: number, end: number): boolean {
  let [hasSmall, hasLarge] = [false, false]
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (unit >= 48 && unit <= 57) return true
    if (unit >= 97 && unit <= 122) hasSmall = true
    else if (unit >= 65 && unit <= 90) hasLarge = true
    if (hasSmall && hasLarge) return true
  }
  return false
}
const isHexadecimal = /^(?:[0-9a-f]{2}){8,}$|^(?:[0-9A-F]{2}){8,}$/

export interface CodedSegment {
  start: number
  end: number
  text: string
  encode: Encoder
}
function base64Of(bytes: Uint8Array, { isUrl, isPadded }: { isUrl: boolean; isPadded: boolean }): string {
  let binaryText = ''
  for (let at = 0; at < bytes.length; at += 4_096)
    binaryText += String.fromCharCode(...bytes.subarray(at, Math.min(bytes.length, at + 4_096)))
  let text = btoa(binaryText)
  if (isUrl) text = text.replaceAll('+', '-').replaceAll('/', '_')
  return isPadded ? text : text.replace(/={1,2}$/, '')
}

interface Coding {
  decode: (text: string, start: number, end: number) => CodedSegment | undefined
  /** The bytes of the first signs, without line breaks. Undefined if these are other signs. */
  bytesOfHead: (signs: string) => Uint8Array | undefined
  mayBegin: (bytes: Uint8Array) => boolean
}

const lineBreak = /[\r\n]{1,8}/
/** Writes an encoding in lines, if it was written so. */
function inLines(encoded: string, former: string): string {
  const breaks = lineBreak.exec(former)
  if (!breaks || breaks.index === 0) return encoded
  const width = breaks.index
  let lines = encoded.slice(0, width)
  for (let at = width; at < encoded.length; at += width) lines += breaks[0] + encoded.slice(at, at + width)
  return lines
}
const withoutBreaks = (text: string): string => (lineBreak.test(text) ? text.replace(/[\r\n]+/g, '') : text)
const prefix = /^0[xX]/
/** What a program writes before a number in hexadecimal digits. */
const isPrefixed = (text: string, start: number): boolean => prefix.test(text.slice(start, start + 2))
const beginsHexadecimal = /^(?:[0-9a-f]+|[0-9A-F]+)$/
const hexBytes = (signs: string): Uint8Array | undefined =>
  beginsHexadecimal.test(signs) ? Buffer.from(signs, 'hex') : undefined
const hexadecimal: Coding['decode'] = (text, start, end) => {
  const from = isPrefixed(text, start) ? start + 2 : start
  const body = text.slice(from, end)
  const signs = withoutBreaks(body)
  if (!isHexadecimal.test(signs)) return undefined
  const plain = textOfBytes(Buffer.from(signs, 'hex'))
  if (!plain) return undefined
  const isLarge = /[A-F]/.test(signs)
  const encode: Encoder = (rest, cuts) => {
    const written = Buffer.from(plain.write(rest, cuts)).toString('hex')
    return inLines(isLarge ? written.toUpperCase() : written, body)
  }
  return { start: from, end, text: plain.text, encode }
}
const base64: Coding['decode'] = (text, start, end) => {
  if ((end - start) % 4 === 1 && !text.slice(start, end).includes('\n')) return undefined
  let padded = end
  while (padded < text.length && padded < end + 2 && text[padded] === '=') padded++
  const bytes = bytesOf(text, start, end)
  const packed = unpacked(bytes)
  const plain = textOfBytes(packed?.bytes ?? bytes)
  if (!plain || plain.text === '') return undefined
  const body = text.slice(start, end)
  const how = { isUrl: /[-_]/.test(body), isPadded: padded > end || body.replace(/\s/g, '').length % 4 === 0 }
  return {
    start,
    end: padded,
    text: plain.text,
    encode(rest, cuts) {
      const plainBytes = plain.write(rest, cuts)
      return inLines(base64Of(packed ? packed.pack(plainBytes) : plainBytes, how), body)
    },
  }
}
const signsOfBase32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
/** A shorter run in Base32 has less than 15 bytes. */
const isBase32 = /^(?:[A-Z2-7]{24,}|[a-z2-7]{24,})$/
/** Base32 has up to six signs of padding. */
const paddingOfBase32 = /={0,6}/y
function base32Of(bytes: Uint8Array, isPadded: boolean): string {
  let [encoded, bits, count] = ['', 0, 0]
  for (const byte of bytes) {
    bits = ((bits << 8) | byte) & 0xfff
    for (count += 8; count >= 5; count -= 5) encoded += signsOfBase32[(bits >>> (count - 5)) & 31]
  }
  if (count > 0) encoded += signsOfBase32[(bits << (5 - count)) & 31]
  return isPadded ? encoded.padEnd(Math.ceil(encoded.length / 8) * 8, '=') : encoded
}
function base32Bytes(body: string): Uint8Array | undefined {
  if (!isBase32.test(body)) return undefined
  const bytes = new Uint8Array(Math.floor((body.length * 5) / 8))
  let [length, bits, count] = [0, 0, 0]
  for (const sign of body.toUpperCase()) {
    bits = ((bits << 5) | signsOfBase32.indexOf(sign)) & 0xfff
    count += 5
    if (count < 8) continue
    count -= 8
    bytes[length++] = (bits >>> count) & 255
  }
  return bytes
}
const base32: Coding['decode'] = (text, start, end) => {
  const written = text.slice(start, end)
  const body = withoutBreaks(written)
  const bytes = base32Bytes(body)
  const plain = bytes && textOfBytes(bytes)
  if (!plain || plain.text === '') return undefined
  paddingOfBase32.lastIndex = end
  const padded = end + (paddingOfBase32.exec(text)?.[0].length ?? 0)
  const isPadded = padded > end || body.length % 8 === 0
  const isSmall = /[a-z]/.test(body)
  const encode: Encoder = (rest, cuts) => {
    const encoded = base32Of(plain.write(rest, cuts), isPadded)
    return inLines(isSmall ? encoded.toLowerCase() : encoded, written)
  }
  return { start, end: padded, text: plain.text, encode }
}
/** What a run of letters and digits may be, in this order. */
export const codings = new Map<string, Coding>([
  [
    'hexadecimal',
    { decode: hexadecimal, bytesOfHead: (signs) => hexBytes(signs.replace(prefix, '')), mayBegin: mayContainText },
  ],
  [
    'Base64',
    {
      decode: base64,
      bytesOfHead: (signs) => bytesOf(signs, 0, signs.length),
      mayBegin: (bytes) => mayContainText(bytes) || mayBePacked(bytes),
    },
  ],
  ['Base32', { decode: base32, bytesOfHead: base32Bytes, mayBegin: mayContainText }],
])
/** Signs at the beginning of a longer run, with their line breaks, that contain {@link headBytes}. */
const headSigns = 1_024
/** No Base64 and no Base32 has these lengths. */
const isNoLength = (length: number): boolean => length % 4 === 1 && length % 8 !== 5
/** Looks at the beginning first: reading all lines from each of them on would take quadratic time. */
function decoded(text: string, start: number, end: number, lines: LinesOfWidth): CodedSegment | undefined {
  if (isNoLength(end - start) && !text.slice(start, end).includes('\n')) return undefined
  if (!looksMixed(text, start, end)) return undefined
  const isLong = end - start > headSigns
  const head = isLong ? withoutBreaks(text.slice(start, start + headSigns)) : ''
  for (const { decode, bytesOfHead, mayBegin } of codings.values()) {
    if (isLong) {
      const bytes = bytesOfHead(head)
      if (!bytes || (bytes.length >= headBytes && !mayBegin(bytes.subarray(0, headBytes)))) continue
    }
    const found = decode(text, start, end)
    if (found) return found
    if (isLong) lines.vain++
  }
  return undefined
}

/** Line breaks between two lines of Base64 at most: tags that were removed may leave several. */
export const maxBreaks = 8

/** A shorter line than those of Base64 that is not a word. */
const shortLine = /^(?=\D*\d)(?:[A-Z2-7]{32,}|[a-z2-7]{32,}|[0-9a-f]{32,}|[0-9A-F]{32,})$/
/** Lines of one width up to `end`, and how often they were read to their end in vain. */
export interface LinesOfWidth {
  width: number
  end: number
  vain: number
  /** The same for lines with prefixes. */
  partsEnd: number
  partsVain: number
}
export const noLines: LinesOfWidth = { width: 0, end: 0, vain: 0, partsEnd: 0, partsVain: 0 }
/** Beginnings of a text in lines that are read to the end of the lines in vain: afterwards, each line is read by itself. */
const mostVain = 64
const mayBeLine = (text: string, start: number, end: number): boolean => {
  const width = end - start
  return width % 4 === 0 && width >= 32 && (width >= 60 || shortLine.test(text.slice(start, end)))
}
/** The same end as {@link endOfLines}, which is sought once for all lines. */
function endInLines(text: string, start: number, end: number, max: number, lines: LinesOfWidth): number {
  if (!mayBeLine(text, start, end)) return end
  if (end > lines.end || end - start !== lines.width) {
    lines.width = end - start
    lines.end = endOfLines(text, start, end, max)
    lines.vain = 0
  }
  return lines.vain < mostVain ? lines.end : end
}
/** The end of an encoding with line breaks, up to `max`: every line but the last is as long as the first. */
export function endOfLines(text: string, start: number, end: number, max: number): number {
  const width = end - start
  if (!mayBeLine(text, start, end)) return end
  let until = end
  for (;;) {
    let from = until
    while (from < until + maxBreaks && (text[from] === '\r' || text[from] === '\n')) from++
    if (from === until) return until
    let to = from
    while (to < max && to - from <= width && isBase64Unit(text.charCodeAt(to))) to++
    if (to === from || to - from > width) return until
    until = to
    if (to - from < width) return until
  }
}

/** The end of the full lines: a word in the last line may follow the Base64. */
function endOfFullLines(text: string, start: number, end: number, until: number): number {
  let from = until
  while (from > end && isBase64Unit(text.charCodeAt(from - 1))) from--
  let to = from
  while (to > end && (text[to - 1] === '\r' || text[to - 1] === '\n')) to--
  return until - from < end - start ? to : until
}

/** Signs of quotations, comments and lists before a line, and those of strings around it. */
const beforeLine = /[ \t]{0,16}(?:[>#*|;%!"'`]{1,4}[ \t]{0,8}|\/\/ ?|-- ?){0,4}/y
const afterLine = /["'`]?[ \t]{0,4}[+.,&|\\]?[ \t]{0,4}(?=\r?(?:\n|$))/y
const lineEnd = /\r?\n/y
/** Lines narrower than those of emails may be separate values: there must be as many of the same width. */
const [leastWidth, usualWidth, leastNarrow] = [16, 60, 2]
/** Beginnings of an encoding in lines with prefixes that are tried in vain. */
const mostPartsInVain = 8
const endOfRun = (text: string, start: number, max: number): number => {
  let end = start
  while (end < max && isBase64Unit(text.charCodeAt(end))) end++
  return end
}
const asDigits = (prefix: string): string => prefix.replace(/\d+/g, '0')

/**
 * The lines of an encoding that begins in a line with other signs before it: the following ones have the same, apart from numbers, or only
 * signs of quotations, comments and strings.
 */
function partsOf(text: string, start: number, end: number, max: number): Span[] {
  const width = end - start
  if (width < leastWidth || width % 4 !== 0) return []
  const lineStart = text.lastIndexOf('\n', start - 1) + 1
  const prefix = text.slice(Math.max(lineStart, start - 120), start)
  const plainPrefix = asDigits(prefix)
  const parts: Span[] = [{ start, end }]
  for (let at = end; ; ) {
    afterLine.lastIndex = at
    if (!afterLine.test(text)) break
    lineEnd.lastIndex = afterLine.lastIndex
    if (!lineEnd.test(text) || lineEnd.lastIndex >= max) break
    const line = lineEnd.lastIndex
    // Numbers before the line may have more digits than in the first one.
    let from = line + prefix.length
    if (prefix === '' || asDigits(text.slice(line, from)) !== plainPrefix) {
      beforeLine.lastIndex = line
      beforeLine.test(text)
      from = Math.max(line, beforeLine.lastIndex)
    }
    const to = endOfRun(text, from, Math.min(max, from + width + 3))
    // A patch has a sign before each line that also belongs to Base64.
    if (to - from > width && (text[from] === '+' || text[from] === '-' || text[from] === ' ')) from++
    const length = to - from
    if (length <= 0 || length > width) break
    afterLine.lastIndex = to
    if (length < width && text[to] !== '=' && !afterLine.test(text)) break
    parts.push({ start: from, end: to })
    if (length < width) break
    at = to
  }
  const full = parts.filter((part) => part.end - part.start === width).length
  return parts.length > 1 && (width >= usualWidth || full > leastNarrow) ? parts : []
}
/** An encoding in lines with signs between them. */
function decodedParts(text: string, parts: readonly Span[], least: number): CodedSegment | undefined {
  const body = parts.map((part) => text.slice(part.start, part.end)).join('')
  const end = parts.at(-1)?.end ?? 0
  const padding = /^={0,6}/.exec(text.slice(end, end + 6))?.[0] ?? ''
  const found = decoded(body + padding, 0, body.length, { ...noLines })
  if (found?.start !== 0) return undefined
  const [first] = parts
  const width = (first?.end ?? 0) - (first?.start ?? 0)
  const between = parts.slice(1).map((part, at) => text.slice(parts[at]?.end, part.start))
  const start = first?.start ?? 0
  // The signs before the first line remain with it.
  const lead = /^(?:[\s\S]*\n)?([>#*|;%+\-/ \t]{0,16})$/.exec(text.slice(Math.max(least, start - 20), start))?.[1] ?? ''
  const encode: Encoder = (rest, cuts) => {
    const encoded = found.encode(rest, cuts)
    let lines = lead + encoded.slice(0, width)
    for (let at = width, n = 0; at < encoded.length; at += width, n++)
      lines += (between[n] ?? between.at(-1) ?? '') + encoded.slice(at, at + width)
    return lines
  }
  return { start: start - lead.length, end: end + found.end - body.length, text: found.text, encode }
}
/** The same in a part of a text up to `max`. Without the last line, if that is a word. */
function segmentInParts(
  text: string,
  { start, end }: Span,
  { start: least, end: max }: Span,
  lines: LinesOfWidth,
): CodedSegment | undefined {
  if (start < lines.partsEnd && lines.partsVain >= mostPartsInVain) return undefined
  const from =
    '+-'.includes(text[start] ?? ' ') && (end - start) % 4 === 1 && (start === 0 || text[start - 1] === '\n')
      ? start + 1
      : start
  const parts = partsOf(text, from, end, max)
  if (parts.length === 0) return undefined
  const found =
    decodedParts(text, parts, least) ?? (parts.length > 2 ? decodedParts(text, parts.slice(0, -1), least) : undefined)
  if (found) return found
  const to = parts.at(-1)?.end ?? end
  if (to > lines.partsEnd) {
    lines.partsEnd = to
    lines.partsVain = 0
  }
  lines.partsVain++
  return undefined
}

const isSeparator = /^[-_+/]/
/** The encoded texts in a run of Base64 characters, with lines up to the end of `part`, and the end of what was examined. */
export function segmentsIn(
  text: string,
  start: number,
  end: number,
  { start: least, end: max }: Span,
  lines: LinesOfWidth,
): { segments: CodedSegment[]; end: number } {
  const until = endInLines(text, start, end, max, lines)
  // What begins the next line may look like its end.
  const inParts =
    until - end < end - start ? segmentInParts(text, { start, end }, { start: least, end: max }, lines) : undefined
  if (inParts) return { segments: [inParts], end: inParts.end }
  const whole =
    decoded(text, start, until, lines) ??
    (until > end
      ? (decoded(text, start, endOfFullLines(text, start, end, until), lines) ?? decoded(text, start, end, lines))
      : undefined)
  // Before it may be the plus sign of a form, or the end of a path.
  const found = whole ?? (isSeparator.test(text[start] ?? '') ? decoded(text, start + 1, until, lines) : undefined)
  if (found) return { segments: [found], end: found.end }
  const segments: CodedSegment[] = []
  // In a path or a name, these characters may also be separators.
  for (const separators of ['/', '-_', '/-_+']) {
    let from = start
    for (let at = start; at <= end; at++) {
      if (at < end && !separators.includes(text[at] ?? '')) continue
      if (at - from >= leastBase64 && at - from < end - start) {
        const one = decoded(text, from, at, lines)
        if (one) segments.push(one)
      }
      from = at + 1
    }
    if (segments.length > 0) break
  }
  return { segments, end: segments.at(-1)?.end ?? end }
}

/** An encoded word of an email header: `=?utf-8?B?SXJpcw==?=`. */
export function encodedWord(charset: string, encoding: string, body: string): string | undefined {
  const bytes =
    encoding.toUpperCase() === 'B'
      ? bytesOf(body, 0, body.length)
      : Uint8Array.from(
          body
            .replaceAll('_', ' ')
            .replace(/=([0-9A-Fa-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
          (sign) => sign.charCodeAt(0),
        )
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return undefined
  }
}
export const wordOfHeader = (text: string): string =>
  `=?utf-8?B?${base64Of(new TextEncoder().encode(text), { isUrl: false, isPadded: true })}?=`
