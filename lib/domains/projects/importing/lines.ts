/** A line of NDJSON with its number, from 1. `bytes` is absent if the line is too long. */
export interface NdjsonLine {
  number: number
  bytes?: Uint8Array
}
const newline = 10

/** Yields the lines of a stream without blank ones. Buffers at most `longest` bytes; a longer line is not buffered. */
export async function* ndjsonLinesOf(bytes: AsyncIterable<Uint8Array>, longest: number): AsyncGenerator<NdjsonLine> {
  let kept: Uint8Array[] = []
  let size = 0
  let number = 0
  const isBlank = (line: Uint8Array): boolean => line.every((code) => code === 32 || code === 9 || code === 13)
  function whole(): NdjsonLine | undefined {
    const [line, length] = [Buffer.concat(kept), size]
    kept = []
    size = 0
    number++
    if (length > longest) return { number }
    return isBlank(line) ? undefined : { number, bytes: line }
  }
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; ) {
      const end = chunk.indexOf(newline, at)
      const rest = chunk.subarray(at, end < 0 ? chunk.length : end)
      size += rest.length
      if (size <= longest) kept.push(rest)
      else kept = []
      if (end < 0) break
      const line = whole()
      if (line) yield line
      at = end + 1
    }
  }
  const last = size > 0 ? whole() : undefined
  if (last) yield last
}
