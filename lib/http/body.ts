import type { Upload } from '#lib/kernel/operation.ts'
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
  try {
    for await (const piece of request.body) {
      size += piece.byteLength
      if (size > limit) throw tooLarge(limit)
      pieces.push(piece)
    }
  } catch (error) {
    if (Problem.is(error)) throw error
    throw new Problem('bad_request', { detail: 'The body ended before it was whole.', cause: error })
  }
  return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces)
}

/** How deep a JSON body may be nested, and how many members and elements it may have in all. */
const deepest = 64
export const mostMembers = 10_000

/** Brackets and commas, counted outside strings: what is too deep or too many is refused before anything walks through it. */
function refuseShape(text: string, most: number): void {
  let depth = 0
  let members = 0
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
    else if (code === 44 && ++members > most)
      throw new Problem('too_large', `The body has more than ${most.toLocaleString('en')} members and elements.`)
  }
}

export interface BodyBounds {
  bytes: number
  /** Members and elements in all; 10,000 unless told. */
  members?: number
}
export interface ParsedBody {
  value: unknown
  bytes: Uint8Array
}

const mediaTypeOf = (request: DoorRequest): string | undefined =>
  request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()

/** A body to be read while it arrives. Throws 415. */
export function uploaded(request: DoorRequest, mediaTypes: readonly string[]): Upload {
  const mediaType = mediaTypeOf(request)
  if (mediaType === undefined || !mediaTypes.includes(mediaType))
    throw new Problem('unsupported_media_type', {
      detail: `Send ${mediaTypes.join(' or ')}.`,
      headers: { 'Accept-Post': mediaTypes.join(', ') },
    })
  return { mediaType, bytes: request.body ?? none() }
}
async function* none(): AsyncGenerator<Uint8Array> {}

/**
 * The request's JSON, within its bounds. Throws 413, 415 (another media type), 400 (not UTF-8, not JSON, too deep) and
 * 422 (a NUL character, which the database cannot hold). An absent body is undefined.
 */
export async function readJson(
  request: DoorRequest,
  { bytes: limit, members = mostMembers }: BodyBounds,
): Promise<ParsedBody> {
  const type = mediaTypeOf(request)
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
  if (/\\u(?:0000|d[89a-f])|__proto__|\\u005f/i.test(text)) refuseUnstorable(value)
  return { value, bytes }
}

/** NUL characters and lone surrogates have no place in PostgreSQL's jsonb; an escaped backslash before "u0000" is harmless. */
function refuseUnstorable(value: unknown, path: (string | number)[] = []): void {
  const bad = (text: string) => text.includes('\0') || !text.isWellFormed()
  const refuse = (at: (string | number)[], message = 'holds a NUL character or half a surrogate pair') =>
    new Problem('invalid', {
      detail: 'One field is not valid.',
      issues: [{ path: at, message }],
    })
  if (typeof value === 'string') {
    if (bad(value)) throw refuse(path)
  } else if (Array.isArray(value)) for (const [index, item] of value.entries()) refuseUnstorable(item, [...path, index])
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) {
      if (bad(key)) throw refuse(path)
      // A member of this name would vanish on the way into an object.
      if (key === '__proto__') throw refuse([...path, key], 'cannot have this name')
      refuseUnstorable(item, [...path, key])
    }
}
