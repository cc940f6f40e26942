import { isDeepStrictEqual } from 'node:util'
import { lazily } from '#lib/kernel/lazily.ts'
import { isConstructed, isObject } from './messages.ts'
import { InvalidMsgpack, type Unpacked, unpack } from './msgpack.ts'
import { type Doomed, isHolding } from './survey.ts'

/** Thrown inside; who rewrites a thread says which one. */
export class Unreadable extends Error {}

// The library is large: what erases no checkpoint does not load it.
const serialiser = lazily(async () => new (await import('@langchain/langgraph-checkpoint')).JsonPlusSerializer())
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A blob as a writer's serialiser left it. */
export type Decoded =
  | { kind: 'tree'; tree: unknown }
  /** A `Uint8Array` of the application's, as it is. */
  | { kind: 'bytes'; bytes: Uint8Array }
  /** MessagePack of the serialiser in Python. */
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
/** A changed tree of {@link Unpacked}, read back before anybody else has to. */
export function encodeMsgpack(
  { pack }: Unpacked,
  tree: unknown,
  originOf: (made: object) => object | undefined,
): Uint8Array {
  const bytes = pack(tree, originOf)
  unpacked(bytes)
  return bytes
}

/** `type` and bytes of a row. Throws {@link Unreadable} for what is malformed, encrypted, pickled, or unknown. */
export function decode(type: string | null, bytes: Uint8Array | null): Decoded {
  if (type === 'empty' || type === 'null' || bytes === null) return { kind: 'nothing' }
  if (type === 'json') return { kind: 'tree', tree: parsed(read(bytes)) }
  if (type === 'bytes' || type === 'bytearray') return { kind: 'bytes', bytes }
  if (type === 'msgpack') return unpacked(bytes)
  throw new Unreadable('of an unknown type')
}
/** A column of JSONB, as text. */
export const decodeColumn = (text: string): unknown => parsed(text)

/** The application's own bytes: text that holds something can be cut; anything else that does cannot. */
export function cutBytes(bytes: Uint8Array, doomed: Doomed, cut: (text: string) => string): Uint8Array | undefined {
  if (!isHolding(Buffer.from(bytes).toString('utf8'), doomed)) return undefined
  const made = cut(read(bytes))
  if (isHolding(made, doomed)) throw new Unreadable('bytes that cannot be cut')
  return Buffer.from(made)
}

/** Whether a tree names classes beyond messages and documents: the library would make instances of them, and need not for our sake. */
function namesOtherClasses(tree: unknown): boolean {
  if (Array.isArray(tree)) return tree.some(namesOtherClasses)
  if (!isObject(tree)) return false
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

/**
 * A changed tree as the library's own serialiser writes it, read back by it before anybody else has to: what could be read before can be
 * read after.
 */
export async function encode(tree: unknown, before: Uint8Array): Promise<Uint8Array> {
  const [type, bytes] = await (await serialiser()).dumpsTyped(tree)
  if (type !== 'json' || !isDeepStrictEqual(parsed(read(bytes)), tree)) throw new Unreadable('not written as it is')
  if (!namesOtherClasses(tree) && !(await loads(bytes)) && (await loads(before)))
    throw new Unreadable('cannot be read back')
  return bytes
}
