import { isPlainObject, type JsonObject } from './messages.ts'

/** Thrown for bytes that LangGraph in Python cannot read either. */
export class InvalidMsgpack extends Error {}

/** The nesting limit of ormsgpack, which rejects deeper values. */
const mostLevels = 1_022

/** A value without words: a number that JavaScript could change. It is written back unchanged. */
export class PackedNumber {
  readonly raw: Uint8Array
  constructor(raw: Uint8Array) {
    this.raw = raw
  }
}
/** Bytes of the application: a bytes object, or the elements of a numpy array. */
export class PackedBytes {
  readonly raw: Uint8Array
  /** Texts that the bytes may represent. */
  readonly texts: readonly string[]
  /** Its bytes are not text, so they cannot be searched for words. */
  readonly isOpaque: boolean
  readonly #emptied: () => Uint8Array
  constructor(raw: Uint8Array, texts: readonly string[], isOpaque: boolean, emptied: () => Uint8Array) {
    this.raw = raw
    this.texts = texts
    this.isOpaque = isOpaque
    this.#emptied = emptied
  }
  emptied(): PackedBytes {
    const raw = this.#emptied()
    return new PackedBytes(raw, [], false, () => raw)
  }
}
/** An extension that this version of LangGraph does not define. It cannot be changed. */
export class PackedExtension {
  readonly raw: Uint8Array
  readonly text: string
  readonly isOpaque: boolean
  constructor(raw: Uint8Array, payload: Uint8Array) {
    this.raw = raw
    this.text = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString('utf8')
    this.isOpaque = !isUtf8Text(payload)
  }
}

/** Extension codes of langgraph.checkpoint.serde.jsonplus. */
const ext = { single: 0, positional: 1, keywords: 2, method: 3, pydanticV1: 4, pydanticV2: 5, numpy: 6, snapshot: 7 }

/** How a view was encoded. */
type Origin =
  | { kind: 'array'; raw: Uint8Array }
  /** `keys`: each key's text with its bytes, in the order of the entries. */
  | { kind: 'map'; raw: Uint8Array; keys: readonly [string, Uint8Array][] }
  /** A map with a non-string key or a duplicate key; `args: [entries]`. */
  | { kind: 'pairs'; raw: Uint8Array }
  /** `[module, name, …]` with the payload in the third place. */
  | {
      kind: 'constructor'
      raw: Uint8Array
      code: number
      head: Uint8Array
      tail: Uint8Array
      items: number
      field: string
    }
  | { kind: 'send'; raw: Uint8Array; head: Uint8Array; node: Uint8Array; timeout: Uint8Array | undefined }
  | { kind: 'snapshot'; raw: Uint8Array }

export interface Unpacked {
  /**
   * The value as `JSON.parse` would return it: strings, lists and records. A Python object is its constructor's record as LangChain
   * writes it (`lc: 2`), and a Send has the form of JavaScript's. Other values are {@link PackedNumber}, {@link PackedBytes} and {@link
   * PackedExtension}.
   */
  view: unknown
  /** How many values cannot be searched for words. */
  opaque: number
  /** Encodes a view derived from this one. `originOf` returns the object from which a new one was made. */
  pack(made: unknown, originOf: (made: object) => object | undefined): Buffer
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new InvalidMsgpack('a string is not UTF-8', { cause })
  }
}
/** Whether the bytes may be text: UTF-8, mostly of printable characters. */
export function isUtf8Text(bytes: Uint8Array): boolean {
  try {
    const text = utf8.decode(bytes)
    const controls = text.match(/[^\P{C}\s]/gu)?.length ?? 0
    return controls * 10 <= text.length
  } catch {
    return false
  }
}

