import { MsgpackReader } from './msgpack-reader.ts'
import { MsgpackWriter } from './msgpack-writer.ts'

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
