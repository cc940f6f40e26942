import { createHash } from 'node:crypto'
import { SecretRemaining } from './content.ts'

/** Passes on the pieces of a sealed snapshot, and measures them. The pieces can be read once. */
export function measuredPieces(sealed: AsyncIterable<Uint8Array<ArrayBuffer>>) {
  const hash = createHash('sha256')
  let bytes = 0
  let secret: SecretRemaining | undefined
  async function* pieces() {
    try {
      for await (const piece of sealed) {
        hash.update(piece)
        bytes += piece.byteLength
        yield piece
      }
    } catch (error) {
      if (error instanceof SecretRemaining) secret = error
      throw error
    }
  }
  return {
    pieces,
    /** The secret because of which the snapshot was not sealed. */
    secret: () => secret,
    /** Call it once, after the last piece. */
    result: () => ({ bytes, digest: new Uint8Array(hash.digest()) }),
  }
}
