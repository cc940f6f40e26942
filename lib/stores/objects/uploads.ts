import { createHash } from 'node:crypto'
import { Problem } from '#lib/kernel/problem.ts'
import type { ObjectStore } from './objects.ts'

/** The bytes of an upload up to the limit. @throws {Problem} `too_large` */
export async function* limitedUpload(bytes: AsyncIterable<Uint8Array>, max: number): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const piece of bytes) {
    size += piece.byteLength
    if (size > max)
      throw new Problem(
        'too_large',
        `The upload exceeds the limit of ${max.toLocaleString('en')} bytes. Nothing was stored.`,
      )
    yield piece
  }
}

/**
 * Streams an upload to the object store, completely or not at all, and measures it.
 * @throws {Problem} `bad_request` if the upload is interrupted, its own problems, and those of the store
 */
export async function putUpload(
  objects: Pick<ObjectStore, 'put'>,
  key: string,
  { bytes, mediaType }: { bytes: AsyncIterable<Uint8Array>; mediaType: string },
): Promise<{ bytes: number; sha256: Uint8Array<ArrayBuffer> }> {
  const hash = createHash('sha256')
  let size = 0
  let refused: Problem | undefined
  async function* measured(): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of bytes) {
        size += piece.byteLength
        hash.update(piece)
        yield piece
      }
    } catch (error) {
      refused = Problem.is(error)
        ? error
        : new Problem('bad_request', {
            detail: 'The upload was interrupted, so nothing was stored. Send it again.',
            cause: error,
          })
      throw refused
    }
  }
  try {
    await objects.put(key, measured(), { mediaType })
  } catch (error) {
    // Prefer the upload's own problem: the store may have wrapped it.
    throw refused ?? error
  }
  return { bytes: size, sha256: new Uint8Array(hash.digest()) }
}