function header(short: number | undefined, most: number, codes: readonly [number, number][], length: number): Buffer {
  if (short !== undefined && length <= most) return Buffer.from([short | length])
  for (const [bytes, code] of codes)
    if (length < 2 ** (8 * bytes)) {
      const made = Buffer.alloc(1 + bytes)
      made[0] = code
      made.writeUIntBE(length, 1, bytes)
      return made
    }
  throw new InvalidMsgpack('too long')
}
const arrayHeader = (length: number) => header(0x90, 15, [[2, 0xdc], [4, 0xdd]], length) // biome-ignore format: one line each
const mapHeader = (length: number) => header(0x80, 15, [[2, 0xde], [4, 0xdf]], length) // biome-ignore format: one line each
const stringHeader = (length: number) => header(0xa0, 31, [[1, 0xd9], [2, 0xda], [4, 0xdb]], length) // biome-ignore format: one line each
const packedString = (text: string): Buffer => {
  const bytes = Buffer.from(text)
  return Buffer.concat([stringHeader(bytes.length), bytes])
}
const fixedExtensions = new Map([
  [1, 0xd4],
  [2, 0xd5],
  [4, 0xd6],
  [8, 0xd7],
  [16, 0xd8],
])
function packedExtension(code: number, payload: Buffer): Buffer {
  const fixed = fixedExtensions.get(payload.length)
  const start =
    fixed === undefined ? header(undefined, 0, [[1, 0xc7], [2, 0xc8], [4, 0xc9]], payload.length) : Buffer.from([fixed]) // biome-ignore format: one line each
  return Buffer.concat([start, Buffer.from([code]), payload])
}

/** The number of bytes of the length after the first byte, or of the number itself. */
const sizes = {
  string: new Map([
    [0xd9, 1],
    [0xda, 2],
    [0xdb, 4],
  ]),
  array: new Map([
    [0xdc, 2],
    [0xdd, 4],
  ]),
  map: new Map([
    [0xde, 2],
    [0xdf, 4],
  ]),
  bytes: new Map([
    [0xc4, 1],
    [0xc5, 2],
    [0xc6, 4],
  ]),
  extension: new Map([
    [0xc7, 1],
    [0xc8, 2],
    [0xc9, 4],
  ]),
}
const fixedLengths = new Map([...fixedExtensions].map(([length, code]) => [code, length]))
/** From 0xca: two floats, four unsigned and four signed integers. */
const numberLengths = [4, 8, 1, 2, 4, 8, 1, 2, 4, 8]

/** Numbers of one byte are decoded; all others keep their `raw` bytes. */
const isFixedInteger = (byte: number): boolean => byte < 0x80 || byte >= 0xe0

/**
 * Decodes what LangGraph's Python serializer writes (MessagePack by ormsgpack, with extensions) and records the bytes of every part, so
 * that unchanged parts are written back byte for byte. Time and memory are linear in the number of bytes. @throws InvalidMsgpack
 */
