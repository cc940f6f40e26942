import { parseJson } from '#lib/kernel/json.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { broken, isBlank, type Piece, type SplitOptions, type Splitter, tooLarge } from './split.ts'

/** Splits NDJSON: one line per record with its part; a line without a part belongs to the head. */
export function ndjsonSplitter({ recordBytes, isWanted }: SplitOptions): Splitter {
  let kept: Uint8Array[] = []
  let size = 0
  /** A line is slightly longer than its record. */
  const limit = recordBytes + 1024

  function line(): Piece[] {
    const [bytes, length] = [kept.length === 1 && kept[0] ? kept[0] : Buffer.concat(kept), size]
    kept = []
    size = 0
    if (length > limit) return [{ part: '', fault: tooLarge(recordBytes) }]
    if (bytes.every(isBlank)) return []
    // Our exports write `part` first, so unwanted records need not be parsed.
    const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 300)).toString('latin1')
    const first = /^\s*\{\s*"part"\s*:\s*"([^"\\]{1,200})"/.exec(head)?.[1]
    if (first !== undefined) return recordOf(first, bytes)
    const value = parseJson(bytes)
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw broken('A line is not a JSON object.')
    if ('part' in value && typeof value.part === 'string') return recordOf(value.part, bytes)
    if (!('agent_id' in value || 'total_units' in value))
      return [{ part: '', fault: new Problem('invalid', 'A line does not name its part of the document.') }]
    return Object.entries(value).map(([name, member]) => ({ name, value: member }))
  }
  const recordOf = (part: string, bytes: Uint8Array): Piece[] =>
    isWanted(part) ? [{ part, bytes }] : [{ part, isIgnored: true }]
  return {
    feed(chunk) {
      const pieces: Piece[] = []
      for (let at = 0; ; ) {
        const end = chunk.indexOf(10, at)
        const rest = chunk.subarray(at, end < 0 ? chunk.length : end)
        size += rest.length
        if (size <= limit) kept.push(rest)
        else kept = []
        if (end < 0) return pieces
        pieces.push(...line())
        at = end + 1
      }
    },
    end: () => (size > 0 ? line() : []),
  }
}
