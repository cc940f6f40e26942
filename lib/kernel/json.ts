import { isUtf8 } from 'node:buffer'
import { Problem } from './problem.ts'
import { mostMembers, refuseUnstorable } from './storable.ts'

/** How deep a JSON body may be nested. */
const deepest = 64

/** Where the string that begins here ends; the text's end where it does not. Every character is looked at once. */
function endOfString(text: string, start: number): number {
  for (let from = start + 1; ; ) {
    const quote = text.indexOf('"', from)
    if (quote < 0) return text.length
    let slashes = quote
    while (slashes > from && text.charCodeAt(slashes - 1) === 92) slashes--
    // An even number of backslashes are escaped themselves.
    if ((quote - slashes) % 2 === 0) return quote
    from = quote + 1
  }
}

/** Brackets and commas, counted outside strings: what is too deep or too many is refused before anything walks through it. */
function refuseShape(text: string, most: number): void {
  let depth = 0
  let members = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === 34) index = endOfString(text, index)
    else if (code === 123 || code === 91) {
      if (++depth > deepest) throw new Problem('malformed_json', `The body is nested deeper than ${deepest} levels.`)
    } else if (code === 125 || code === 93) depth--
    else if (code === 44 && ++members > most)
      throw new Problem('too_large', `The body has more than ${most.toLocaleString('en')} members and elements.`)
  }
}

export interface JsonBounds {
  /** Members and elements in all; 10,000 unless told. */
  members?: number
  /** Whoever asks looks for what cannot be stored, item by item. */
  isCheckedLater?: boolean
}

/**
 * A JSON text in UTF-8 as a value that the database can hold. Throws `malformed_json` (not UTF-8, not JSON, too deep), `too_large` (too
 * many members) and `invalid` (a NUL character, half a surrogate pair, a member `__proto__`).
 */
export function jsonOf(bytes: Uint8Array, { members = mostMembers, isCheckedLater = false }: JsonBounds = {}): unknown {
  if (!isUtf8(bytes)) throw new Problem('malformed_json', 'The body is not valid UTF-8.')
  // Without the byte order mark that some send.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString('utf8')
    .replace(/^\ufeff/, '')
  refuseShape(text, members)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    // The engine's message quotes the body; only the place may leave.
    const place = error instanceof SyntaxError ? /position (\d+)/.exec(error.message)?.[1] : undefined
    throw new Problem(
      'malformed_json',
      place ? `The JSON breaks at character ${place}.` : 'The JSON ends too early or breaks.',
    )
  }
  if (!isCheckedLater && /\\u(?:0000|d[89a-f])|__proto__|\\u005f/i.test(text)) refuseUnstorable(value)
  return value
}
