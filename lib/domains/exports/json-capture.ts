import { isBlank } from './split.ts'

const backslash = 92
export const [quote, comma, colon] = [34, 44, 58]
export const [openBrace, closeBrace, openBracket, closeBracket] = [123, 125, 91, 93]

/** Finds the end of one JSON value, and stores its bytes up to a limit. */
export function createCapture() {
  let kept: Uint8Array[] = []
  let size = 0
  let limit = 0
  let depth = 0
  let inString = false
  let isEscaped = false
  let isScalar = false

  /** Returns the index after the value, or the chunk's length if the value continues. */
  function endOf(chunk: Uint8Array, from: number): number {
    let at = from
    for (; at < chunk.length; at++) {
      const code = chunk[at]
      if (inString) {
        if (isEscaped) isEscaped = false
        else if (code === backslash) isEscaped = true
        else if (code === quote) {
          inString = false
          if (depth === 0) return at + 1
        }
      } else if (code === quote) inString = true
      else if (code === openBrace || code === openBracket) depth++
      else if (code === closeBrace || code === closeBracket) {
        if (isScalar) return at
        if (--depth === 0) return at + 1
      } else if (isScalar && (code === comma || (code !== undefined && isBlank(code)))) return at
    }
    return at
  }
  return {
    /** Starts a value whose first byte is `first`. */
    begin(first: number, most: number): void {
      kept = []
      size = 0
      limit = most
      depth = 0
      inString = isEscaped = false
      isScalar = first !== openBrace && first !== openBracket && first !== quote
    },
    /** Continues the value; returns the next index and whether the value is complete. */
    take(chunk: Uint8Array, from: number): { next: number; isWhole: boolean } {
      const next = endOf(chunk, from)
      size += next - from
      if (size <= limit) kept.push(chunk.subarray(from, next))
      else kept = []
      const isWhole = isScalar ? next < chunk.length : depth === 0 && !inString
      return { next, isWhole }
    },
    /** Returns the bytes of the value; undefined if it exceeded the limit. */
    bytes: (): Uint8Array | undefined =>
      size > limit ? undefined : kept.length === 1 && kept[0] ? kept[0] : Buffer.concat(kept),
  }
}
