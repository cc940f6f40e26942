/** Thrown for bytes that LangGraph in Python cannot read either. */
export class InvalidMsgpack extends Error {}

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
export const ext = {
  single: 0,
  positional: 1,
  keywords: 2,
  method: 3,
  pydanticV1: 4,
  pydanticV2: 5,
  numpy: 6,
  snapshot: 7,
}

/** How a view was encoded. */
export type Origin =
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

/** The bytes and encodings of the parts of an unpacked value. */
export interface Origins {
  views: WeakMap<object, Origin>
  /** Strings with a longer header than necessary, by their list or record. */
  longStrings: WeakMap<object, Map<string, Uint8Array>>
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
export function textOf(bytes: Uint8Array): string {
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

/** Codes of extensions with a fixed number of bytes, by this number. */
export const fixedExtensions = new Map([
  [1, 0xd4],
  [2, 0xd5],
  [4, 0xd6],
  [8, 0xd7],
  [16, 0xd8],
])
