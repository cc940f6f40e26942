import {
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateRawSync,
  inflateSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib'

/** A text of this size is still read; a larger one is not. In bytes. */
const maxUnpacked = 8 * 1024 * 1024
/** Compressed data of one text is read until it is this large when unpacked. In bytes. */
const maxOfText = 32 * 1024 * 1024
/** Streams that can follow each other in one value. */
const maxStreams = 64

interface Limits {
  maxOutputLength: number
  chunkSize: number
  info: true
}
/** One of the functions of `node:zlib` that unpack a stream. */
type Unpack = (bytes: Uint8Array, limits: Limits) => unknown
interface Unpacked {
  buffer: Buffer
  engine: { bytesWritten: number }
}

/** The content of all streams in a value. An error if anything else is in it: it would be lost when the value is packed again. */
export function unpackAll(bytes: Uint8Array, unpack: Unpack, max = maxUnpacked): Buffer {
  const parts: Buffer[] = []
  let left = max
  for (let from = 0; from < bytes.length; ) {
    const rest = bytes.subarray(from)
    if (parts.length === maxStreams || left === 0) throw new RangeError('too much compressed data')
    // For a short text, a buffer of usual size costs more than reading it.
    const chunkSize = rest.length < 1_024 ? 4_096 : 64 * 1_024
    const { buffer, engine } = unpack(rest, { maxOutputLength: left, chunkSize, info: true }) as Unpacked
    if (engine.bytesWritten === 0) throw new RangeError('no compressed data')
    parts.push(buffer)
    left -= buffer.length
    from += engine.bytesWritten
  }
  return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts)
}

interface Packing {
  /** Its first bytes say so, rather than only allow it. */
  isMarked?: true
  isIt(bytes: Uint8Array): boolean
  unpack: Unpack
  pack(bytes: Uint8Array): Uint8Array
}
const starts = (bytes: Uint8Array, ...magic: number[]): boolean => magic.every((byte, at) => bytes[at] === byte)

/** Reads bits from the least significant one on, as DEFLATE does. */
class Bits {
  readonly #bytes: Uint8Array
  #at: number
  constructor(bytes: Uint8Array, from: number) {
    this.#bytes = bytes
    this.#at = from * 8
  }
  next(count: number): number {
    let value = 0
    for (let n = 0; n < count; n++) value |= this.#one() << n
    return value
  }
  /** A code of Huffman begins with its most significant bit. */
  code(count: number, before = 0): number {
    let value = before
    for (let n = 0; n < count; n++) value = (value << 1) | this.#one()
    return value
  }
  #one(): number {
    const bit = ((this.#bytes[this.#at >>> 3] ?? 0) >>> (this.#at & 7)) & 1
    this.#at++
    return bit
  }
}
/** Every second byte of UTF-16 may be zero. */
const isTextByte = (byte: number): boolean =>
  byte >= 32 ? byte !== 127 : byte === 0 || byte === 9 || byte === 10 || byte === 13 || byte === 27
const checkedCodes = 5

/**
 * Whether DEFLATE of a text may begin at an offset: trying costs more than reading. Random bytes rarely have a complete code, or a beginning
 * of letters.
 */
function mayBeDeflated(bytes: Uint8Array, from: number): boolean {
  if (bytes.length < from + 8) return false
  const bits = new Bits(bytes, from)
  bits.next(1)
  const kind = bits.next(2)
  if (kind === 0) {
    const at = from + 1
    const [low = 0, high = 0, notLow = 0, notHigh = 0] = bytes.subarray(at, at + 4)
    return (low ^ notLow) === 255 && (high ^ notHigh) === 255
  }
  if (kind === 1) {
    for (let n = 0; n < checkedCodes; n++) {
      const short = bits.code(7)
      if (short < 24) return n > 0
      const eight = bits.code(1, short)
      const byte = eight < 0xc0 ? eight - 0x30 : eight < 0xc8 ? -1 : bits.code(1, eight) - 0x190 + 144
      if (byte < 0 ? n === 0 : !isTextByte(byte)) return false
    }
    return true
  }
  if (kind !== 2 || bits.next(5) > 29 || bits.next(5) > 29) return false
  const count = bits.next(4) + 4
  let sum = 0
  for (let n = 0; n < count; n++) {
    const length = bits.next(3)
    if (length > 0) sum += 2 ** (7 - length)
  }
  return sum === 128
}

/** Compressions, in the order in which they are tried. */
export const packings = new Map<string, Packing>([
  [
    'gzip',
    {
      isMarked: true,
      // The header of gzip is longer with a name or a comment.
      isIt: (bytes) =>
        starts(bytes, 0x1f, 0x8b, 8) && (bytes[3] ?? 255) < 32 && (bytes[3] !== 0 || mayBeDeflated(bytes, 10)),
      unpack: gunzipSync,
      pack: (bytes) => gzipSync(bytes),
    },
  ],
  [
    'zlib',
    {
      isIt: (bytes) => bytes[0] === 0x78 && (0x7800 + (bytes[1] ?? 0)) % 31 === 0 && mayBeDeflated(bytes, 2),
      unpack: inflateSync,
      pack: (bytes) => deflateSync(bytes),
    },
  ],
  [
    'Zstandard',
    {
      isMarked: true,
      isIt: (bytes) => starts(bytes, 0x28, 0xb5, 0x2f, 0xfd),
      unpack: zstdDecompressSync,
      pack: (bytes) => zstdCompressSync(bytes),
    },
  ],
  [
    'DEFLATE',
    {
      isIt: (bytes) => bytes.length >= 16 && mayBeDeflated(bytes, 0),
      unpack: inflateRawSync,
      pack: (bytes) => deflateRawSync(bytes),
    },
  ],
])

/** Runs work whose errors are expected: recording and formatting their stacks would take longer than the work. */
function withoutStacks<T>(work: () => T): T {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return work()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/**
 * What trying costs: a text that only looks compressed, thousands of times, must not stop a reading. Random bytes look like DEFLATE, so its
 * failures do not count for compressions with a mark.
 */
const mostFailures = 256
const failures = { marked: 0, guessed: 0 }
let leftOfText = maxOfText
let isMissed = false
/** Begins a text: the failures and the size of the former one do not count. */
export const beginUnpacking = (): void => {
  failures.marked = 0
  failures.guessed = 0
  leftOfText = maxOfText
  isMissed = false
}
/** Whether the text contains data that looks compressed and was not unpacked: because of a bound, or although its mark says so. */
export const hasMissedPacked = (): boolean => isMissed

/** Whether bytes that begin with these may be compressed. */
export const mayBePacked = (head: Uint8Array): boolean => packings.values().some(({ isIt }) => isIt(head))

/** Bytes without their compression, and how to compress others in the same way. Undefined for other bytes. */
export function unpacked(
  bytes: Uint8Array,
): { bytes: Uint8Array; pack: (bytes: Uint8Array) => Uint8Array } | undefined {
  for (const { isIt, unpack, pack, isMarked } of packings.values()) {
    if (!isIt(bytes)) continue
    const kind = isMarked ? 'marked' : 'guessed'
    if (failures[kind] >= mostFailures || leftOfText <= 0) isMissed = true
    else
      try {
        const found = withoutStacks(() => unpackAll(bytes, unpack, Math.min(maxUnpacked, leftOfText)))
        leftOfText -= found.length
        return { bytes: found, pack }
      } catch {
        // Damaged, longer than a bound, or something else.
        failures[kind]++
        if (isMarked) isMissed = true
      }
  }
  return undefined
}
