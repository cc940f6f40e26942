import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import { type Duplex, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import findMyWay, { type HTTPMethod } from 'find-my-way'
import { z } from 'zod'
import { clientAddress, type TrustedProxies } from '#lib/access/client-address.ts'
import { limitHeaders, type RateLimitWindow, uncountedWindow } from '#lib/access/limiter.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { newId } from '#lib/kernel/ids.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { UseCase } from '#lib/kernel/use-case.ts'
import { type ApiRequest, type ApiResponse, compressed, headerText } from './api-request.ts'
import { clientAddresses, pageFaults } from './client-sockets.ts'
import { type Handle, plainHeaders, refusalResponse } from './handle.ts'
import { type createMcp, mcpPath, resourceMetadataPaths } from './mcp/endpoint.ts'

interface ApiServerDeps {
  useCases: readonly UseCase[]
  handle: Handle
  /** Throws while no page may be served. */
  admitPage(): Promise<void>
  proxies: () => TrustedProxies
  /** Counts a page request in the rate limit of its address. */
  countPage(address: string): Promise<RateLimitWindow>
  /** `/mcp` and the document about its tokens. */
  mcp: Pick<ReturnType<typeof createMcp>, 'endpoint' | 'metadata'>
}
type Pages = (request: IncomingMessage, response: ServerResponse) => Promise<void>
const methods: readonly HTTPMethod[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** The size of the console's largest form, in bytes. */
const largestForm = 64 * 1024

/** Whether the percent-encoding of a path is valid UTF-8; otherwise Next would report an internal error. */
function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

const uncountedHeaders = (): Record<string, string> => limitHeaders(uncountedWindow('read'), 'read')

/** Rejects a request before it reaches Next. */
function refusedPage(problem: Problem, more: Record<string, string> = {}): ApiResponse {
  const requestId = newId('req')
  return refusalResponse(problem, 'page', requestId, { ...plainHeaders(requestId), ...uncountedHeaders(), ...more })
}
const tooMany = (window: RateLimitWindow): ApiResponse =>
  refusedPage(
    new Problem(
      'rate_limited',
      `One network address may load ${window.limit.toLocaleString('en')} pages per minute. Wait, then try again.`,
    ),
    limitHeaders(window, 'read'),
  )

const unknown = operation({
  id: 'unknown',
  method: 'get',
  path: '/',
  summary: 'Requests outside the API',
  permission: 'public',
  audit: { none: 'nothing is done' },
  limit: 'exempt',
  perAddress: 'page',
  status: 200,
  output: z.unknown(),
})

/** The methods of pages and of the sign-in forms. */
const pageMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST'])
const wrongMethod = (allowed: readonly string[]): Problem =>
  new Problem('method_not_allowed', {
    detail: `Use ${allowed.join(' or ')}.`,
    headers: { Allow: allowed.join(', ') },
  })

/** The time limit in milliseconds for the whole body of a regular request, and for each pause of an upload or download. */
const patience = 60_000

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** Bytes per second below which a body is too slow, so that its client cannot keep a slot and memory for days. */
const slowestBody = 8 * 1024

const slow = (seconds: number) =>
  new Problem('bad_request', {
    detail: `No data arrived for ${seconds} seconds, or less than ${slowestBody} bytes per second, so the server closed the request. Send it again.`,
    headers: { Connection: 'close' },
  })

/**
 * The body as it arrives. While its reader waits, a streamed body must not pause longer than `max`, and must not wait longer in total than
 * `max` and a second for each {@link slowestBody} bytes; the reader's own time does not count. @throws `bad_request`
 */
async function* arriving(request: IncomingMessage, max = patience): AsyncGenerator<Uint8Array> {
  // The connection stays open when reading stops, so that a response can be sent.
  const pieces = request.iterator({ destroyOnReturn: false })
  let timer: NodeJS.Timeout | undefined
  let [received, waited] = [0, 0]
  try {
    for (;;) {
      const begun = performance.now()
      const left = Math.max(0, Math.min(max, max + (received / slowestBody) * 1000 - waited))
      const stalled = new Promise<never>((_, tooSlow) => {
        timer = setTimeout(() => tooSlow(slow(max / 1000)), left)
      })
      const { done, value } = await Promise.race([pieces.next(), stalled])
      clearTimeout(timer)
      if (done) return
      waited += performance.now() - begun
      received += value.byteLength
      yield value
    }
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Closes a connection whose body never arrives completely: at the time limit after the request began or, for a slow upload, after its
 * response.
 */
function boundBody(request: IncomingMessage, response: ServerResponse, isUpload: boolean, max = patience): void {
  if (!hasBody(request)) return
  let timer: NodeJS.Timeout | undefined
  const arm = () => {
    timer = setTimeout(() => request.socket.destroy(), max)
  }
  if (isUpload) response.once('finish', () => request.complete || arm())
  else arm()
  const disarm = () => clearTimeout(timer)
  request.once('end', disarm).once('close', disarm)
}

const apiRequest = (request: IncomingMessage, max: number): ApiRequest => ({
  method: request.method ?? 'GET',
  url: request.url ?? '/',
  headers: { get: (name) => headerText(request.headers[name.toLowerCase()]) },
  body: arriving(request, max),
  hasArrived: () => request.complete,
})

/** Closes the source of a body that nobody reads. A generator that has not begun would leave its file or connection open. */
async function discard(body: AsyncIterable<unknown>): Promise<void> {
  const pieces = body[Symbol.asyncIterator]()
  await pieces.next().then(
    () => pieces.return?.(),
    () => undefined,
  )
}

async function send(
  response: ServerResponse,
  { status, headers, body }: ApiResponse,
  isHead: boolean,
  max: number,
): Promise<void> {
  // Closes a connection without progress, so that a client that stops reading does not hold a cursor or memory.
  response.setTimeout(max, () => response.destroy())
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) {
    response.writeHead(status, body === null ? headers : { ...headers, 'Content-Length': Buffer.byteLength(body) })
    response.end(isHead ? undefined : body)
    return
  }
  response.writeHead(status, headers)
  if (isHead) {
    response.end()
    return discard(body)
  }
  let isOurs = false
  let hasBegun = false
  const iterator = body[Symbol.asyncIterator]()
  // A generator ends at its next piece; an iterator that waits for news can end at once.
  response.once('close', () => {
    if (hasBegun) iterator.return?.().catch(() => undefined)
  })
  async function* watched() {
    hasBegun = true
    try {
      for await (const piece of { [Symbol.asyncIterator]: () => iterator })
        yield typeof piece === 'string' ? Buffer.from(piece) : piece
    } catch (error) {
      // Readable also throws the client's disconnect into this generator.
      isOurs = !response.destroyed
      throw error
    }
  }
  // When the client disconnects, the cursor is closed and nothing is reported. Our own errors abort the transfer, so that the client
  // notices.
  await pipeline(Readable.from(watched()), response).catch((error: unknown) => {
    if (isOurs) logFault(error, { operationId: 'stream', requestId: headers['X-Request-Id'] ?? '' })
    response.destroy()
  })
  // The client disconnected before the first piece.
  if (!hasBegun) await discard(body)
}

/** Replaces every page until the erasures since a backup are replayed. */
function closedPage(error: unknown): ApiResponse {
  const requestId = newId('req')
  const { status, headers } = refusalResponse(error, 'page', requestId, plainHeaders(requestId))
  const [english, chinese] = ['Temporarily unavailable. Please try again later.', '服务暂时不可用，请稍后再试。']
  return {
    status,
    headers: { ...headers, 'Content-Type': 'text/html; charset=utf-8' },
    body: `<!doctype html><html lang="en"><meta charset="utf-8"><title>KnowledgePulse</title><p>${english}</p><p lang="zh-CN">${chinese}</p></html>`,
  }
}

const isApi = (path: string): boolean =>
  path === '/v1' || path.startsWith('/v1/') || (path.startsWith('/api/') && !path.startsWith('/api/auth/'))

/** Page requests need a small body with Content-Length. Other bodies are rejected, because they could fill the memory. */
function refusedBody({ method, headers }: IncomingMessage): ApiResponse | undefined {
  if (method === 'GET' || method === 'HEAD') return undefined
  const length = headers['content-length']
  if (headers['transfer-encoding'] === undefined && Number(length ?? 0) <= largestForm) return undefined
  const problem = new Problem(
    'too_large',
    `Send at most ${largestForm.toLocaleString('en')} bytes, with a Content-Length header.`,
  )
  return refusedPage(problem, { Connection: 'close' })
}

const variablesIn = (path: string): number => path.split('{').length - 1

/** The operations by method and address. */
function operationRouter(useCases: readonly UseCase[]) {
  const router = findMyWay({ ignoreTrailingSlash: true, maxParamLength: 300 })
  for (const useCase of useCases) {
    const { method, path, audit } = useCase.operation
    const wanted = methods.filter((name) => name.toLowerCase() === method)
    // An export is counted and audited; a HEAD request would use one up without its result.
    const takesHead = method === 'get' && !('action' in audit && audit.action === 'export')
    router.on(takesHead ? ['GET', 'HEAD'] : wanted, path.replaceAll(/\{(\w+)\}/g, ':$1'), () => {}, useCase)
  }
  /** The methods at the address: for `/v1/knowledge/batch`, not those of `/v1/knowledge/{id}`. */
  function allowedAt(url: string): readonly string[] {
    const found = operationsAt(url)
    const fewest = Math.min(...found.map(({ variables }) => variables))
    return found.filter(({ variables }) => variables === fewest).map(({ method }) => method)
  }
  const operationsAt = (url: string) =>
    [...methods, 'HEAD' as const].flatMap((method) => {
      const path = (router.find(method, url)?.store as UseCase | undefined)?.operation.path
      return path === undefined ? [] : [{ method, variables: variablesIn(path) }]
    })
  const fewestAt = (url: string): number => Math.min(...operationsAt(url).map(({ variables }) => variables))
  return {
    allowedAt,
    /**
     * The operation, unless a variable of its path has an impossible value that is the name of another operation: `GET
     * …/snapshots/restore` is no snapshot.
     */
    find(method: string, url: string) {
      const found = router.find(method as HTTPMethod, url)
      if (!found) return null
      const { path, params } = (found.store as UseCase).operation
      const isPossible = params === undefined || params.safeParse(found.params).success
      return isPossible || variablesIn(path) === fewestAt(url) ? found : null
    },
    /** Handles unknown addresses like operations, so that they get the same headers and are counted. */
    unknownAt(url: string): UseCase {
      const allowed = allowedAt(url)
      const problem =
        allowed.length === 0
          ? new Problem('not_found', 'This address is not part of the API. See /docs/api for all operations.')
          : wrongMethod(allowed)
      return { operation: unknown, execute: () => Promise.reject(problem) }
    },
  }
}

/** Changes the status of a page from 500 to 503 if it failed because a store does not answer. */
function reportUnavailable(response: ServerResponse, fault: { isUnavailable: boolean }): void {
  const { writeHead } = response
  Object.assign(response, {
    writeHead(status: number, ...rest: unknown[]): unknown {
      const isUnavailable = status === 500 && fault.isUnavailable
      if (isUnavailable) response.setHeader('Retry-After', '2')
      return Reflect.apply(writeHead, response, [isUnavailable ? 503 : status, ...rest])
    },
  })
}

/**
 * The API server: responds to operations before Next sees the request, and passes all other requests to Next. `max`: see {@link
 * patience}.
 */
export function createApiServer(
  { useCases, handle, admitPage, proxies, countPage, mcp }: ApiServerDeps,
  pages: Pages,
  max = patience,
) {
  const router = operationRouter(useCases)

  /** Counts a page request, and passes it to Next. */
  async function servePage(request: IncomingMessage, response: ServerResponse, path: string, address: string) {
    const isHead = request.method === 'HEAD'
    const refused = isDecodable(path)
      ? refusedBody(request)
      : refusedPage(new Problem('bad_request', 'The percent-encoded characters in the address are not valid UTF-8.'))
    if (refused) return send(response, refused, isHead, max)
    // Built files are not counted: they cost no more than their bytes.
    if (!path.startsWith('/_next/static/')) {
      const window = await countPage(address)
      if (!window.allowed) return send(response, tooMany(window), isHead, max)
      for (const [name, value] of Object.entries(limitHeaders(window, 'read'))) response.setHeader(name, value)
    }
    // Built files: scripts, styles and fonts.
    const closed = path.startsWith('/_next/') ? undefined : await admitPage().then(() => undefined, closedPage)
    if (closed) return send(response, closed, isHead, max)
    const fault = { isUnavailable: false }
    reportUnavailable(response, fault)
    return clientAddresses.run(address, () => pageFaults.run(fault, () => pages(request, response)))
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = request.url ?? '/'
    const method = request.method ?? 'GET'
    const address = clientAddress(
      request.socket.remoteAddress,
      headerText(request.headers['x-forwarded-for']),
      proxies(),
    )
    const found = router.find(method, url)
    const isHead = request.method === 'HEAD'
    if (found) {
      const useCase: UseCase = found.store
      const params = Object.fromEntries(Object.entries(found.params).map(([name, value]) => [name, value ?? '']))
      boundBody(request, response, useCase.operation.upload !== undefined, max)
      const answer = await handle(useCase, apiRequest(request, max), { params, address })
      return send(response, await compressed(answer, request), isHead, max)
    }
    boundBody(request, response, false, max)
    const [path = '/'] = url.split('?', 1)
    if (path === mcpPath) return send(response, await mcp.endpoint(apiRequest(request, max), address), isHead, max)
    if ((method === 'GET' || isHead) && resourceMetadataPaths.some((one) => one === path))
      return send(response, await mcp.metadata(), isHead, max)
    const isOfApi = isApi(path) || router.allowedAt(url).length > 0
    if (isOfApi) {
      const via = { params: {}, address }
      return send(response, await handle(router.unknownAt(url), apiRequest(request, max), via), isHead, max)
    }
    if (!pageMethods.has(method)) return send(response, refusedPage(wrongMethod([...pageMethods])), isHead, max)
    return servePage(request, response, path, address)
  }
}

/**
 * The maximum size of address and headers in bytes. A search of ten thousand words still reaches the operation, which explains what is
 * wrong with it.
 */
const maxHeaderSize = 128 * 1024

/** Milliseconds that a rejected client has to read the reason. */
const closingTime = 1_000

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>

function problemOf(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new Problem(
      'headers_too_large',
      `The URL and the headers are larger than ${maxHeaderSize.toLocaleString('en')} bytes. Shorten them, then send the request again.`,
    )
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Problem('too_slow', 'The headers did not arrive in time. Send the request again.')
  return new Problem('bad_request', 'The request is not valid HTTP/1.1 (RFC 9112).')
}

const headerCount = ({ rawHeaders }: IncomingMessage, name: string): number =>
  rawHeaders.filter((one, n) => n % 2 === 0 && one.toLowerCase() === name).length

/** Requests that Node's parser accepts although RFC 9112 (§2.3, §3.2) forbids them. */
function malformedBecause(request: IncomingMessage): Problem | undefined {
  if (request.httpVersionMajor !== 1)
    return new Problem('bad_request', 'This server supports only HTTP/1.1 and HTTP/1.0.')
  if (headerCount(request, 'host') > 1)
    return new Problem('bad_request', 'The request has more than one Host header. Send exactly one.')
  return undefined
}

function written(problem: Problem): string {
  const requestId = newId('req')
  const common = { ...plainHeaders(requestId), ...limitHeaders(uncountedWindow('read'), 'read') }
  const { status, headers, body } = refusalResponse(problem, 'connection', requestId, common)
  const text = String(body)
  const lines = Object.entries({ ...headers, 'Content-Length': Buffer.byteLength(text), Connection: 'close' })
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...lines.map(([name, value]) => `${name}: ${value}`),
    '',
    text,
  ].join('\r\n')
}

/**
 * Node's server around the API server. Requests that Node's parser rejects also get a problem as the response, if the connection can
 * still send it: responses have the order of the requests (RFC 9112 §9.3), so nothing is inserted between pending ones. `maxHeadersTime`:
 * the time limit of a request's headers in milliseconds, checked every `every`.
 */
export function createListener(listener: Listener, { maxHeadersTime = 20_000, every = 5_000 } = {}): Server {
  const active = new WeakMap<Duplex, Set<ServerResponse>>()
  const server = createServer(
    // The API server limits bodies itself: an import with steady progress may take longer than any fixed time limit.
    {
      maxHeaderSize,
      keepAliveTimeout: 65_000,
      headersTimeout: maxHeadersTime,
      requestTimeout: 0,
      connectionsCheckingInterval: every,
      // RFC 9110 §7.8: a server may ignore Upgrade. Java's HttpClient and curl offer h2c this way. Next adds an upgrade listener with its
      // first page; without this line Node would pass every such request to it, and it closes the connection.
      shouldUpgradeCallback: () => false,
    },
    (request, response) => {
      const malformed = malformedBecause(request)
      if (malformed !== undefined) return void request.socket.end(written(malformed))
      const responses = active.get(request.socket) ?? new Set()
      active.set(request.socket, responses.add(response))
      response.once('close', () => responses.delete(response))
      listener(request, response).catch((error: unknown) => {
        logFault(error, { operationId: 'front' })
        if (!response.headersSent) response.writeHead(500)
        response.end()
      })
    },
  )
  const refused = new WeakSet<Duplex>()
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (refused.has(socket)) return
    refused.add(socket)
    const [response, next] = active.get(socket) ?? []
    // The error is in the body of a pending request, or in data after a complete request.
    const isNext = next !== undefined || response?.req.complete
    if (!socket.writable || response?.headersSent || isNext) return void socket.destroy()
    socket.end(written(problemOf(error.code)))
    // If the socket were closed immediately, data that the client still sends would prevent it from receiving the response.
    const leaving = setTimeout(() => socket.destroy(), closingTime)
    socket.once('close', () => clearTimeout(leaving))
  })
  return server
}

