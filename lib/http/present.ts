import { createHash } from 'node:crypto'
import type { Answer, FixedContent } from '#lib/kernel/answer.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import type { ApiRequest, ApiResponse } from './api-request.ts'
import { acceptedEncoding } from './fixed-content.ts'

/** RFC 9110 §13.1.2: weak comparison. */
const matches = (header: string | null, etag: string): boolean =>
  header !== null &&
  (header.trim() === '*' ||
    header.split(',').some((one) => one.trim().replace(/^W\//, '') === etag.replace(/^W\//, '')))

/** Nothing of the content is computed for a request. */
function presentFixed(
  { mediaType, etag, encodings }: FixedContent,
  request: ApiRequest,
  common: Record<string, string>,
): ApiResponse {
  const headers = { ...common, ETag: etag, Vary: 'Accept-Encoding' }
  if (matches(request.headers.get('if-none-match'), etag)) return { status: 304, headers, body: null }
  const encoding = acceptedEncoding(request.headers.get('accept-encoding'))
  return {
    status: 200,
    headers: {
      ...headers,
      'Content-Type': mediaType,
      ...(encoding !== 'identity' && { 'Content-Encoding': encoding }),
    },
    body: encodings[encoding],
  }
}

/** Turns the answer of an operation into a response. */
export function present(
  operation: OperationShape,
  request: ApiRequest,
  made: Answer,
  common: Record<string, string>,
): ApiResponse {
  const headers: Record<string, string> = { ...common, ...made.headers }
  if (made.fixed) return presentFixed(made.fixed, request, headers)
  if (made.stream) return { status: made.status, headers, body: made.stream }
  if (made.body === undefined) return { status: made.status, headers, body: null }
  const isText = operation.produces && typeof made.body === 'string'
  const text = isText ? String(made.body) : JSON.stringify(made.body)
  headers['Content-Type'] ??= isText ? (operation.produces?.[0] ?? 'text/plain') : 'application/json'
  if (operation.method === 'get' && made.status === 200) {
    // Weak, because all encodings share it (RFC 9110 §8.8.3.3).
    headers.ETag ??= `W/"${createHash('sha1').update(text).digest('base64url')}"`
    if (matches(request.headers.get('if-none-match'), headers.ETag)) {
      const { 'Content-Type': _, ...rest } = headers
      return { status: 304, headers: rest, body: null }
    }
  }
  return { status: made.status, headers, body: text }
}
