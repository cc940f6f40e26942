import type { paths } from './generated/openapi.ts'
import { type ProblemDocument, problemClasses, RegistryProblem, RegistryUnreachable } from './problems.ts'

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
/** The addresses that support a method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, infer O> ? (O extends undefined ? never : P) : never
}[keyof paths] &
  string
type OperationOf<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? NonNullable<O> : never

type PathPart<O> = O extends { parameters: { path: infer P } } ? { params: P } : { params?: never }
type QueryPart<O> = O extends { parameters: { query?: infer Q } }
  ? { query?: Exclude<Q, undefined> }
  : { query?: never }
type HeaderPart<O> = O extends { parameters: { header?: infer H } }
  ? { headers?: Exclude<H, undefined> }
  : { headers?: never }
type BodyPart<O> = O extends { requestBody: { content: { 'application/json': infer B } } }
  ? { body: B }
  : O extends { requestBody?: { content: { 'application/json': infer B } } }
    ? { body?: B }
    : { body?: never }
/** The parts of a request. */
export type Input<O> = PathPart<O> & QueryPart<O> & HeaderPart<O> & BodyPart<O>
type JsonOf<R> = R extends { content: { 'application/json': infer B } } ? B : undefined
/** The body of a successful response. */
export type Output<O> = O extends { responses: infer R }
  ? { [S in keyof R]: S extends 200 | 201 | 202 ? JsonOf<R[S]> : S extends 204 ? undefined : never }[keyof R]
  : never
type ItemOf<B> = B extends { data: readonly (infer I)[] } ? I : never
/** The last arguments of a call: the input may be omitted if nothing in it is required. */
type Rest<I> = Record<never, never> extends I ? [input?: I, options?: CallOptions] : [input: I, options?: CallOptions]

export interface CallOptions {
  /** Milliseconds for each attempt. */
  timeout?: number
  signal?: AbortSignal
  /** By default, each POST has a new key, so that a retry has no second effect. */
  idempotencyKey?: string
  /** How often a failed request is repeated. */
  retries?: number
}
export interface ClientOptions {
  /** The address of the registry. */
  url: string
  /** Without a token, only public operations can be called. */
  token?: string
  /** Milliseconds for each attempt, by default 60,000. */
  timeout?: number
  /** By default 2. */
  retries?: number
  /** Your own fetch, for proxies, tracing or tests. */
  fetch?: typeof fetch
}
/** A limit of the token, as the latest responses state it. Without open requests, `remaining` can be sent before `resetAt` (milliseconds). */
export interface RateWindow {
  limit: number
  remaining: number
  resetAt: number
}
/** GET counts against the limit of reads, everything else against that of writes. */
export type RequestKind = 'read' | 'write'
/** A body that can be sent again when a request is repeated, or a stream, which cannot. */
export type UploadBody = Blob | Uint8Array<ArrayBuffer> | string | ReadableStream<Uint8Array>

interface AnyInput {
  params?: object | undefined
  query?: object | undefined
  headers?: object | undefined
  body?: unknown
}
const firstPause = 500
const longestPause = 8_000
/** A longer wait is left to the caller: the registry may ask for a minute, or for a day. */
const longestRetryAfter = 60
/** Codes of 409 that end by themselves. All others need a decision. */
const passing: ReadonlySet<string> = new Set(['idempotency_in_progress', 'fenced'])

const textsOf = (part: object | undefined): [string, string][] =>
  Object.entries(part ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))

const kindOf = (method: string): RequestKind => (method === 'GET' ? 'read' : 'write')
/** Responses that no limit counted name another one: those without a valid token, and those of a server that is busy. */
const isCounted = ({ ok, status }: Response): boolean => ok || (status > 401 && status < 500 && status !== 421)
/** Two responses of the same window state its end in whole seconds, and arrive at different times. */
const sameWindow = 2_000

function secondsOf(response: Response): number | undefined {
  const header = response.headers.get('retry-after')
  if (header === null) return undefined
  const seconds = Number(header)
  if (Number.isFinite(seconds)) return Math.max(0, seconds)
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1000)
}

async function problemOf(response: Response): Promise<RegistryProblem> {
  const text = await response.text().catch(() => '')
  let document: ProblemDocument
  try {
    const parsed: ProblemDocument = JSON.parse(text)
    document = typeof parsed.code === 'string' ? parsed : unknownProblem(response)
  } catch {
    document = unknownProblem(response)
  }
  const Class = problemClasses[document.code] ?? RegistryProblem
  return new Class(document, secondsOf(response))
}
/** A proxy answered, or another server. */
const unknownProblem = ({ status, headers }: Response): ProblemDocument => {
  const instance = headers.get('x-request-id')
  return { title: `HTTP ${status}`, status, code: 'unknown', ...(instance !== null && { instance }) }
}

