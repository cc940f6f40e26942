import { isUtf8 } from 'node:buffer'
import type { Span } from './layer.ts'

// The texts that bytes contain: UTF-8, UTF-16, or the texts of a binary format.

/** A text of bytes. `write` returns the bytes of what remains of it; `cuts` are the replaced ranges of the text. */
interface TextOfBytes {
  readonly text: string
  write(rest: string, cuts: readonly Span[]): Uint8Array
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
/** Control characters do not occur in texts. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const binary = /[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]/
/** What no text contains: control characters, halves of characters, and characters that do not exist. */
const notText = /[\p{Cc}\p{Cs}\p{Cn}\p{Co}](?<![\t\n\r])/u

function narrowText(bytes: Uint8Array): string | undefined {
  // A decoder that throws costs a hundred times more on bytes that are no text.
  if (!isUtf8(bytes)) return undefined
  const text = utf8.decode(bytes)
  return binary.test(text) ? undefined : text
}

type Order = 'little' | 'big'
const leastWide = 8
/** Pairs of bytes that are examined. */
const examinedPairs = 32
/** Different higher bytes in a text of one script, with its spaces. */
const mostHighBytes = 3
/** Whether the higher bytes of the pairs, from an offset on, are those of one script. */
function isOfOneScript(bytes: Uint8Array, from: 0 | 1): boolean {
  const found = new Set<number>()
  let isSpaced = false
  for (let at = 0; at + 1 < Math.min(bytes.length, examinedPairs * 2); at += 2) {
    const high = bytes[at + from] ?? 0
    found.add(high)
    isSpaced ||= high === 0 && bytes[at + 1 - from] === 32
    if (found.size > mostHighBytes) return false
  }
  return found.has(0) && (found.size === 1 || isSpaced)
}
/** Pairs of bytes at the beginning of a text in the Latin alphabet, whatever follows them. */
const leastLatin = 8
function isLatin(bytes: Uint8Array): boolean {
  if (bytes.length < leastWide || bytes.length % 2 === 1) return false
  for (let at = 1; at < Math.min(bytes.length, leastLatin * 2); at += 2) if (bytes[at] !== 0) return false
  return true
}
function orderOf(bytes: Uint8Array): Order | undefined {
  if (bytes.length < leastWide || bytes.length % 2 === 1) return undefined
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'little'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'big'
  if (isOfOneScript(bytes, 1)) return 'little'
  return isOfOneScript(bytes, 0) ? 'big' : undefined
}
/** UTF-16, as PowerShell encodes its commands. */
function wideText(bytes: Uint8Array): TextOfBytes | undefined {
  const isSure = isLatin(bytes)
  const order = isSure ? 'little' : orderOf(bytes)
  if (!order) return undefined
  const text = new TextDecoder(order === 'big' ? 'utf-16be' : 'utf-16le', { ignoreBOM: true }).decode(bytes)
  return (isSure ? binary : notText).test(text) ? undefined : { text, write: (rest) => wideBytes(rest, order) }
}
function wideBytes(text: string, order: Order): Uint8Array {
  const bytes = Buffer.from(text, 'utf16le')
  return order === 'big' ? bytes.swap16() : bytes
}

/** Binary data with texts: of every ten bytes, at least seven are letters, digits or spaces. Random bytes have three. */
const leastBinary = 24
const leastLetters = 7
const sampledBytes = 128
const isTextUnit = (byte: number): boolean => (byte >= 32 ? byte !== 127 : byte === 9 || byte === 10 || byte === 13)
const isLetterUnit = (byte: number): boolean =>
  byte === 32 || byte >= 0x80 || (byte >= 48 && byte <= 57) || ((byte | 32) >= 97 && (byte | 32) <= 122)
/** Exclusive end of the character of UTF-8 at an offset; the same offset if there is none. */
function endOfCharacter(bytes: Uint8Array, at: number): number {
  const byte = bytes[at] ?? 0
  if (byte < 0x80) return at < bytes.length && isTextUnit(byte) ? at + 1 : at
  const more = byte >= 0xc2 && byte < 0xe0 ? 1 : byte >= 0xe0 && byte < 0xf0 ? 2 : byte >= 0xf0 && byte < 0xf5 ? 3 : 0
  if (more === 0 || at + more >= bytes.length) return at
  return isUtf8(bytes.subarray(at, at + more + 1)) ? at + more + 1 : at
}
/** Whether the first bytes have as many letters as a text. Most bytes are an image, a key or a hash. */
function mayHaveTexts(bytes: Uint8Array): boolean {
  if (bytes.length < leastBinary) return false
  const sample = Math.min(bytes.length, sampledBytes)
  let letters = 0
  for (let at = 0; at < sample; ) {
    const end = endOfCharacter(bytes, at)
    if (end > at && isLetterUnit(bytes[at] ?? 0)) letters += end - at
    at = Math.max(end, at + 1)
    if (at >= leastBinary && letters * 2 < at) return false
  }
  return letters * 10 >= sample * leastLetters
}
/** Signs that a length before a text may have. */
const longestLength = 4
/** Whether the bytes before an offset are a length, in one of the orders in which formats write it. */
function isLengthBefore(bytes: Uint8Array, at: number, length: number): boolean {
  const [one = 0, two = 0, three = 0, four = 0] = [bytes[at - 1], bytes[at - 2], bytes[at - 3], bytes[at - 4]]
  return (
    one === length ||
    two * 0x100 + one === length ||
    one * 0x100 + two === length ||
    ((four * 0x100 + three) * 0x100 + two) * 0x100 + one === length ||
    ((one * 0x100 + two) * 0x100 + three) * 0x100 + four === length ||
    (one < 0x80 && two >= 0x80 && one * 0x80 + (two & 0x7f) === length)
  )
}
/** Where the text of a range begins: its length may look like its first letters. */
function withoutLength(bytes: Uint8Array, { start, end }: Span): number {
  for (let at = start; at <= Math.min(start + longestLength, end - 1); at++)
    if (at > 0 && isLengthBefore(bytes, at, end - at)) return at
  return start
}
/** A length in one byte, after which MessagePack has as many bytes of text. It may look like an Arabic letter. */
function isMeasuredAt(bytes: Uint8Array, at: number): boolean {
  if (bytes[at] !== 0xd9) return false
  const length = bytes[at + 1] ?? 0
  const first = at + 2
  if (length === 0 || first + length > bytes.length) return false
  const isLetter = length >= 0x80 && length < 0xc0
  if (isLetter && ((bytes[at - 1] ?? 0) >= 0x80 || (bytes[first] ?? 0) >= 0x80)) return false
  return isUtf8(bytes.subarray(first, first + length))
}
/** The texts in MessagePack, Protocol Buffers and other binary formats, as ranges of the bytes. */
function textsIn(bytes: Uint8Array): Span[] | undefined {
  if (!mayHaveTexts(bytes)) return undefined
  const found: Span[] = []
  let letters = 0
  for (let at = 0; at < bytes.length; ) {
    let end = at
    for (let next = endOfCharacter(bytes, end); next > end; next = endOfCharacter(bytes, end)) {
      if (isMeasuredAt(bytes, end)) break
      end = next
    }
    if (end > at) {
      const start = withoutLength(bytes, { start: at, end })
      found.push({ start, end })
      for (let one = start; one < end; one++) if (isLetterUnit(bytes[one] ?? 0)) letters++
    }
    at = end > at ? end : at + (bytes[at] === 0xd9 ? 2 : 1)
  }
  const first = found[0]
  // A text with other characters behind it, such as the next word, is no binary data.
  if (first?.start === 0 && first.end * 2 >= bytes.length) return undefined
  return letters * 10 >= bytes.length * leastLetters ? found : undefined
}
/** Binary data as a text, with each of its texts in a line. What is cut from it becomes spaces, so that every length remains right. */
function binaryText(bytes: Uint8Array): TextOfBytes | undefined {
  const texts = textsIn(bytes)
  if (!texts) return undefined
  const parts = texts.map(({ start, end }) => utf8.decode(bytes.subarray(start, end)))
  return {
    text: parts.join('\n'),
    write(_rest, cuts) {
      const rest = bytes.slice()
      let from = 0
      for (const [n, part] of parts.entries()) {
        const first = texts[n]?.start ?? 0
        for (const cut of cuts) {
          const [start, end] = [Math.max(0, cut.start - from), Math.min(part.length, cut.end - from)]
          if (start >= end) continue
          const before = Buffer.byteLength(part.slice(0, start))
          rest.fill(32, first + before, first + before + Buffer.byteLength(part.slice(start, end)))
        }
        from += part.length + 1
      }
      return rest
    },
  }
}

const wideLetters = /(?:[^\0]\0){8}/
/** A text in which a part was written in UTF-16: the scanner reads that part. */
function partlyWideText(bytes: Uint8Array): TextOfBytes | undefined {
  if (!bytes.includes(0) || !isUtf8(bytes)) return undefined
  const text = utf8.decode(bytes)
  if (!wideLetters.test(text) || binary.test(text.replaceAll('\0', ''))) return undefined
  return { text, write: (rest) => new TextEncoder().encode(rest) }
}

/** The bytes at the beginning that tell whether the others may contain a text. */
export const headBytes = 256
/** Whether bytes that begin with these may contain a text: reading all of them costs more. */
export function mayContainText(head: Uint8Array): boolean {
  if (wideText(head.subarray(0, head.length - (head.length % 2))) || mayHaveTexts(head)) return true
  // The last character may be cut.
  for (let cut = 0; cut < 4; cut++) {
    const whole = head.subarray(0, head.length - cut)
    if (!isUtf8(whole)) continue
    const text = utf8.decode(whole).replaceAll('\0', '')
    return text !== '' && !binary.test(text)
  }
  return false
}

/** Reads the text of bytes; undefined for bytes that contain none. */
export function textOfBytes(bytes: Uint8Array): TextOfBytes | undefined {
  // Most words that look like Base64 contain a control character near their beginning.
  const head = Math.min(bytes.length, 24)
  let isNarrow = true
  for (let at = 0; at < head && isNarrow; at++) {
    const byte = bytes[at] ?? 0
    if (byte < 9 || (byte > 13 && byte < 27) || byte === 127) isNarrow = false
  }
  const text = isNarrow ? narrowText(bytes) : undefined
  if (text !== undefined) return { text, write: (rest) => new TextEncoder().encode(rest) }
  return wideText(bytes) ?? partlyWideText(bytes) ?? binaryText(bytes)
}
