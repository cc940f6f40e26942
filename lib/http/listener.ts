import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { limitHeaders, uncountedWindow } from '#lib/access/limiter.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { UseCase } from '#lib/kernel/use-case.ts'
import { type Handle, plainHeaders, refusalResponse } from './handle.ts'

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