const isPassing = ({ status, code }: RegistryProblem): boolean =>
  status === 408 || status === 429 || status >= 500 || (status === 409 && passing.has(code))

/** Milliseconds before the next attempt; undefined if the caller should decide. */
function pauseBefore(attempt: number, error: RegistryProblem | RegistryUnreachable): number | undefined {
  const backoff = Math.min(longestPause, firstPause * 2 ** attempt) * (0.5 + Math.random() / 2)
  if (error instanceof RegistryUnreachable) return backoff
  if (!isPassing(error)) return undefined
  const { retryAfter } = error
  if (retryAfter === undefined) return backoff
  // With jitter, so that many clients do not return at the same moment.
  return retryAfter > longestRetryAfter ? undefined : retryAfter * 1000 + Math.random() * firstPause
}

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, milliseconds)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

/** A typed client of one registry. */
export class KnowledgePulse {
  readonly #url: string
  readonly #token: string | undefined
  readonly #timeout: number
  readonly #retries: number
  readonly #fetch: typeof fetch
  readonly #windows = new Map<RequestKind, RateWindow>()
  /** Requests without a response yet. */
  readonly #open = { read: 0, write: 0 }

  constructor({ url, token, timeout = 60_000, retries = 2, fetch: call = fetch }: ClientOptions) {
    this.#url = url.replace(/\/+$/, '')
    this.#token = token
    this.#timeout = timeout
    this.#retries = retries
    this.#fetch = call
  }

