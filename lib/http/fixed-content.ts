import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FixedContent } from '#lib/kernel/use-case.ts'

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
