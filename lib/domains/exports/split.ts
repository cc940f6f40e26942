import { parseJson } from '#lib/kernel/json.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** A part of a document: a record as received, or the reason why it was skipped; or a member of the head. */
export type Piece =
  | { part: string; bytes: Uint8Array }
  | { part: string; fault: Problem }
  | { part: string; isIgnored: true }
  | { name: string; value: unknown }

/** Splits a document while it arrives; holds at most one record in memory. */
export interface Splitter {
  /**
   * Returns the pieces that these bytes complete.
   * @throws Problem `malformed_json`
   */
  feed(chunk: Uint8Array): Piece[]
  /**
   * Returns the remaining pieces.
   * @throws Problem `malformed_json` when the document is incomplete
   */
  end(): Piece[]
}
export interface SplitOptions {
  /** Maximum bytes of one record. */
  recordBytes: number
  isWanted(part: string): boolean
}

/** Maximum bytes of the name or value of a member of the head. */
const headBytes = 16 * 1024

const [quote, backslash, comma, colon] = [34, 92, 44, 58]
const [openBrace, closeBrace, openBracket, closeBracket] = [123, 125, 91, 93]
/** May precede the document and is ignored. */
const byteOrderMark = [0xef, 0xbb, 0xbf]
const isBlank = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9

const tooLarge = (limit: number) =>
  new Problem('too_large', `A record has more than ${limit.toLocaleString('en')} bytes; it was skipped.`)
const broken = (detail: string) => new Problem('malformed_json', detail)

/** Finds the end of one JSON value, and stores its bytes up to a limit. */
function createCapture() {
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

/**
 * Splits one JSON object. Members that are arrays are parts with records; the others belong to the head. Exports of the open-source
 * registry are the only member `data` of an object; within it, members that are objects are ignored.
 */
export function jsonSplitter({ recordBytes, isWanted }: SplitOptions): Splitter {
  type State =
    | 'start'
    | 'name-or-end'
    | 'name'
    | 'colon'
    | 'value'
    | 'member'
    | 'after-member'
    | 'record-or-end'
    | 'record'
    | 'after-record'
    | 'after-data'
    | 'done'
  const capture = createCapture()
  let state: State = 'start'
  let name = ''
  let isFirst = true
  let isWrapped = false
  let isSkipped = false
  let members = 0
  let marks = 0

  const wholeOf = (most: number): Uint8Array => {
    const bytes = capture.bytes()
    if (!bytes)
      throw new Problem(
        'too_large',
        `A member of the document’s head has more than ${most.toLocaleString('en')} bytes.`,
      )
    return bytes
  }
  function record(): Piece {
    if (!isWanted(name)) return { part: name, isIgnored: true }
    const bytes = capture.bytes()
    return bytes ? { part: name, bytes } : { part: name, fault: tooLarge(recordBytes) }
  }
  function closeObject(): void {
    state = isWrapped ? 'after-data' : 'done'
    isWrapped = false
  }
  const unexpected = () => broken('The JSON is not valid: a comma, colon, quote or bracket is missing or misplaced.')

  /** Processes one byte between values. Returns true when a value begins with it. */
  function step(code: number): boolean {
    switch (state) {
      case 'start':
        if (code === byteOrderMark[marks]) {
          marks++
          return false
        }
        if (code !== openBrace) throw broken('The document is not a JSON object.')
        state = 'name-or-end'
        return false
      case 'name-or-end':
        if (code === closeBrace && isFirst) closeObject()
        else if (code === quote) {
          state = 'name'
          capture.begin(code, headBytes)
          return true
        } else throw unexpected()
        return false
      case 'colon':
        if (code !== colon) throw unexpected()
        state = 'value'
        return false
      case 'value':
        isFirst = false
        if (code === openBracket) {
          state = 'record-or-end'
          isFirst = true
          return false
        }
        if (code === comma || code === colon || code === closeBrace || code === closeBracket) throw unexpected()
        if (++members === 1 && code === openBrace && name === 'data') {
          isWrapped = true
          isFirst = true
          state = 'name-or-end'
          return false
        }
        isSkipped = isWrapped && code === openBrace
        state = 'member'
        capture.begin(code, isSkipped ? 0 : headBytes)
        return true
      case 'after-member':
        if (code === comma) state = 'name-or-end'
        else if (code === closeBrace) closeObject()
        else throw unexpected()
        return false
      case 'after-data':
        if (code !== closeBrace) throw unexpected()
        state = 'done'
        return false
      case 'record-or-end':
        if (code === closeBracket && isFirst) state = 'after-member'
        else if (code === comma || code === colon || code === closeBrace || code === closeBracket) throw unexpected()
        else {
          state = 'record'
          capture.begin(code, isWanted(name) ? recordBytes : 0)
          return true
        }
        isFirst = false
        return false
      case 'after-record':
        if (code === comma) state = 'record-or-end'
        else if (code === closeBracket) state = 'after-member'
        else throw unexpected()
        isFirst = false
        return false
      default:
        throw broken('The document is followed by more text. Send exactly one document.')
    }
  }
  /** Processes a complete value. */
  function whole(): Piece | undefined {
    if (state === 'record') {
      state = 'after-record'
      return record()
    }
    if (state === 'member' && isSkipped) {
      state = 'after-member'
      return { part: name, isIgnored: true }
    }
    const value = parseJson(wholeOf(headBytes))
    if (state === 'name') {
      name = String(value)
      state = 'colon'
      return undefined
    }
    state = 'after-member'
    return { name, value }
  }
  return {
    feed(chunk) {
      const pieces: Piece[] = []
      let at = 0
      while (at < chunk.length) {
        const code = chunk[at] ?? 0
        const isInside = state === 'name' || state === 'member' || state === 'record'
        if (!isInside) {
          if (isBlank(code) || !step(code)) {
            at++
            continue
          }
        }
        const { next, isWhole } = capture.take(chunk, at)
        at = next
        if (!isWhole) break
        const piece = whole()
        if (piece) pieces.push(piece)
      }
      return pieces
    },
    end() {
      if (state !== 'done') throw broken('The document is incomplete. Send it again.')
      return []
    },
  }
}

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
