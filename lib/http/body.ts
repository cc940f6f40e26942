import { Problem } from '#lib/kernel/problem.ts'
import type { DoorRequest } from './door.ts'

const tooLarge = (limit: number) =>
  new Problem('too_large', {
    detail: `At most ${limit.toLocaleString('en')} bytes are taken here.`,
    extensions: { limit },
  })

async function readBytes(request: DoorRequest, limit: number): Promise<Uint8Array> {
  const length = request.headers.get('content-length')
  if (length !== null && Number(length) > limit) throw tooLarge(limit)
  if (!request.body) return new Uint8Array()
  // Whatever length was promised: stop at the limit instead of holding what comes.
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of request.body) {
    size += piece.byteLength
    if (size > limit) throw tooLarge(limit)
    pieces.push(piece)
  }
  return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces)
}

/** How deep a JSON body may be nested. */
const deepest = 64

/** The bytes' brackets, counted outside strings: a body nested deeper is refused before anything recurses into it. */
function refuseDepth(text: string): void {
  let depth = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (inString) {
      if (code === 92) index++
      else if (code === 34) inString = false
    } else if (code === 34) inString = true
    else if (code === 123 || code === 91) {
      if (++depth > deepest) throw new Problem('malformed_json', `The body is nested deeper than ${deepest} levels.`)
    } else if (code === 125 || code === 93) depth--
  }
}

export interface ParsedBody {
  value: unknown
  bytes: Uint8Array
}

/**
 * The request's JSON, at most `limit` bytes of it. Throws 413, 415 (another media type), 400 (not UTF-8, not JSON, too deep) and
 * 422 (a NUL character, which the database cannot hold). An absent body is undefined.
 */
export async function readJson(request: DoorRequest, limit: number): Promise<ParsedBody> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  const bytes = await readBytes(request, limit)
  if (bytes.byteLength === 0) return { value: undefined, bytes }
  if (type !== 'application/json' && !type?.endsWith('+json'))
    throw new Problem('unsupported_media_type', {
      detail: 'Send JSON, with Content-Type: application/json.',
      headers: { 'Accept-Post': 'application/json' },
    })
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    throw new Problem('malformed_json', 'The body is not valid UTF-8.')
  }
  refuseDepth(text)
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
  if (/\\u(?:0000|d[89a-f])/i.test(text)) refuseUnstorable(value)
  return { value, bytes }
}

/** NUL characters and lone surrogates have no place in PostgreSQL's jsonb; an escaped backslash before "u0000" is harmless. */
function refuseUnstorable(value: unknown, path: (string | number)[] = []): void {
  const bad = (text: string) => text.includes('\0') || !text.isWellFormed()
  const refuse = (at: (string | number)[]) =>
    new Problem('invalid', {
      detail: 'One field is not valid.',
      issues: [{ path: at, message: 'holds a NUL character or half a surrogate pair' }],
    })
  if (typeof value === 'string') {
    if (bad(value)) throw refuse(path)
  } else if (Array.isArray(value)) for (const [index, item] of value.entries()) refuseUnstorable(item, [...path, index])
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) {
      if (bad(key)) throw refuse(path)
      refuseUnstorable(item, [...path, key])
    }
}
