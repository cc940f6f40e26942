import type { Hash, Hmac } from 'node:crypto'
import type { Upload } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** The maximum number of bytes to read from an upload that is only compared with an earlier one. */
const mostCompared = 1024 ** 3

/** An upload whose bytes are hashed and counted as they arrive. */
export function observedUpload(
  { mediaType, bytes }: Upload,
  { hash, arrived }: { hash: Hash | Hmac; arrived(bytes: number): Promise<void> },
): { upload: Upload; digest(): Promise<Uint8Array> } {
  const source = bytes[Symbol.asyncIterator]()
  let isWhole = false
  let size = 0
  let digest: Uint8Array | undefined
  async function next(): Promise<Uint8Array | undefined> {
    const { done, value } = await source.next()
    if (done) {
      isWhole = true
      return undefined
    }
    size += value.byteLength
    hash.update(value)
    return value
  }
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let piece = await next(); piece; piece = await next()) {
      await arrived(piece.byteLength)
      yield piece
    }
  }
  return {
    upload: { mediaType, bytes: pieces() },
    /** The hash of the whole body; it reads the bytes that the reader has not read. */
    async digest() {
      while (!isWhole && size <= mostCompared) await next()
      if (!isWhole)
        throw new Problem(
          'too_large',
          'The upload is too large to compare it with the first request of this Idempotency-Key.',
        )
      digest ??= hash.digest()
      return digest
    },
  }
}
