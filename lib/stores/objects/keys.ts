import { Problem } from '#lib/kernel/problem.ts'

/** The maximum length of a key in bytes of UTF-8 in S3 and Google Cloud Storage. */
const maxBytes = 1024

const isControl = (character: string): boolean => character < ' ' || character === '\u007f'

/** Whether a server can be asked for this key. Applications may use keys that we would not. */
export const isAskable = (key: string): boolean =>
  key !== '' && key.isWellFormed() && Buffer.byteLength(key) <= maxBytes && ![...key].some(isControl)

/**
 * Whether an object may be stored under this key: every store accepts it and returns it unchanged, and no server interprets it as a path
 * to a parent folder.
 */
export const isObjectKey = (key: string): boolean =>
  isAskable(key) && key.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..')

export function checkKey(key: string): void {
  if (!isObjectKey(key))
    throw new Problem(
      'bad_request',
      `This object key is invalid. A key has 1 to ${maxBytes} bytes, no control characters, and no segment that is empty, “.” or “..”. Nothing was stored.`,
    )
}

/** For an existing object, which may have a key that we would not use. */
export function checkAskable(key: string): void {
  if (!isAskable(key))
    throw new Problem(
      'bad_request',
      'The object cannot be changed, because its key is empty, too long, or has control characters. Nothing was stored.',
    )
}

/** By bytes, as servers list keys. */
export const inKeyOrder = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other))

/** Runs `run` for each item, `atOnce` concurrently. The first failure stops it. */
export async function forEach<T>(items: readonly T[], atOnce: number, run: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  await Promise.all(
    Array.from({ length: Math.min(atOnce, items.length) }, async () => {
      for (const item of left) await run(item)
    }),
  )
}

/** The bytes of a stream; undefined if there are more than `max`. */
export async function bytesUpTo(stream: AsyncIterable<Uint8Array>, max: number): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of stream) {
    size += piece.length
    if (size > max) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
