import { isUtf8 } from 'node:buffer'
import { invalid, Problem } from './problem.ts'

/** The maximum number of members and elements of one JSON document. */
export const maxMembers = 10_000

/** Upper bounds in bytes: of one character as a JSON escape (`widest`), and of a number or the syntax around a member (`around`). */
const widest = 6
const around = 32

/**
 * Rejects values that PostgreSQL's jsonb cannot store: NUL characters, lone surrogates, and members named `__proto__`, which would be
 * lost in an object. Returns an upper bound for the bytes of its JSON, far above the real size. @throws `invalid` with the path,
 * `too_large` for more than `max` members and elements
 */
export function refuseUnstorable(value: unknown, max = Number.POSITIVE_INFINITY): number {
  const path: (string | number)[] = []
  let members = 0
  let bytes = 0
  const isBad = (text: string) => text.includes('\0') || !text.isWellFormed()
  const refuseText = (text: string): void => {
    bytes += text.length * widest
    if (isBad(text)) throw invalid([...path], 'must not contain NUL characters or unpaired surrogates')
  }
  const count = (more: number): void => {
    members += more
    bytes += more * around
    if (members > max)
      throw new Problem('too_large', `The value has more than ${max.toLocaleString('en')} members and elements.`)
  }
  const visit = (node: unknown): void => {
    if (typeof node === 'string') refuseText(node)
    else if (Array.isArray(node)) {
      count(node.length)
      for (let index = 0; index < node.length; index++) {
        path.push(index)
        visit(node[index])
        path.pop()
      }
    } else if (typeof node === 'object' && node !== null) {
      const entries = Object.entries(node)
      count(entries.length)
      for (const [key, item] of entries) {
        refuseText(key)
        path.push(key)
        if (key === '__proto__') throw invalid([...path], 'cannot have this name')
        visit(item)
        path.pop()
      }
    }
  }
  visit(value)
  return bytes + around
}

/** The maximum nesting depth of a JSON body. */
const deepest = 64

/** The index of the quote that ends the string starting here, or the text's length if it is unterminated. Linear time. */
function endOfString(text: string, start: number): number {
  for (let from = start + 1; ; ) {
    const quote = text.indexOf('"', from)
    if (quote < 0) return text.length
    let slashes = quote
    while (slashes > from && text.charCodeAt(slashes - 1) === 92) slashes--
    // With an even number of backslashes before it, the quote itself is not escaped.
    if ((quote - slashes) % 2 === 0) return quote
    from = quote + 1
  }
}

/** Counts brackets and commas outside strings, so that a body that is too deep or too large is rejected before it is parsed. */
function refuseShape(text: string, max: number): void {
  let depth = 0
  let members = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === 34) index = endOfString(text, index)
    else if (code === 123 || code === 91) {
      if (++depth > deepest) throw new Problem('malformed_json', `The body is nested deeper than ${deepest} levels.`)
    } else if (code === 125 || code === 93) depth--
    else if (code === 44 && ++members > max)
      throw new Problem('too_large', `The body has more than ${max.toLocaleString('en')} members and elements.`)
  }
}

interface JsonBounds {
  /** The maximum number of members and elements in total; 10,000 by default. */
  members?: number
  /** The caller checks each item for values that cannot be stored. */
  isCheckedLater?: boolean
}

/**
 * Parses a JSON text in UTF-8 into a value that the database can store. @throws `malformed_json` (not UTF-8, not JSON, nested too deep),
 * `too_large` (too many members), `invalid` (a NUL character, a lone surrogate, a member `__proto__`)
 */
export function parseJson(
  bytes: Uint8Array,
  { members = maxMembers, isCheckedLater = false }: JsonBounds = {},
): unknown {
  if (!isUtf8(bytes)) throw new Problem('malformed_json', 'The body is not valid UTF-8.')
  // Some clients send a byte order mark.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString('utf8')
    .replace(/^\ufeff/, '')
  refuseShape(text, members)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    // The engine's message quotes the body, so only the position may be returned.
    const place = error instanceof SyntaxError ? /position (\d+)/.exec(error.message)?.[1] : undefined
    throw new Problem(
      'malformed_json',
      place ? `The JSON is not valid at character ${place}.` : 'The JSON is incomplete or not valid.',
    )
  }
  // Any character of `__proto__` can be written as an escape.
  if (!isCheckedLater && /\\u(?:0000|d[89a-f]|005f|006f|007[024])|__proto__/i.test(text)) refuseUnstorable(value)
  return value
}
