import { type Bytes, canonical, decoded, decodeText, encoded, membersOf, randomBytes, utf8 } from './encoding.ts'
import { keyLength, tagLength } from './primitives.ts'
import { SealingRefusal } from './sealing-refusal.ts'

export const snapshotKinds = ['on_demand', 'insurance'] as const
export type SnapshotKind = (typeof snapshotKinds)[number]
/** Metadata of a snapshot in plain text, authenticated by every chunk. Times are ISO 8601. */
export interface SnapshotHead {
  id: string
  agent: string
  kind: SnapshotKind
  /** The keyring to whose public key the snapshot's key is sealed. */
  key_id: string
  created_at: string
  /** Null for an insurance snapshot of a living agent. */
  expires_at: string | null
}

const magic = utf8('KPSNAP1\n')
const cipherName = 'AES-256-GCM-STREAM'
/** Bytes of content per sealed chunk. */
export const chunkLength = 65_536
const prefixLength = 7
const largestHeader = 4_096

export const newSnapshotKey = (): Bytes => randomBytes(keyLength)

const importedKey = (key: Bytes, use: 'encrypt' | 'decrypt') =>
  crypto.subtle.importKey('raw', key, 'AES-GCM', false, [use])

/**
 * STREAM (Hoang, Reyhanitabar, Rogaway, Vizár: Online Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance,
 * 2015): the nonce contains the snapshot's prefix, the chunk number and whether it is the last one, so that omitted,
 * repeated, moved or missing chunks are detected.
 */
function chunkCipher(prefix: Bytes, header: Bytes) {
  let number = 0
  return (isLast: boolean) => {
    if (number > 0xffff_ffff) throw new SealingRefusal('too_large')
    const iv = new Uint8Array(12)
    iv.set(prefix)
    new DataView(iv.buffer).setUint32(prefixLength, number++)
    iv[11] = isLast ? 1 : 0
    return { name: 'AES-GCM', iv, additionalData: header, tagLength: tagLength * 8 }
  }
}
const digestOf = async (bytes: Bytes): Promise<Bytes> => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))

/**
 * Splits bytes into pieces of this length. The last one is the remainder and may be empty. All pieces share one
 * buffer: use each before requesting the next.
 */
async function* inPieces(
  source: AsyncIterable<Uint8Array>,
  length: number,
): AsyncGenerator<{ bytes: Bytes; isLast: boolean }> {
  const piece = new Uint8Array(length)
  let filled = 0
  for await (const bytes of source)
    for (let from = 0; from < bytes.length; ) {
      if (filled === length) {
        yield { bytes: piece, isLast: false }
        filled = 0
      }
      const taken = bytes.subarray(from, from + length - filled)
      piece.set(taken, filled)
      filled += taken.length
      from += taken.length
    }
  yield { bytes: piece.subarray(0, filled), isLast: true }
}

/** Seals a stream with one chunk in memory. `key`: 32 bytes that seal nothing else. */
export async function* sealSnapshot(
  key: Bytes,
  { id, agent, kind, key_id, created_at, expires_at }: SnapshotHead,
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Bytes> {
  const prefix = randomBytes(prefixLength)
  const header = utf8(
    canonical({
      v: 1,
      id,
      agent,
      kind,
      key_id,
      created_at,
      expires_at,
      suite: cipherName,
      chunk: chunkLength,
      nonce: encoded(prefix),
    }),
  )
  const start = new Uint8Array(magic.length + 4 + header.length)
  start.set(magic)
  new DataView(start.buffer).setUint32(magic.length, header.length)
  start.set(header, magic.length + 4)
  yield start
  const [sealing, vouched] = [await importedKey(key, 'encrypt'), await digestOf(start)]
  const next = chunkCipher(prefix, vouched)
  for await (const { bytes, isLast } of inPieces(content, chunkLength))
    yield new Uint8Array(await crypto.subtle.encrypt(next(isLast), sealing, bytes))
}

const damaged = () => new SealingRefusal('damaged')
const isKind = (value: unknown): value is SnapshotKind => snapshotKinds.some((kind) => kind === value)

function headOf(header: Bytes): { head: SnapshotHead; prefix: Bytes } {
  let value: unknown
  try {
    value = JSON.parse(decodeText(header))
  } catch {
    throw damaged()
  }
  const names = ['v', 'id', 'agent', 'kind', 'key_id', 'created_at', 'expires_at', 'suite', 'chunk', 'nonce'] as const
  const { v, id, agent, kind, key_id, created_at, expires_at, suite, chunk, nonce } = membersOf(value, names)
  if (v !== 1 || suite !== cipherName || chunk !== chunkLength || !isKind(kind)) throw damaged()
  if (typeof id !== 'string' || typeof agent !== 'string' || typeof key_id !== 'string') throw damaged()
  if (typeof created_at !== 'string' || (expires_at !== null && typeof expires_at !== 'string')) throw damaged()
  return { head: { id, agent, kind, key_id, created_at, expires_at }, prefix: decoded(nonce, prefixLength) }
}

export interface SealedSnapshot {
  /** Not authenticated before the first chunk is opened. */
  head: SnapshotHead
  /**
   * Opens the content with the snapshot's key. Pieces are authentic, but may be incomplete until the end.
   * @throws SealingRefusal `damaged` for a changed bit, and at the end for missing chunks
   */
  open(key: Bytes): AsyncGenerator<Bytes>
}

/** Reads the header of a snapshot of {@link sealSnapshot}. @throws SealingRefusal `damaged` */
export async function readSealedSnapshot(sealed: AsyncIterable<Uint8Array>): Promise<SealedSnapshot> {
  const source = sealed[Symbol.asyncIterator]()
  let buffer = new Uint8Array()
  async function have(length: number): Promise<void> {
    while (buffer.length < length) {
      const { done, value } = await source.next()
      if (done) throw damaged()
      const longer = new Uint8Array(buffer.length + value.length)
      longer.set(buffer)
      longer.set(value, buffer.length)
      buffer = longer
    }
  }
  const fixed = magic.length + 4
  await have(fixed)
  if (magic.some((byte, at) => buffer[at] !== byte)) throw damaged()
  const length = new DataView(buffer.buffer).getUint32(magic.length)
  if (length > largestHeader) throw damaged()
  await have(fixed + length)
  const start = buffer.slice(0, fixed + length)
  const { head, prefix } = headOf(start.slice(fixed))

  async function* rest(): AsyncGenerator<Uint8Array> {
    yield buffer.subarray(fixed + length)
    for (;;) {
      const { done, value } = await source.next()
      if (done) return
      yield value
    }
  }
  return {
    head,
    async *open(key) {
      const [opening, vouched] = [await importedKey(key, 'decrypt'), await digestOf(start)]
      const next = chunkCipher(prefix, vouched)
      try {
        for await (const { bytes, isLast } of inPieces(rest(), chunkLength + tagLength)) {
          if (bytes.length < tagLength) throw damaged()
          const plain = await crypto.subtle.decrypt(next(isLast), opening, bytes).catch(() => {
            throw damaged()
          })
          yield new Uint8Array(plain)
        }
      } finally {
        await source.return?.()
      }
    },
  }
}
