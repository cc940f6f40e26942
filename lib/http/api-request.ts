import { createHash, type Hash, type Hmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { maxMembers, parseJson } from '#lib/kernel/json.ts'
import type { Upload } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { FixedContent } from '#lib/kernel/use-case.ts'

/** What `handle` needs of a request, provided by the Fetch API and by the API server. */
export interface ApiRequest {
  method: string
  /** Absolute, or from the path on. */
  url: string
  headers: { get(name: string): string | null }
  body: AsyncIterable<Uint8Array> | null
  /** Whether the whole body has arrived, so that the client can no longer delay it. False if it is omitted. */
  hasArrived?(): boolean
}

/** Several lines of one header form one list (RFC 9110 §5.3). */
export const headerText = (header: string | string[] | undefined): string | null =>
  header === undefined ? null : Array.isArray(header) ? header.join(', ') : header

/** The response to send. */
export interface ApiResponse {
  status: number
  headers: Record<string, string>
  body: string | Uint8Array | AsyncIterable<string | Uint8Array> | null
}

/** What the HTTP layer knows about the request. */
export interface Via {
  params: Record<string, string>
  /** The client's address, after trusted proxies. */
  address: string
  /** Whether it was received by the listener of KP_METRICS_LISTEN. */
  isMonitoring?: boolean
}

const tooLarge = (limit: number) =>
  new Problem('too_large', {
    detail: `The body is larger than ${limit.toLocaleString('en')} bytes, which is the limit.`,
    extensions: { limit },
  })

/** The whole body. @throws `too_large` (413), `bad_request` (400) if the connection closes before its end */
export async function readBytes(request: ApiRequest, limit: number): Promise<Uint8Array> {
  const length = request.headers.get('content-length')
  if (length !== null && Number(length) > limit) throw tooLarge(limit)
  if (!request.body) return new Uint8Array()
  // Stops at the limit, whatever length was announced, instead of buffering more.
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
    throw new Problem('bad_request', {
      detail: 'The connection closed before the whole body arrived. Send the request again.',
      cause: error,
    })
  }
  return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces)
}

export interface BodyBounds {
  bytes: number
  /** The maximum number of members and elements; 10,000 by default. */
  members?: number
  /** The operation itself checks each item for values that cannot be stored. */
  isCheckedLater?: boolean
}
interface ParsedBody {
  value: unknown
  bytes: Uint8Array
}

const mediaTypeOf = (request: ApiRequest): string | undefined =>
  request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()

/** A body that is read as it arrives. @throws `unsupported_media_type` (415) */
export function uploaded(request: ApiRequest, mediaTypes: readonly string[]): Upload {
  const mediaType = mediaTypeOf(request)
  if (mediaType === undefined || !mediaTypes.includes(mediaType))
    throw new Problem('unsupported_media_type', {
      detail: `Send ${mediaTypes.join(' or ')}.`,
      headers: { 'Accept-Post': mediaTypes.join(', ') },
    })
  const charset = /;\s*charset="?([\w.:-]{1,40})/i.exec(request.headers.get('content-type') ?? '')?.[1]
  return { mediaType, ...(charset !== undefined && { charset }), bytes: request.body ?? none() }
}
async function* none(): AsyncGenerator<Uint8Array> {}

/**
 * The request's JSON, within its bounds; undefined without a body. @throws 413, 415 (another media type), 400 (not UTF-8, not JSON,
 * nested too deep), 422 (a NUL character, which the database cannot store)
 */
export async function readJson(
  request: ApiRequest,
  { bytes: limit, members = maxMembers, isCheckedLater = false }: BodyBounds,
): Promise<ParsedBody> {
  const type = mediaTypeOf(request)
  const bytes = await readBytes(request, limit)
  if (bytes.byteLength === 0) return { value: undefined, bytes }
  if (type !== 'application/json' && !type?.endsWith('+json'))
    throw new Problem('unsupported_media_type', {
      detail: 'Send JSON, with Content-Type: application/json.',
      headers: { 'Accept-Post': 'application/json' },
    })
  return { value: parseJson(bytes, { members, isCheckedLater }), bytes }
}

/** The maximum number of bytes to read from an upload that is only compared with an earlier one. */
const maxCompared = 1024 ** 3

