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
interface SplitOptions {
  /** Maximum bytes of one record. */
  recordBytes: number
  isWanted(part: string): boolean
}

const isBlank = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9

const tooLarge = (limit: number) =>
  new Problem('too_large', `A record has more than ${limit.toLocaleString('en')} bytes; it was skipped.`)
const broken = (detail: string) => new Problem('malformed_json', detail)

/**
 * Splits NDJSON. A line is one record with the name of its part: `{"part":"knowledge", …}`. A line without `part` is the head of the document,
 * which has `agent_id` or `total_units`.
 */
export function ndjsonSplitter({ recordBytes, isWanted }: SplitOptions): Splitter {
  let retained: Uint8Array[] = []
  let size = 0
  /** In bytes. A line has the name of the part beside the record. */
  const limit = recordBytes + 1024

  function line(): Piece[] {
    const [bytes, length] = [retained.length === 1 && retained[0] ? retained[0] : Buffer.concat(retained), size]
    retained = []
    size = 0
    if (length > limit) return [{ part: '', fault: tooLarge(recordBytes) }]
    if (bytes.every(isBlank)) return []
    // Our exports write `part` first, so a record of an unwanted part is not parsed.
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
        if (size <= limit) retained.push(rest)
        else retained = []
        if (end < 0) return pieces
        pieces.push(...line())
        at = end + 1
      }
    },
    end: () => (size > 0 ? line() : []),
  }
}

/** Maximum bytes of the name or value of a member of the head. */
const headBytes = 16 * 1024
/** May precede the document and is ignored. */
const byteOrderMark = [0xef, 0xbb, 0xbf]

interface JsonState {
  /** What comes next. `name`, `member` and `record`: more bytes of that value. */
  next:
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
  /** The name of the current member. */
  name: string
  /** Whether nothing precedes in the current object or array. */
  isFirst: boolean
  /** Whether the current object is the member `data` of the document. */
  isWrapped: boolean
  /** Whether the current member is ignored. */
  isSkipped: boolean
  /** Number of members read so far that are not parts. */
  members: number
  /** Number of bytes of the byte order mark read so far. */
  marks: number
}

const unexpected = () => broken('The JSON is not valid: a comma, colon, quote or bracket is missing or misplaced.')

const backslash = 92
const [quote, comma, colon] = [34, 44, 58]
const [openBrace, closeBrace, openBracket, closeBracket] = [123, 125, 91, 93]

/** Finds the end of one JSON value, and stores its bytes up to a limit. */
function createCapture() {
  let retained: Uint8Array[] = []
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
    begin(first: number, max: number): void {
      retained = []
      size = 0
      limit = max
      depth = 0
      inString = isEscaped = false
      isScalar = first !== openBrace && first !== openBracket && first !== quote
    },
    /** Continues the value; returns the next index and whether the value is complete. */
    take(chunk: Uint8Array, from: number): { next: number; isWhole: boolean } {
      const next = endOf(chunk, from)
      size += next - from
      if (size <= limit) retained.push(chunk.subarray(from, next))
      else retained = []
      const isWhole = isScalar ? next < chunk.length : depth === 0 && !inString
      return { next, isWhole }
    },
    /** Returns the bytes of the value; undefined if it exceeded the limit. */
    bytes: (): Uint8Array | undefined =>
      size > limit ? undefined : retained.length === 1 && retained[0] ? retained[0] : Buffer.concat(retained),
  }
}

/** Whether this byte cannot begin a value. */
const isPunctuation = (code: number): boolean =>
  code === comma || code === colon || code === closeBrace || code === closeBracket

function closeObject(state: JsonState): void {
  state.next = state.isWrapped ? 'after-data' : 'done'
  state.isWrapped = false
}

