import type { z } from 'zod'
import type { OperationShape, Output } from '#lib/kernel/operation.ts'
import type { Issue, ProblemCode } from '#lib/kernel/problem.ts'

/** A problem document of the API (RFC 9457). */
export interface ProblemDocument {
  title: string
  status: number
  /** `unreachable` without a response, `unknown` for a response that is not the API's. */
  code: ProblemCode | 'unreachable' | 'unknown'
  detail?: string
  issues?: Issue[]
  /** The request id, which the log contains. */
  instance?: string
  /** With `approval_required`: the operation that can be proposed. */
  operation?: string
  /** The proposal that asks another admin for approval. */
  proposal_id?: string
}

/** The error that {@link send} throws. */
export class RequestRefused extends Error {
  readonly problem: ProblemDocument
  /** Seconds until a retry is useful. Undefined when the response does not say. */
  readonly retryAfter: number | undefined
  constructor(problem: ProblemDocument, options: { retryAfter?: number; cause?: unknown } = {}) {
    super(problem.detail ?? problem.title, options.cause === undefined ? {} : { cause: options.cause })
    this.name = 'RequestRefused'
    this.problem = problem
    this.retryAfter = options.retryAfter
  }
}

type Sent<O, K extends string> = O extends Record<K, infer S extends z.ZodType> ? z.input<S> : undefined
/** The parts of a request before the operation parses them. */
export interface RequestInput<O extends OperationShape> {
  params?: Sent<O, 'params'>
  query?: Sent<O, 'query'>
  headers?: Sent<O, 'headers'>
  body?: Sent<O, 'body'>
}
/**
 * The method and path of an operation. A page writes `const place: Endpoint<typeof op> = { method, path }`: the
 * compiler checks it against the contract, and the contract's schemas stay out of the browser bundle.
 */
export type Endpoint<O extends OperationShape> = Pick<O, 'method' | 'path'> & {
  produces?: readonly string[] | undefined
}

/** A streamed body. */
export interface UploadedBody {
  mediaType: string
  bytes: ReadableStream<Uint8Array>
}
export interface RequestTarget {
  /** Origin of the installation. Empty within its own pages. */
  baseUrl?: string
  token?: string | undefined
  idempotencyKey?: string
  signal?: AbortSignal
  /** For operations that take an upload, instead of a body. */
  upload?: UploadedBody
  fetch?: typeof fetch
}
export interface ResponseOf<O extends OperationShape> {
  status: number
  headers: Headers
  body: Output<O>
}

/** Names and values as text, without undefined values. */
const textsOf = (part: unknown): [string, string][] =>
  Object.entries(part ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))

function addressOf(template: string, params: unknown, query: unknown, baseUrl: string): string {
  const named = new Map(textsOf(params))
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(named.get(name) ?? ''))
  const search = new URLSearchParams(textsOf(query))
  return `${baseUrl.replace(/\/$/, '')}${path}${search.size > 0 ? `?${search}` : ''}`
}

const isDocument = (value: unknown): value is ProblemDocument =>
  typeof value === 'object' && value !== null && 'code' in value && 'title' in value && 'status' in value

async function refusalOf(response: Response): Promise<RequestRefused> {
  const text = await response.text()
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    parsed = undefined // a proxy's page, or an empty body
  }
  const after = Number(response.headers.get('retry-after') ?? Number.NaN)
  return new RequestRefused(
    isDocument(parsed) ? parsed : { title: `HTTP ${response.status}`, status: response.status, code: 'unknown' },
    Number.isFinite(after) ? { retryAfter: after } : {},
  )
}

/**
 * Calls an operation over HTTP and returns the response with its body unread, for streaming. @throws RequestRefused
 * for every unsuccessful response, and without a response
 */
export async function open<O extends OperationShape>(
  operation: O | Endpoint<O>,
  parts: RequestInput<O> = {},
  { baseUrl = '', token, idempotencyKey, signal, upload, fetch: call = fetch }: RequestTarget = {},
): Promise<Response> {
  const headers = new Headers({ Accept: operation.produces?.join(', ') ?? 'application/json' })
  for (const [name, value] of textsOf(parts.headers)) headers.set(name, value)
  if (token !== undefined) headers.set('Authorization', `Bearer ${token}`)
  if (idempotencyKey !== undefined) headers.set('Idempotency-Key', idempotencyKey)
  if (parts.body !== undefined) headers.set('Content-Type', 'application/json')
  if (upload) headers.set('Content-Type', upload.mediaType)
  let response: Response
  try {
    response = await call(addressOf(operation.path, parts.params, parts.query, baseUrl), {
      method: operation.method.toUpperCase(),
      headers,
      ...(parts.body !== undefined && { body: JSON.stringify(parts.body) }),
      // A stream cannot be sent again. For a stream, fetch requires `duplex: 'half'`.
      ...(upload && { body: upload.bytes, duplex: 'half' as const }),
      ...(signal && { signal }),
    })
  } catch (cause) {
    throw new RequestRefused({ title: 'No response', status: 0, code: 'unreachable' }, { cause })
  }
  if (!response.ok) throw await refusalOf(response)
  return response
}

const jsonType = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i

/** Like {@link open}, with the body read: JSON is parsed, everything else is text. */
export async function send<O extends OperationShape>(
  operation: O | Endpoint<O>,
  parts: RequestInput<O> = {},
  target: RequestTarget = {},
): Promise<ResponseOf<O>> {
  const response = await open(operation, parts, target)
  const text = await response.text().catch((cause: unknown) => {
    throw new RequestRefused({ title: 'The response is incomplete', status: 0, code: 'unreachable' }, { cause })
  })
  const isJson = jsonType.test(response.headers.get('content-type') ?? '')
  const body: unknown = text === '' ? undefined : isJson ? JSON.parse(text) : text
  // The server validated its output with the same schema.
  return { status: response.status, headers: response.headers, body: body as Output<O> }
}

/** Like {@link send}, but returns only the body. */
export const request = async <O extends OperationShape>(
  operation: O | Endpoint<O>,
  parts: RequestInput<O> = {},
  target: RequestTarget = {},
): Promise<Output<O>> => (await send<O>(operation, parts, target)).body