  /** What the token may still send in the present window of a minute; undefined before the first response. */
  rateWindow(kind: RequestKind): RateWindow | undefined {
    const known = this.#windows.get(kind)
    if (!known) return undefined
    const { limit, resetAt } = known
    const isOver = Date.now() >= resetAt
    const remaining = Math.max(0, (isOver ? limit : known.remaining) - this.#open[kind])
    return { limit, remaining, resetAt }
  }

  get<P extends PathOf<'get'>>(
    path: P,
    ...rest: Rest<Input<OperationOf<P, 'get'>>>
  ): Promise<Output<OperationOf<P, 'get'>>> {
    return this.#json('GET', path, rest)
  }
  post<P extends PathOf<'post'>>(
    path: P,
    ...rest: Rest<Input<OperationOf<P, 'post'>>>
  ): Promise<Output<OperationOf<P, 'post'>>> {
    return this.#json('POST', path, rest)
  }
  put<P extends PathOf<'put'>>(
    path: P,
    ...rest: Rest<Input<OperationOf<P, 'put'>>>
  ): Promise<Output<OperationOf<P, 'put'>>> {
    return this.#json('PUT', path, rest)
  }
  patch<P extends PathOf<'patch'>>(
    path: P,
    ...rest: Rest<Input<OperationOf<P, 'patch'>>>
  ): Promise<Output<OperationOf<P, 'patch'>>> {
    return this.#json('PATCH', path, rest)
  }
  delete<P extends PathOf<'delete'>>(
    path: P,
    ...rest: Rest<Input<OperationOf<P, 'delete'>>>
  ): Promise<Output<OperationOf<P, 'delete'>>> {
    return this.#json('DELETE', path, rest)
  }

  /** All items of a list, page by page. */
  async *pages<P extends PathOf<'get'>>(
    path: P,
    ...rest: Rest<Input<OperationOf<P, 'get'>>>
  ): AsyncGenerator<ItemOf<Output<OperationOf<P, 'get'>>>> {
    const [input = {}, options] = rest as [AnyInput?, CallOptions?]
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query = { ...input.query, ...(cursor !== undefined && { cursor }) }
      const page: { data: ItemOf<Output<OperationOf<P, 'get'>>>[]; next_cursor?: string | null } = await this.#json(
        'GET',
        path,
        [{ ...input, query }, options],
      )
      yield* page.data
      cursor = page.next_cursor ?? null
    }
  }

  /** The body as it arrives, for exports and downloads. The time limit and the retries end with the headers. */
  async stream<P extends PathOf<'get'>>(
    path: P,
    ...rest: Rest<Input<OperationOf<P, 'get'>>>
  ): Promise<ReadableStream<Uint8Array>> {
    const [input = {}, options = {}] = rest as [AnyInput?, CallOptions?]
    return this.#attempts('GET', path, input, options, undefined, bodyOf)
  }

  /** Sends a body as it is. A stream is sent once: after a fault, the caller decides. */
  async upload<P extends PathOf<'post'>>(
    path: P,
    input: Omit<Input<OperationOf<P, 'post'>>, 'body'>,
    { body, mediaType }: { body: UploadBody; mediaType: string },
    options: CallOptions = {},
  ): Promise<Output<OperationOf<P, 'post'>>> {
    const once = body instanceof ReadableStream ? { retries: 0 } : {}
    const sent = { body, mediaType }
    return parsed(await this.#attempts('POST', path, input as AnyInput, { ...options, ...once }, sent, textOf))
  }

  async #json<T>(method: string, path: string, rest: readonly unknown[]): Promise<T> {
    const [input = {}, options = {}] = rest as [AnyInput?, CallOptions?]
    return parsed(await this.#attempts(method, path, input, options, undefined, textOf))
  }

  /** @param read what the time limit and the retries cover of a successful response */
  async #attempts<T>(
    method: string,
    path: string,
    input: AnyInput,
    options: CallOptions,
    upload: { body: UploadBody; mediaType: string } | undefined,
    read: (response: Response) => T | Promise<T>,
  ): Promise<T> {
    const { retries = this.#retries, signal } = options
    const address = this.#address(path, input)
    const key = options.idempotencyKey ?? (method === 'POST' ? crypto.randomUUID() : undefined)
    for (let attempt = 0; ; attempt++) {
      let failed: RegistryProblem | RegistryUnreachable
      try {
        const answer = await this.#once(method, address, input, options, key, upload, read)
        if (!(answer instanceof RegistryProblem)) return answer
        failed = answer
      } catch (error) {
        // The caller ended the call: that is not a fault.
        if (signal?.aborted) throw error
        failed = new RegistryUnreachable(`${this.#url} did not answer.`, { cause: error })
      }
      const wait = attempt < retries ? pauseBefore(attempt, failed) : undefined
      if (wait === undefined) throw failed
      await pause(wait, signal)
    }
  }

  /** @throws TypeError without a part of the path: an empty one would name another address */
  #address(template: string, input: AnyInput): string {
    const named = new Map(textsOf(input.params))
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = named.get(name)
      if (!value) throw new TypeError(`params lacks ${name}`)
      return encodeURIComponent(value)
    })
    const search = new URLSearchParams(textsOf(input.query))
    return `${this.#url}${path}${search.size > 0 ? `?${search}` : ''}`
  }

  async #once<T>(
    method: string,
    address: string,
    input: AnyInput,
    { signal, timeout = this.#timeout }: CallOptions,
    key: string | undefined,
    upload: { body: UploadBody; mediaType: string } | undefined,
    read: (response: Response) => T | Promise<T>,
  ): Promise<T | RegistryProblem> {
    const headers = new Headers(textsOf(input.headers))
    if (this.#token !== undefined) headers.set('Authorization', `Bearer ${this.#token}`)
    if (key !== undefined) headers.set('Idempotency-Key', key)
    if (upload) headers.set('Content-Type', upload.mediaType)
    else if (input.body !== undefined) headers.set('Content-Type', 'application/json')
    const body = upload ? upload.body : input.body === undefined ? null : JSON.stringify(input.body)
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new DOMException('The time limit passed.', 'TimeoutError')), timeout)
    const kind = kindOf(method)
    this.#open[kind]++
    try {
      const response = await this.#fetch(address, {
        method,
        headers,
        body,
        signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
        ...(body instanceof ReadableStream && { duplex: 'half' }),
      } as RequestInit)
      this.#noteWindow(response)
      return response.ok ? await read(response) : await problemOf(response)
    } finally {
      this.#open[kind]--
      clearTimeout(timer)
    }
  }

  /** Reads `RateLimit: "write";r=29;t=60` and `RateLimit-Policy: "write";q=30;w=60`. */
  #noteWindow(response: Response): void {
    const [, name, left, seconds] =
      /^"(read|write)";r=(\d+);t=(\d+)/.exec(response.headers.get('ratelimit') ?? '') ?? []
    const [, limit] = /;q=(\d+)/.exec(response.headers.get('ratelimit-policy') ?? '') ?? []
    if (name === undefined || limit === undefined || !isCounted(response)) return
    const kind = name === 'read' ? 'read' : 'write'
    const found = { limit: Number(limit), remaining: Number(left), resetAt: Date.now() + 1_000 * Number(seconds) }
    // Nor those of an operation without a limit. A response that was counted leaves less than the limit.
    if (found.remaining >= found.limit) return
    const known = this.#windows.get(kind)
    const isSame = known && Date.now() < known.resetAt && found.resetAt < known.resetAt + sameWindow
    // Responses arrive in any order.
    this.#windows.set(kind, isSame ? { ...known, remaining: Math.min(known.remaining, found.remaining) } : found)
  }
}

const textOf = (response: Response): Promise<string> => response.text()
/** A download takes as long as it takes. */
const bodyOf = ({ body }: Response): ReadableStream<Uint8Array> =>
  body ?? new ReadableStream({ start: (controller) => controller.close() })
const parsed = (text: string) => JSON.parse(text === '' ? 'null' : text) ?? undefined