export function unpack(bytes: Uint8Array): Unpacked {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const origins = new WeakMap<object, Origin>()
  /** Strings with a longer header than necessary, by their list or record. */
  const longStrings = new WeakMap<object, Map<string, Uint8Array>>()
  const long: [string, Uint8Array][] = []
  let at = 0
  let opaque = 0

  function take(length: number, end: number): Buffer {
    if (length > end - at) throw new InvalidMsgpack('cut off')
    at += length
    return data.subarray(at - length, at)
  }
  const uint = (size: number, end: number): number => take(size, end).readUIntBE(0, size)
  const rawFrom = (start: number): Uint8Array => data.subarray(start, at)
  function lengthOf(byte: number, end: number, of: ReadonlyMap<number, number>): number | undefined {
    const size = of.get(byte)
    return size === undefined ? undefined : uint(size, end)
  }

  /** Checks the number of items, each of at least `least` bytes, so that a wrong length allocates nothing. */
  function itemsOf(count: number, end: number, least: number): number {
    if (count * least > end - at) throw new InvalidMsgpack('longer than its bytes')
    return count
  }
  function read(end: number, level: number): unknown {
    if (level > mostLevels) throw new InvalidMsgpack('nested too deep')
    const start = at
    const byte = uint(1, end)
    if (isFixedInteger(byte)) return byte < 0x80 ? byte : byte - 0x100
    if (byte === 0xc0) return null
    if (byte === 0xc2 || byte === 0xc3) return byte === 0xc3
    const stringLength = byte >= 0xa0 && byte < 0xc0 ? byte & 31 : lengthOf(byte, end, sizes.string)
    if (stringLength !== undefined) return textOf(take(stringLength, end))
    const arrayLength = byte >= 0x90 && byte < 0xa0 ? byte & 15 : lengthOf(byte, end, sizes.array)
    if (arrayLength !== undefined) return readArray(start, itemsOf(arrayLength, end, 1), end, level)
    const mapLength = byte >= 0x80 && byte < 0x90 ? byte & 15 : lengthOf(byte, end, sizes.map)
    if (mapLength !== undefined) return readMap(start, itemsOf(mapLength, end, 2), end, level)
    const binLength = lengthOf(byte, end, sizes.bytes)
    if (binLength !== undefined) return readBytes(start, take(binLength, end))
    const number = numberLengths[byte - 0xca]
    if (number !== undefined) {
      take(number, end)
      return new PackedNumber(rawFrom(start))
    }
    const fixed = fixedLengths.get(byte)
    const extensionLength = fixed ?? lengthOf(byte, end, sizes.extension)
    if (extensionLength === undefined) throw new InvalidMsgpack('a reserved byte')
    const code = take(1, end).readInt8(0)
    if (extensionLength > end - at) throw new InvalidMsgpack('cut off')
    return readExtension(start, code, at + extensionLength, level)
  }

  /** Reads a value in a list or record, and records the bytes of an unusually encoded string. */
  function readIn(end: number, level: number): unknown {
    const start = at
    const value = read(end, level)
    if (typeof value === 'string' && at - start > packedLength(value)) long.push([value, rawFrom(start)])
    return value
  }
  function noteLong(view: object, before: number): void {
    if (long.length > before) longStrings.set(view, new Map(long.splice(before)))
  }
  function readArray(start: number, count: number, end: number, level: number): unknown[] {
    const before = long.length
    const view: unknown[] = []
    for (let n = 0; n < count; n++) view.push(readIn(end, level + 1))
    origins.set(view, { kind: 'array', raw: rawFrom(start) })
    noteLong(view, before)
    return view
  }
  function readMap(start: number, count: number, end: number, level: number): JsonObject {
    const longBefore = long.length
    const entries: [unknown, unknown][] = []
    const keys: [string, Uint8Array][] = []
    for (let n = 0; n < count; n++) {
      const before = at
      const key = read(end, level + 1)
      if (typeof key === 'string') keys.push([key, rawFrom(before)])
      entries.push([key, readIn(end, level + 1)])
    }
    const raw = rawFrom(start)
    const view: JsonObject = {}
    if (keys.length === count && new Set(keys.map(([key]) => key)).size === count) {
      for (const [key, value] of entries)
        Object.defineProperty(view, String(key), { value, enumerable: true, configurable: true, writable: true })
      origins.set(view, { kind: 'map', raw, keys })
    } else {
      Object.assign(view, { lc: 2, type: 'constructor', id: ['Map'], args: [entries] })
      origins.set(view, { kind: 'pairs', raw })
    }
    noteLong(view, longBefore)
    return view
  }
  function readBytes(start: number, payload: Buffer): PackedBytes {
    const isOpaque = !isUtf8Text(payload)
    if (isOpaque) opaque++
    return new PackedBytes(rawFrom(start), [payload.toString('utf8')], isOpaque, () => Buffer.from([0xc4, 0]))
  }

  function readExtension(start: number, code: number, end: number, level: number): unknown {
    const payload = at
    if (code === ext.snapshot) {
      const value = read(end, level + 1)
      finish(end)
      const view = { lc: 2, type: 'constructor', id: ['_DeltaSnapshot'], args: [value] }
      origins.set(view, { kind: 'snapshot', raw: rawFrom(start) })
      return view
    }
    if (code === ext.numpy) return readNumpy(start, end, level)
    if (code < ext.single || code > ext.pydanticV2) {
      at = end
      const made = new PackedExtension(rawFrom(start), data.subarray(payload, end))
      if (made.isOpaque) opaque++
      return made
    }
    const count = uint(1, end)
    if (count !== 0x93 && count !== 0x94) throw new InvalidMsgpack('an extension without its three parts')
    const names = [read(end, level + 1), read(end, level + 1)]
    const [module, name] = names
    if (typeof module !== 'string' || typeof name !== 'string') throw new InvalidMsgpack('an extension without a name')
    const head = data.subarray(payload + 1, at)
    const isSend = code === ext.positional && module === 'langgraph.types' && name === 'Send'
    if (isSend) return readSend(start, head, end, level)
    const value = read(end, level + 1)
    const after = at
    for (let n = 3; n < (count & 15); n++) read(end, level + 1)
    const tail = data.subarray(after, at)
    finish(end)
    const field = code === ext.single || code === ext.method ? 'arg' : code === ext.positional ? 'args' : 'kwargs'
    const view = {
      ...{ lc: 2, type: 'constructor', id: [...module.split('.'), name] },
      ...(field === 'arg' ? { args: [value] } : { [field]: value }),
    }
    origins.set(view, { kind: 'constructor', raw: rawFrom(start), code, head, tail, items: count & 15, field })
    return view
  }
  function readSend(start: number, head: Uint8Array, end: number, level: number): JsonObject {
    const count = uint(1, end)
    if (count !== 0x92 && count !== 0x93) throw new InvalidMsgpack('a Send without its parts')
    const nodeStart = at
    const node = read(end, level + 1)
    const nodeRaw = rawFrom(nodeStart)
    if (typeof node !== 'string') throw new InvalidMsgpack('a Send without a node')
    const args = read(end, level + 1)
    const timeoutStart = at
    if (count === 0x93) read(end, level + 1)
    const timeout = count === 0x93 ? rawFrom(timeoutStart) : undefined
    finish(end)
    const view = { lg_name: 'Send', node, args }
    origins.set(view, { kind: 'send', raw: rawFrom(start), head, node: nodeRaw, timeout })
    return view
  }
  /** `[dtype, shape, order, bytes]`: text elements are searched, and replaced by zeros. */
  function readNumpy(start: number, end: number, level: number): PackedBytes {
    const parts = read(end, level + 1)
    finish(end)
    const [dtype, , , elements] = Array.isArray(parts) ? parts : []
    if (typeof dtype !== 'string' || !(elements instanceof PackedBytes)) throw new InvalidMsgpack('no numpy array')
    const raw = rawFrom(start)
    const content = elements.raw.subarray(elements.raw.length - bytesLength(elements.raw))
    const wide = /^([<>=|]?)U(\d+)$/.exec(dtype)
    const texts = wide ? wideTexts(content, wide[1] === '>', Number(wide[2])) : elements.texts
    const isOpaque = !wide && elements.isOpaque
    if (wide && elements.isOpaque) opaque--
    const emptied = () => {
      const made = Buffer.from(raw)
      made.fill(0, made.length - content.length)
      return made
    }
    return new PackedBytes(raw, texts, isOpaque, emptied)
  }
  function finish(end: number): void {
    if (at !== end) throw new InvalidMsgpack('an extension of another length')
  }

  const view = read(data.length, 0)
  if (at !== data.length) throw new InvalidMsgpack('bytes after the value')

  function pack(made: unknown, originOf: (made: object) => object | undefined): Buffer {
    const parts: Uint8Array[] = []
    function value(one: unknown, strings?: ReadonlyMap<string, Uint8Array>): void {
      if (typeof one === 'string') parts.push(strings?.get(one) ?? packedString(one))
      else if (one === null || one === undefined) parts.push(Buffer.from([0xc0]))
      else if (typeof one === 'boolean') parts.push(Buffer.from([one ? 0xc3 : 0xc2]))
      else if (typeof one === 'number') parts.push(Buffer.from([one & 0xff]))
      else if (one instanceof PackedNumber || one instanceof PackedBytes || one instanceof PackedExtension)
        parts.push(one.raw)
      else if (Array.isArray(one) || isPlainObject(one)) container(one)
      else throw new InvalidMsgpack('a value of no kind')
    }
    const nested = (one: unknown): Buffer => pack(one, originOf)
    function container(one: unknown[] | JsonObject): void {
      const same = origins.get(one)
      if (same) {
        parts.push(same.raw)
        return
      }
      const before = originOf(one)
      const origin = before && origins.get(before)
      const strings = before && longStrings.get(before)
      if (Array.isArray(one)) {
        parts.push(arrayHeader(one.length))
        for (const item of one) value(item, strings)
      } else if (origin === undefined || origin.kind === 'map') record(one, origin?.keys ?? [], strings)
      else if (origin.kind === 'pairs') pairs(one, strings)
      else if (origin.kind === 'snapshot') parts.push(packedExtension(ext.snapshot, nested(argument(one))))
      else if (origin.kind === 'send') send(one, origin)
      else if (origin.kind === 'constructor') {
        const payload = nested(origin.field === 'arg' ? argument(one) : one[origin.field])
        parts.push(
          packedExtension(
            origin.code,
            Buffer.concat([Buffer.from([0x90 | origin.items]), origin.head, payload, origin.tail]),
          ),
        )
      }
    }
    const argument = ({ args }: JsonObject): unknown => (Array.isArray(args) ? args[0] : null)
    function record(
      one: JsonObject,
      keys: readonly [string, Uint8Array][],
      strings: ReadonlyMap<string, Uint8Array> | undefined,
    ): void {
      const known = new Map(keys)
      const kept = keys.filter(([key]) => Object.hasOwn(one, key)).map(([key]) => key)
      const all = [...kept, ...Object.keys(one).filter((key) => !known.has(key))]
      parts.push(mapHeader(all.length))
      for (const key of all) {
        parts.push(known.get(key) ?? packedString(key))
        value(one[key], strings)
      }
    }
    function pairs(one: JsonObject, strings: ReadonlyMap<string, Uint8Array> | undefined): void {
      const entries = argument(one)
      const list: unknown[] = Array.isArray(entries) ? entries : []
      parts.push(mapHeader(list.length))
      for (const entry of list) {
        const [key, item]: unknown[] = Array.isArray(entry) ? entry : []
        value(key)
        value(item, strings)
      }
    }
    function send(one: JsonObject, { head, node, timeout }: Origin & { kind: 'send' }): void {
      const args = Buffer.concat([
        ...[Buffer.from([timeout ? 0x93 : 0x92]), node, nested(one.args)],
        ...(timeout ? [timeout] : []),
      ])
      parts.push(packedExtension(ext.positional, Buffer.concat([Buffer.from([0x93]), head, args])))
    }
    value(made)
    return Buffer.concat(parts)
  }

  return { view, opaque, pack }
}

function packedLength(text: string): number {
  const length = Buffer.byteLength(text)
  return length + (length < 32 ? 1 : length < 256 ? 2 : length < 65_536 ? 3 : 5)
}
/** The length in the header of a bin. */
const bytesLength = (raw: Uint8Array): number => raw.length - (raw[0] === 0xc4 ? 2 : raw[0] === 0xc5 ? 3 : 5)

/** Elements of numpy's `U`: UTF-32 of a fixed width, padded with zeros. */
function wideTexts(content: Uint8Array, isBigEndian: boolean, width: number): string[] {
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength)
  const texts: string[] = []
  if (width === 0) return texts
  for (let from = 0; from + width * 4 <= content.length; from += width * 4) {
    let text = ''
    for (let n = 0; n < width; n++) {
      const point = view.getUint32(from + n * 4, !isBigEndian)
      if (point === 0) break
      text += point <= 0x10ffff ? String.fromCodePoint(point) : '\ufffd'
    }
    if (text !== '') texts.push(text)
  }
  return texts
}