/** Begins the value of a member, and returns its maximum of bytes. Returns undefined if it is an array or `data`. */
function beginMember(state: JsonState, code: number): number | undefined {
  state.isFirst = code === openBracket
  if (code === openBracket) {
    state.next = 'record-or-end'
    return undefined
  }
  if (isPunctuation(code)) throw unexpected()
  if (++state.members === 1 && code === openBrace && state.name === 'data') {
    state.isWrapped = state.isFirst = true
    state.next = 'name-or-end'
    return undefined
  }
  state.isSkipped = state.isWrapped && code === openBrace
  state.next = 'member'
  return state.isSkipped ? 0 : headBytes
}

/** Processes one byte between values. If a value begins with it, returns how many bytes of the value to store. */
function step(state: JsonState, code: number, recordLimit: (part: string) => number): number | undefined {
  switch (state.next) {
    case 'start':
      if (code === byteOrderMark[state.marks]) state.marks++
      else if (code === openBrace) state.next = 'name-or-end'
      else throw broken('The document is not a JSON object.')
      return undefined
    case 'name-or-end':
      if (code === quote) {
        state.next = 'name'
        return headBytes
      }
      if (code !== closeBrace || !state.isFirst) throw unexpected()
      closeObject(state)
      return undefined
    case 'colon':
      if (code !== colon) throw unexpected()
      state.next = 'value'
      return undefined
    case 'value':
      return beginMember(state, code)
    case 'after-member':
      if (code === comma) state.next = 'name-or-end'
      else if (code === closeBrace) closeObject(state)
      else throw unexpected()
      return undefined
    case 'after-data':
      if (code !== closeBrace) throw unexpected()
      state.next = 'done'
      return undefined
    case 'record-or-end':
      if (code === closeBracket && state.isFirst) {
        state.next = 'after-member'
        state.isFirst = false
        return undefined
      }
      if (isPunctuation(code)) throw unexpected()
      state.next = 'record'
      return recordLimit(state.name)
    case 'after-record':
      if (code === comma) state.next = 'record-or-end'
      else if (code === closeBracket) state.next = 'after-member'
      else throw unexpected()
      state.isFirst = false
      return undefined
    default:
      throw broken('The document is followed by more text. Send exactly one document.')
  }
}

/**
 * Splits one JSON object. Members that are arrays are parts with records; the others belong to the head. Exports of the open-source
 * registry are the only member `data` of an object; within it, members that are objects are ignored.
 */
export function jsonSplitter({ recordBytes, isWanted }: SplitOptions): Splitter {
  const capture = createCapture()
  const state: JsonState = {
    next: 'start',
    name: '',
    isFirst: true,
    isWrapped: false,
    isSkipped: false,
    members: 0,
    marks: 0,
  }
  const recordLimit = (part: string): number => (isWanted(part) ? recordBytes : 0)

  function record(): Piece {
    const part = state.name
    if (!isWanted(part)) return { part, isIgnored: true }
    const bytes = capture.bytes()
    return bytes ? { part, bytes } : { part, fault: tooLarge(recordBytes) }
  }
  /** Processes a complete value. */
  function whole(): Piece | undefined {
    if (state.next === 'record') {
      state.next = 'after-record'
      return record()
    }
    if (state.next === 'member' && state.isSkipped) {
      state.next = 'after-member'
      return { part: state.name, isIgnored: true }
    }
    const bytes = capture.bytes()
    if (!bytes)
      throw new Problem(
        'too_large',
        `A member of the document’s head has more than ${headBytes.toLocaleString('en')} bytes.`,
      )
    const value = parseJson(bytes)
    if (state.next === 'name') {
      state.name = String(value)
      state.next = 'colon'
      return undefined
    }
    state.next = 'after-member'
    return { name: state.name, value }
  }
  return {
    feed(chunk) {
      const pieces: Piece[] = []
      for (let at = 0; at < chunk.length; ) {
        const code = chunk[at] ?? 0
        if (state.next !== 'name' && state.next !== 'member' && state.next !== 'record') {
          const limit = isBlank(code) ? undefined : step(state, code, recordLimit)
          if (limit === undefined) {
            at++
            continue
          }
          capture.begin(code, limit)
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
      if (state.next !== 'done') throw broken('The document is incomplete. Send it again.')
      return []
    },
  }
}
