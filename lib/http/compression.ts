import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FixedContent } from '#lib/kernel/use-case.ts'
import type { ApiResponse } from './api-request.ts'

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
