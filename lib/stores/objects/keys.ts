import { Problem } from '#lib/kernel/problem.ts'

/** Of a key, in bytes of UTF-8: what S3 and Google Cloud Storage take. */
const mostBytes = 1024

const isControl = (character: string): boolean => character < ' ' || character === '\u007f'

/** Whether a server can be asked for it; applications may have named objects so that we would not. */
export const isAskable = (key: string): boolean =>
  key !== '' && key.isWellFormed() && Buffer.byteLength(key) <= mostBytes && ![...key].some(isControl)

/** Whether an object may be put under it: what every store takes and gives back as it was, and no server reads as a path that climbs. */
export const isKey = (key: string): boolean =>
  isAskable(key) && key.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..')

export function checkKey(key: string): void {
  if (!isKey(key))
    throw new Problem(
      'bad_request',
      `No object can have this key: it takes 1 to ${mostBytes} bytes, no control characters, and no empty segment, “.” or “..” between its slashes. Nothing was stored.`,
    )
}

/** In the order of their bytes, as the servers list them. */
export const inKeyOrder = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other))

/** Runs it for each, some at once. The first failure ends it. */
export async function forEach<T>(items: readonly T[], atOnce: number, run: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  await Promise.all(
    Array.from({ length: Math.min(atOnce, items.length) }, async () => {
      for (const item of left) await run(item)
    }),
  )
}

/** The bytes of a stream; undefined where there are more than `most`. */
export async function bytesUpTo(stream: AsyncIterable<Uint8Array>, most: number): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of stream) {
    size += piece.length
    if (size > most) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