/** Serves only `GET /metrics`, without a token: the operator decides who can reach its address. */
export function metricsListener({ useCases, handle }: { useCases: readonly UseCase[]; handle: Handle }): Server {
  const metrics = useCases.find(({ operation }) => operation.isOpenToMonitoring)
  return createListener(async (request, response) => {
    const [path] = (request.url ?? '/').split('?', 1)
    if (!metrics || request.method !== 'GET' || path !== metrics.operation.path) {
      response.writeHead(404).end()
      return
    }
    const address = request.socket.remoteAddress ?? 'unknown'
    const asked = { method: 'GET', url: path, headers: { get: () => null }, body: null }
    const { status, headers, body } = await handle(metrics, asked, { params: {}, address, isMonitoring: true })
    response.writeHead(status, headers).end(typeof body === 'string' ? body : undefined)
  })
}

/** The host and the port of KP_METRICS_LISTEN. */
export function listenedAt(text: string): { host: string; port: number } {
  const at = text.lastIndexOf(':')
  return { host: text.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(text.slice(at + 1)) }
}

/**
 * Ends a server without a failed request: announces the end, serves until `drained` resolves, by which time a load balancer has noticed, then
 * stops listening and finishes the running requests.
 */
export async function endServer(
  server: Server,
  { announce, drained }: { announce(): void; drained(): Promise<unknown> },
): Promise<void> {
  announce()
  await drained()
  const closed = new Promise((done) => server.close(done))
  server.closeIdleConnections()
  const patience = setInterval(() => server.closeIdleConnections(), 100)
  await closed
  clearInterval(patience)
}
