import { isPlainObject, type JsonObject } from './messages.ts'
import {
  ext,
  fixedExtensions,
  InvalidMsgpack,
  type Origin,
  type Origins,
  PackedBytes,
  PackedExtension,
  PackedNumber,
} from './msgpack-values.ts'

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
export class MsgpackWriter {
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