/** An upload whose bytes are hashed and counted as they arrive. */
export function observedUpload(
  { bytes, ...about }: Upload,
  { hash, arrived }: { hash: Hash | Hmac; arrived(bytes: number): Promise<void> },
): { upload: Upload; digest(): Promise<Uint8Array> } {
  const source = bytes[Symbol.asyncIterator]()
  let isWhole = false
  let size = 0
  let digest: Uint8Array | undefined
  async function next(): Promise<Uint8Array | undefined> {
    const { done, value } = await source.next()
    if (done) {
      isWhole = true
      return undefined
    }
    size += value.byteLength
    hash.update(value)
    return value
  }
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let piece = await next(); piece; piece = await next()) {
      await arrived(piece.byteLength)
      yield piece
    }
  }
  return {
    upload: { ...about, bytes: pieces() },
    /** The hash of the whole body; it reads the bytes that the reader has not read. */
    async digest() {
      while (!isWhole && size <= maxCompared) await next()
      if (!isWhole)
        throw new Problem(
          'too_large',
          'The upload is too large to compare it with the first request of this Idempotency-Key.',
        )
      digest ??= hash.digest()
      return digest
    },
  }
}

/** Compresses the text once. */
export async function fixedContent(mediaType: string, text: string): Promise<FixedContent> {
  const identity = Buffer.from(text)
  // The highest quality takes seconds for 5% fewer bytes.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: identity.byteLength }
  const [br, gzipped] = await Promise.all([
    promisify(brotliCompress)(identity, { params }),
    promisify(gzip)(identity, { level: 9 }),
  ])
  // Weak, because all encodings share it (RFC 9110 §8.8.3.3).
  const etag = `W/"${createHash('sha256').update(identity).digest('base64url').slice(0, 27)}"`
  return { mediaType, etag, encodings: { br, gzip: gzipped, identity } }
}

/** The smallest encoding that `Accept-Encoding` names (RFC 9110 §12.5.3). A client that names none gets the plain text. */
export function acceptedEncoding(header: string | null): keyof FixedContent['encodings'] {
  const accepted = new Set(
    (header ?? '').split(',').flatMap((part) => {
      const [name = '', ...parameters] = part.toLowerCase().split(';')
      const isRefused = parameters.some((one) => /^\s*q\s*=\s*0(?:\.0{0,3})?\s*$/.test(one))
      return isRefused ? [] : [name.trim()]
    }),
  )
  if (accepted.has('br')) return 'br'
  return accepted.has('gzip') ? 'gzip' : 'identity'
}

/** Bytes. Below this, compression saves no packet. */
const fewest = 1_400

/**
 * Whether a response may be compressed. The length of a compressed response can reveal a secret in it, when an attacker makes the reader's
 * browser send the request many times with guesses in the address (BREACH). So a request that another site caused gets an uncompressed
 * response. Browsers report the cause on https and localhost. Without that report, only a request without a session qualifies.
 */
export function isCompressible({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const cause = headers['sec-fetch-site']
  return cause === undefined ? headers.cookie === undefined : cause === 'same-origin' || cause === 'none'
}

/** With qualities for a text that is compressed for one response. */
const encoders = {
  br: (text: string) => promisify(brotliCompress)(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (text: string) => promisify(gzip)(text),
}

/** Compresses a text if the client accepts it. A strong ETag identifies one encoding, so a text that has one remains uncompressed. */
export async function compressed(answer: ApiResponse, request: Pick<IncomingMessage, 'headers'>): Promise<ApiResponse> {
  const { headers, body } = answer
  const isFixed = headers['Content-Encoding'] !== undefined || headers.ETag?.startsWith('"') === true
  if (typeof body !== 'string' || isFixed || Buffer.byteLength(body) < fewest) return answer
  const varied = { ...headers, Vary: 'Accept-Encoding' }
  const encoding = acceptedEncoding(request.headers['accept-encoding']?.toString() ?? null)
  if (encoding === 'identity' || !isCompressible(request)) return { ...answer, headers: varied }
  return { ...answer, headers: { ...varied, 'Content-Encoding': encoding }, body: await encoders[encoding](body) }
}
