import { isDeepStrictEqual } from 'node:util'
import { memoize } from '#lib/kernel/concurrency.ts'
import { isConstructed, isPlainObject } from './messages.ts'
import { type Unpacked, unpack } from './msgpack.ts'
import { InvalidMsgpack } from './msgpack-values.ts'
import { type ErasedThreads, isHolding } from './thread-scanner.ts'

/** Internal error; the code that rewrites a thread adds which one. */
export class Unreadable extends Error {}

// The library is large, so it is loaded only to erase checkpoints.
const serialiser = memoize(async () => new (await import('@langchain/langgraph-checkpoint')).JsonPlusSerializer())
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A blob, decoded by the type of its serializer. */
export type Decoded =
  | { kind: 'tree'; tree: unknown }
  /** A `Uint8Array` of the application, unchanged. */
  | { kind: 'bytes'; bytes: Uint8Array }
  /** MessagePack of the Python serializer. */
  | { kind: 'msgpack'; tree: unknown; unpacked: Unpacked }
  | { kind: 'nothing' }

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Unreadable('not JSON', { cause })
  }
}
function read(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new Unreadable('not UTF-8', { cause })
  }
}

function unpacked(bytes: Uint8Array): Decoded {
  try {
    const made = unpack(bytes)
    return { kind: 'msgpack', tree: made.view, unpacked: made }
  } catch (cause) {
    if (cause instanceof InvalidMsgpack) throw new Unreadable('not MessagePack', { cause })
    throw cause
  }
}
/** Encodes a changed tree of {@link Unpacked} and verifies that it can be read back. */
export function encodeMsgpack(
  { pack }: Unpacked,
  tree: unknown,
  originOf: (made: object) => object | undefined,
): Uint8Array {
  const bytes = pack(tree, originOf)
  unpacked(bytes)
  return bytes
}

/** Decodes the `type` and bytes of a row. @throws Unreadable if they are malformed, encrypted, pickled or of an unknown type */
export function decode(type: string | null, bytes: Uint8Array | null): Decoded {
  if (type === 'empty' || type === 'null' || bytes === null) return { kind: 'nothing' }
  if (type === 'json') return { kind: 'tree', tree: parsed(read(bytes)) }
  if (type === 'bytes' || type === 'bytearray') return { kind: 'bytes', bytes }
  if (type === 'msgpack') return unpacked(bytes)
  throw new Unreadable('of an unknown type')
}
/** Parses a JSONB column from its text. */
export const decodeColumn = (text: string): unknown => parsed(text)

/** Cuts erased words from the application's own bytes if they are text. @throws Unreadable if they are not text and contain such words */
export function cutBytes(
  bytes: Uint8Array,
  erasedThreads: ErasedThreads,
  cut: (text: string) => string,
): Uint8Array | undefined {
  if (!isHolding(Buffer.from(bytes).toString('utf8'), erasedThreads)) return undefined
  const made = cut(read(bytes))
  if (isHolding(made, erasedThreads)) throw new Unreadable('bytes that cannot be cut')
  return Buffer.from(made)
}

/** Whether a tree contains classes other than messages and documents, which the library would instantiate; that is unnecessary here. */
function namesOtherClasses(tree: unknown): boolean {
  if (Array.isArray(tree)) return tree.some(namesOtherClasses)
  if (!isPlainObject(tree)) return false
  if (tree.lc === 1 && !isConstructed(tree, /(Message(Chunk)?|Document)$/)) return true
  return Object.values(tree).some(namesOtherClasses)
}
async function loads(bytes: Uint8Array): Promise<boolean> {
  const serde = await serialiser()
  return serde.loadsTyped('json', bytes).then(
    () => true,
    () => false,
  )
}

/** Encodes a changed tree with the library's own serializer and verifies that a value that could be read before can be read after. */
export async function encode(tree: unknown, before: Uint8Array): Promise<Uint8Array> {
  const [type, bytes] = await (await serialiser()).dumpsTyped(tree)
  if (type !== 'json' || !isDeepStrictEqual(parsed(read(bytes)), tree)) throw new Unreadable('not written as it is')
  if (!namesOtherClasses(tree) && !(await loads(bytes)) && (await loads(before)))
    throw new Unreadable('cannot be decoded after encoding')
  return bytes
}
