import type { z } from 'zod'
import type { OperationShape, Output } from '#lib/kernel/operation.ts'
import type { Issue, ProblemCode } from '#lib/kernel/problem.ts'

/** A refusal as the API words it (RFC 9457). */
export interface ProblemDocument {
  title: string
  status: number
  /** `unreachable` when no answer came at all, `unknown` when the answer was not the API's. */
  code: ProblemCode | 'unreachable' | 'unknown'
  detail?: string
  issues?: Issue[]
  /** The request's id, to find it in the log by. */
  instance?: string
}

/** What {@link send} throws. */
export class RequestRefused extends Error {
  readonly problem: ProblemDocument
  /** Seconds after which it is worth trying again; undefined where the answer does not say. */
  readonly retryAfter: number | undefined
  constructor(problem: ProblemDocument, options: { retryAfter?: number; cause?: unknown } = {}) {
    super(problem.detail ?? problem.title, options.cause === undefined ? {} : { cause: options.cause })
    this.name = 'RequestRefused'
    this.problem = problem
    this.retryAfter = options.retryAfter
  }
}

type Sent<O, K extends string> = O extends Record<K, infer S extends z.ZodType> ? z.input<S> : undefined
/** The parts that the operation has, as they are before it reads them. */
export interface RequestParts<O extends OperationShape> {
  params?: Sent<O, 'params'>
  query?: Sent<O, 'query'>
  headers?: Sent<O, 'headers'>
  body?: Sent<O, 'body'>
}
/**
 * Where an operation is asked. A page names it by `const place: Endpoint<typeof op> = { method, path }`, which the compiler
 * holds to the contract, so that the contract's schemas stay out of the browser.
 */
export type Endpoint<O extends OperationShape> = Pick<O, 'method' | 'path'> & {
  produces?: readonly string[] | undefined
}

/** A body that is sent while it is read. */
export interface UploadedBody {
  mediaType: string
  bytes: ReadableStream<Uint8Array>
}
export interface Target {
  /** Origin of the installation; empty within its own pages. */
  baseUrl?: string
  token?: string | undefined
  idempotencyKey?: string
  signal?: AbortSignal
  /** For operations that take an upload, in place of a body. */
  upload?: UploadedBody
  fetch?: typeof fetch
}
export interface Received<O extends OperationShape> {
  status: number
  headers: Headers
  body: Output<O>
}

/** Names and values as text; what is undefined stays away. */
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
    parsed = undefined // a proxy's page, or nothing
  }
  const after = Number(response.headers.get('retry-after') ?? Number.NaN)
  return new RequestRefused(
    isDocument(parsed) ? parsed : { title: `HTTP ${response.status}`, status: response.status, code: 'unknown' },
    Number.isFinite(after) ? { retryAfter: after } : {},
  )
}

/**
 * Calls an operation over HTTP and gives the response with its body unread, for answers that are streamed. Throws
 * {@link RequestRefused} for every answer that is not a success, and when none came.
 */
export async function open<O extends OperationShape>(
  operation: O | Endpoint<O>,
  parts: RequestParts<O> = {},
  { baseUrl = '', token, idempotencyKey, signal, upload, fetch: call = fetch }: Target = {},
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
      // A stream has no length, and cannot be sent again: fetch wants to hear that nothing is awaited meanwhile.
      ...(upload && { body: upload.bytes, duplex: 'half' as const }),
      ...(signal && { signal }),
    })
  } catch (cause) {
    throw new RequestRefused({ title: 'No answer', status: 0, code: 'unreachable' }, { cause })
  }
  if (!response.ok) throw await refusalOf(response)
  return response
}

const jsonType = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i

/** As {@link open}, with the body read: JSON as what it says, everything else as text. */
export async function send<O extends OperationShape>(
  operation: O | Endpoint<O>,
  parts: RequestParts<O> = {},
  target: Target = {},
): Promise<Received<O>> {
  const response = await open(operation, parts, target)
  const text = await response.text().catch((cause: unknown) => {
    throw new RequestRefused({ title: 'The answer broke off', status: 0, code: 'unreachable' }, { cause })
  })
  const isJson = jsonType.test(response.headers.get('content-type') ?? '')
  const body: unknown = text === '' ? undefined : isJson ? JSON.parse(text) : text
  // The server checked its answer against the same schema before sending it.
  return { status: response.status, headers: response.headers, body: body as Output<O> }
}

/** As {@link send}, for those who want the body alone. */
export const request = async <O extends OperationShape>(
  operation: O | Endpoint<O>,
  parts: RequestParts<O> = {},
  target: Target = {},
): Promise<Output<O>> => (await send<O>(operation, parts, target)).body
