import { isPlainObject, type JsonObject } from './messages.ts'
import {
  ext,
  fixedExtensions,
  InvalidMsgpack,
  isUtf8Text,
  type Origin,
  type Origins,
  PackedBytes,
  PackedExtension,
  PackedNumber,
  textOf,
} from './msgpack-values.ts'

/** The nesting limit of ormsgpack, which rejects deeper values. */
const maxLevels = 1_022

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

/** Decodes one value and records how each part was encoded. */
class MsgpackReader {
  readonly origins: Origins = { views: new WeakMap(), longStrings: new WeakMap() }
  /** The number of values that cannot be searched for words. */
  opaque = 0
  readonly #data: Buffer
  readonly #long: [string, Uint8Array][] = []
  #at = 0

  constructor(data: Buffer) {
    this.#data = data
  }

  /** @throws InvalidMsgpack */
  value(): unknown {
    const view = this.#read(this.#data.length, 0)
    if (this.#at !== this.#data.length) throw new InvalidMsgpack('bytes after the value')
    return view
  }

  #take(length: number, end: number): Buffer {
    if (length > end - this.#at) throw new InvalidMsgpack('cut off')
    this.#at += length
    return this.#data.subarray(this.#at - length, this.#at)
  }
  #uint(size: number, end: number): number {
    return this.#take(size, end).readUIntBE(0, size)
  }
  #rawFrom(start: number): Uint8Array {
    return this.#data.subarray(start, this.#at)
  }
  #lengthOf(byte: number, end: number, of: ReadonlyMap<number, number>): number | undefined {
    const size = of.get(byte)
    return size === undefined ? undefined : this.#uint(size, end)
  }

  /** Checks the number of items, each of at least `least` bytes, so that a wrong length allocates nothing. */
  #itemsOf(count: number, end: number, least: number): number {
    if (count * least > end - this.#at) throw new InvalidMsgpack('longer than its bytes')
    return count
  }
  #read(end: number, level: number): unknown {
    if (level > maxLevels) throw new InvalidMsgpack('nested too deep')
    const start = this.#at
    const byte = this.#uint(1, end)
    if (isFixedInteger(byte)) return byte < 0x80 ? byte : byte - 0x100
    if (byte === 0xc0) return null
    if (byte === 0xc2 || byte === 0xc3) return byte === 0xc3
    const stringLength = byte >= 0xa0 && byte < 0xc0 ? byte & 31 : this.#lengthOf(byte, end, sizes.string)
    if (stringLength !== undefined) return textOf(this.#take(stringLength, end))
    const arrayLength = byte >= 0x90 && byte < 0xa0 ? byte & 15 : this.#lengthOf(byte, end, sizes.array)
    if (arrayLength !== undefined) return this.#readArray(start, this.#itemsOf(arrayLength, end, 1), end, level)
    const mapLength = byte >= 0x80 && byte < 0x90 ? byte & 15 : this.#lengthOf(byte, end, sizes.map)
    if (mapLength !== undefined) return this.#readMap(start, this.#itemsOf(mapLength, end, 2), end, level)
    const binLength = this.#lengthOf(byte, end, sizes.bytes)
    if (binLength !== undefined) return this.#readBytes(start, this.#take(binLength, end))
    const number = numberLengths[byte - 0xca]
    if (number !== undefined) {
      this.#take(number, end)
      return new PackedNumber(this.#rawFrom(start))
    }
    const fixed = fixedLengths.get(byte)
    const extensionLength = fixed ?? this.#lengthOf(byte, end, sizes.extension)
    if (extensionLength === undefined) throw new InvalidMsgpack('a reserved byte')
    const code = this.#take(1, end).readInt8(0)
    if (extensionLength > end - this.#at) throw new InvalidMsgpack('cut off')
    return this.#readExtension(start, code, this.#at + extensionLength, level)
  }

  /** Reads a value in a list or record, and records the bytes of an unusually encoded string. */
  #readIn(end: number, level: number): unknown {
    const start = this.#at
    const value = this.#read(end, level)
    if (typeof value === 'string' && this.#at - start > packedLength(value))
      this.#long.push([value, this.#rawFrom(start)])
    return value
  }
  #noteLong(view: object, before: number): void {
    if (this.#long.length > before) this.origins.longStrings.set(view, new Map(this.#long.splice(before)))
  }
  #readArray(start: number, count: number, end: number, level: number): unknown[] {
    const before = this.#long.length
    const view: unknown[] = []
    for (let n = 0; n < count; n++) view.push(this.#readIn(end, level + 1))
    this.origins.views.set(view, { kind: 'array', raw: this.#rawFrom(start) })
    this.#noteLong(view, before)
    return view
  }
  #readMap(start: number, count: number, end: number, level: number): JsonObject {
    const longBefore = this.#long.length
    const entries: [unknown, unknown][] = []
    const keys: [string, Uint8Array][] = []
    for (let n = 0; n < count; n++) {
      const before = this.#at
      const key = this.#read(end, level + 1)
      if (typeof key === 'string') keys.push([key, this.#rawFrom(before)])
      entries.push([key, this.#readIn(end, level + 1)])
    }
    const raw = this.#rawFrom(start)
    const view: JsonObject = {}
    if (keys.length === count && new Set(keys.map(([key]) => key)).size === count) {
      for (const [key, value] of entries)
        Object.defineProperty(view, String(key), { value, enumerable: true, configurable: true, writable: true })
      this.origins.views.set(view, { kind: 'map', raw, keys })
    } else {
      Object.assign(view, { lc: 2, type: 'constructor', id: ['Map'], args: [entries] })
      this.origins.views.set(view, { kind: 'pairs', raw })
    }
    this.#noteLong(view, longBefore)
    return view
  }
  #readBytes(start: number, payload: Buffer): PackedBytes {
    const isOpaque = !isUtf8Text(payload)
    if (isOpaque) this.opaque++
    return new PackedBytes(this.#rawFrom(start), [payload.toString('utf8')], isOpaque, () => Buffer.from([0xc4, 0]))
  }

  #readExtension(start: number, code: number, end: number, level: number): unknown {
    const payload = this.#at
    if (code === ext.snapshot) {
      const value = this.#read(end, level + 1)
      this.#finish(end)
      const view = { lc: 2, type: 'constructor', id: ['_DeltaSnapshot'], args: [value] }
      this.origins.views.set(view, { kind: 'snapshot', raw: this.#rawFrom(start) })
      return view
    }
    if (code === ext.numpy) return this.#readNumpy(start, end, level)
    if (code < ext.single || code > ext.pydanticV2) {
      this.#at = end
      const made = new PackedExtension(this.#rawFrom(start), this.#data.subarray(payload, end))
      if (made.isOpaque) this.opaque++
      return made
    }
    const count = this.#uint(1, end)
    if (count !== 0x93 && count !== 0x94) throw new InvalidMsgpack('an extension without its three parts')
    const names = [this.#read(end, level + 1), this.#read(end, level + 1)]
    const [module, name] = names
    if (typeof module !== 'string' || typeof name !== 'string') throw new InvalidMsgpack('an extension without a name')
    const head = this.#data.subarray(payload + 1, this.#at)
    const isSend = code === ext.positional && module === 'langgraph.types' && name === 'Send'
    if (isSend) return this.#readSend(start, head, end, level)
    const value = this.#read(end, level + 1)
    const after = this.#at
    for (let n = 3; n < (count & 15); n++) this.#read(end, level + 1)
    const tail = this.#data.subarray(after, this.#at)
    this.#finish(end)
    const field = code === ext.single || code === ext.method ? 'arg' : code === ext.positional ? 'args' : 'kwargs'
    const view = {
      lc: 2,
      type: 'constructor',
      id: [...module.split('.'), name],
      ...(field === 'arg' ? { args: [value] } : { [field]: value }),
    }
    this.origins.views.set(view, {
      kind: 'constructor',
      raw: this.#rawFrom(start),
      code,
      head,
      tail,
      items: count & 15,
      field,
    })
    return view
  }
  #readSend(start: number, head: Uint8Array, end: number, level: number): JsonObject {
    const count = this.#uint(1, end)
    if (count !== 0x92 && count !== 0x93) throw new InvalidMsgpack('a Send without its parts')
    const nodeStart = this.#at
    const node = this.#read(end, level + 1)
    const nodeRaw = this.#rawFrom(nodeStart)
    if (typeof node !== 'string') throw new InvalidMsgpack('a Send without a node')
    const args = this.#read(end, level + 1)
    const timeoutStart = this.#at
    if (count === 0x93) this.#read(end, level + 1)
    const timeout = count === 0x93 ? this.#rawFrom(timeoutStart) : undefined
    this.#finish(end)
    const view = { lg_name: 'Send', node, args }
    this.origins.views.set(view, { kind: 'send', raw: this.#rawFrom(start), head, node: nodeRaw, timeout })
    return view
  }
  /** `[dtype, shape, order, bytes]`: text elements are searched, and replaced by zeros. */
  #readNumpy(start: number, end: number, level: number): PackedBytes {
    const parts = this.#read(end, level + 1)
    this.#finish(end)
    const [dtype, , , elements] = Array.isArray(parts) ? parts : []
    if (typeof dtype !== 'string' || !(elements instanceof PackedBytes)) throw new InvalidMsgpack('no numpy array')
    const raw = this.#rawFrom(start)
    const content = elements.raw.subarray(elements.raw.length - bytesLength(elements.raw))
    const wide = /^([<>=|]?)U(\d+)$/.exec(dtype)
    const texts = wide ? wideTexts(content, wide[1] === '>', Number(wide[2])) : elements.texts
    const isOpaque = !wide && elements.isOpaque
    if (wide && elements.isOpaque) this.opaque--
    const emptied = () => {
      const made = Buffer.from(raw)
      made.fill(0, made.length - content.length)
      return made
    }
    return new PackedBytes(raw, texts, isOpaque, emptied)
  }
  #finish(end: number): void {
    if (this.#at !== end) throw new InvalidMsgpack('an extension of another length')
  }
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

function header(short: number | undefined, max: number, codes: readonly [number, number][], length: number): Buffer {
  if (short !== undefined && length <= max) return Buffer.from([short | length])
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
function packedExtension(code: number, payload: Buffer): Buffer {
  const fixed = fixedExtensions.get(payload.length)
  const start =
    fixed === undefined ? header(undefined, 0, [[1, 0xc7], [2, 0xc8], [4, 0xc9]], payload.length) : Buffer.from([fixed]) // biome-ignore format: one line each
  return Buffer.concat([start, Buffer.from([code]), payload])
}
const argument = ({ args }: JsonObject): unknown => (Array.isArray(args) ? args[0] : null)

/** Encodes a view. Writes the recorded bytes of unchanged parts. */
class MsgpackWriter {
  readonly #origins: Origins
  readonly #originOf: (made: object) => object | undefined
  readonly #parts: Uint8Array[] = []

  constructor(origins: Origins, originOf: (made: object) => object | undefined) {
    this.#origins = origins
    this.#originOf = originOf
  }

  /** @throws InvalidMsgpack for a value that MessagePack cannot represent */
  pack(made: unknown): Buffer {
    this.#value(made)
    return Buffer.concat(this.#parts)
  }

  #value(one: unknown, strings?: ReadonlyMap<string, Uint8Array>): void {
    if (typeof one === 'string') this.#parts.push(strings?.get(one) ?? packedString(one))
    else if (one === null || one === undefined) this.#parts.push(Buffer.from([0xc0]))
    else if (typeof one === 'boolean') this.#parts.push(Buffer.from([one ? 0xc3 : 0xc2]))
    else if (typeof one === 'number') this.#parts.push(Buffer.from([one & 0xff]))
    else if (one instanceof PackedNumber || one instanceof PackedBytes || one instanceof PackedExtension)
      this.#parts.push(one.raw)
    else if (Array.isArray(one) || isPlainObject(one)) this.#container(one)
    else throw new InvalidMsgpack('a value of no kind')
  }
  #nested(one: unknown): Buffer {
    return new MsgpackWriter(this.#origins, this.#originOf).pack(one)
  }
  #container(one: unknown[] | JsonObject): void {
    const same = this.#origins.views.get(one)
    if (same) {
      this.#parts.push(same.raw)
      return
    }
    const before = this.#originOf(one)
    const origin = before && this.#origins.views.get(before)
    const strings = before && this.#origins.longStrings.get(before)
    if (Array.isArray(one)) {
      this.#parts.push(arrayHeader(one.length))
      for (const item of one) this.#value(item, strings)
    } else if (origin === undefined || origin.kind === 'map') this.#record(one, origin?.keys ?? [], strings)
    else if (origin.kind === 'pairs') this.#pairs(one, strings)
    else if (origin.kind === 'snapshot') this.#parts.push(packedExtension(ext.snapshot, this.#nested(argument(one))))
    else if (origin.kind === 'send') this.#send(one, origin)
    else if (origin.kind === 'constructor') {
      const payload = this.#nested(origin.field === 'arg' ? argument(one) : one[origin.field])
      this.#parts.push(
        packedExtension(
          origin.code,
          Buffer.concat([Buffer.from([0x90 | origin.items]), origin.head, payload, origin.tail]),
        ),
      )
    }
  }
  #record(
    one: JsonObject,
    keys: readonly [string, Uint8Array][],
    strings: ReadonlyMap<string, Uint8Array> | undefined,
  ): void {
    const known = new Map(keys)
    const retained = keys.filter(([key]) => Object.hasOwn(one, key)).map(([key]) => key)
    const all = [...retained, ...Object.keys(one).filter((key) => !known.has(key))]
    this.#parts.push(mapHeader(all.length))
    for (const key of all) {
      this.#parts.push(known.get(key) ?? packedString(key))
      this.#value(one[key], strings)
    }
  }
  #pairs(one: JsonObject, strings: ReadonlyMap<string, Uint8Array> | undefined): void {
    const entries = argument(one)
    const list: unknown[] = Array.isArray(entries) ? entries : []
    this.#parts.push(mapHeader(list.length))
    for (const entry of list) {
      const [key, item]: unknown[] = Array.isArray(entry) ? entry : []
      this.#value(key)
      this.#value(item, strings)
    }
  }
  #send(one: JsonObject, { head, node, timeout }: Origin & { kind: 'send' }): void {
    const args = Buffer.concat([
      Buffer.from([timeout ? 0x93 : 0x92]),
      node,
      this.#nested(one.args),
      ...(timeout ? [timeout] : []),
    ])
    this.#parts.push(packedExtension(ext.positional, Buffer.concat([Buffer.from([0x93]), head, args])))
  }
}

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

/**
 * Decodes what LangGraph's Python serializer writes (MessagePack by ormsgpack, with extensions) and records the bytes of every part, so
 * that unchanged parts are written back byte for byte. Time and memory are linear in the number of bytes. @throws InvalidMsgpack
 */
export function unpack(bytes: Uint8Array): Unpacked {
  const reader = new MsgpackReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  const view = reader.value()
  const pack: Unpacked['pack'] = (made, originOf) => new MsgpackWriter(reader.origins, originOf).pack(made)
  return { view, opaque: reader.opaque, pack }
}
