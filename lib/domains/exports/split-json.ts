import { parseJson } from '#lib/kernel/json.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { closeBrace, closeBracket, colon, comma, createCapture, openBrace, openBracket, quote } from './json-capture.ts'
import { broken, isBlank, type Piece, type SplitOptions, type Splitter, tooLarge } from './split.ts'

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
  /** Members so far that are not parts. */
  members: number
  /** Bytes so far of the byte order mark. */
  marks: number
}

const unexpected = () => broken('The JSON is not valid: a comma, colon, quote or bracket is missing or misplaced.')
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
