import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import findMyWay, { type HTTPMethod } from 'find-my-way'
import { z } from 'zod'
import { clientAddress, isLocalRequest, type TrustedProxies } from '#lib/access/client-address.ts'
import { limitHeaders, uncountedWindow } from '#lib/access/limit-headers.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { newId } from '#lib/kernel/ids.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { UseCase } from '#lib/kernel/use-case.ts'
import { arriving, boundBody, patience } from './arrival.ts'
import { clientAddresses, textOf } from './client-sockets.ts'
import type { DoorAnswer, DoorRequest } from './door.ts'
import { type Handle, plainHeaders, refusal } from './handle.ts'

export interface FrontParts {
  useCases: readonly UseCase[]
  handle: Handle
  proxies: () => TrustedProxies
}
type Pages = (request: IncomingMessage, response: ServerResponse) => Promise<void>
const methods: readonly HTTPMethod[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Bytes of a form of the console, the largest there is. */
const largestForm = 64 * 1024

/** Whether the escapes of a path are UTF-8; Next takes one where they are not for a fault of its own. */
function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

const uncountedHeaders = (): Record<string, string> => limitHeaders(uncountedWindow('read'), 'read')

/** Refuses a request before Next sees it. */
function refusedPage(problem: Problem, more: Record<string, string> = {}): DoorAnswer {
  const requestId = newId('req')
  return refusal(problem, 'page', requestId, { ...plainHeaders(requestId), ...uncountedHeaders(), ...more })
}

const unknown = operation({
  id: 'unknown',
  method: 'get',
  path: '/',
  summary: 'Whatever is not part of the API',
  permission: 'public',
  audit: { none: 'nothing is done' },
  limit: 'exempt',
  status: 200,
  output: z.unknown(),
})

const doorRequest = (request: IncomingMessage, most: number): DoorRequest => ({
  method: request.method ?? 'GET',
  url: request.url ?? '/',
  headers: { get: (name) => textOf(request.headers[name.toLowerCase()]) },
  body: arriving(request, most),
})

async function send(
  response: ServerResponse,
  { status, headers, body }: DoorAnswer,
  isHead: boolean,
  most: number,
): Promise<void> {
  // Nobody reads for whom nothing moves: what fills the cursor's page, or the memory, waits no longer.
  response.setTimeout(most, () => response.destroy())
  if (body === null || typeof body === 'string') {
    response.writeHead(status, body === null ? headers : { ...headers, 'Content-Length': Buffer.byteLength(body) })
    response.end(isHead ? undefined : body)
    return
  }
  response.writeHead(status, headers)
  if (isHead) {
    response.end()
    return
  }
  let isOurs = false
  async function* watched(pieces: AsyncIterable<string | Uint8Array>) {
    try {
      yield* pieces
    } catch (error) {
      // Readable hands the reader's leaving in, too.
      isOurs = !response.destroyed
      throw error
    }
  }
  // A reader that leaves ends the cursor; there is nobody left to tell. A fault of ours breaks the transfer off, so that it is seen.
  await pipeline(Readable.from(watched(body)), response).catch((error: unknown) => {
    if (isOurs) logFault(error, { operationId: 'stream', requestId: headers['X-Request-Id'] ?? '' })
    response.destroy()
  })
}

/** Answers the operations before Next sees the request, and hands everything else to Next. `most`: see {@link patience}. */
export function createFront({ useCases, handle, proxies }: FrontParts, pages: Pages, most = patience) {
  const router = findMyWay({ ignoreTrailingSlash: true, maxParamLength: 300 })
  for (const useCase of useCases) {
    const { method, path, audit } = useCase.operation
    const wanted = methods.filter((name) => name.toLowerCase() === method)
    // An export is counted and audited; a HEAD would spend one and throw it away.
    const takesHead = method === 'get' && !('action' in audit && audit.action === 'export')
    router.on(takesHead ? ['GET', 'HEAD'] : wanted, path.replaceAll(/\{(\w+)\}/g, ':$1'), () => {}, useCase)
  }
  const isApi = (path: string): boolean =>
    path === '/v1' || path.startsWith('/v1/') || (path.startsWith('/api/') && !path.startsWith('/api/auth/'))

  /** What no operation answers, through the same door: with its headers, and counted. */
  function nobody(url: string): UseCase {
    const allowed = methods.filter((method) => router.find(method, url) !== null)
    const problem =
      allowed.length === 0
        ? new Problem('not_found', 'This address is not part of the API; /docs/api shows what is.')
        : new Problem('method_not_allowed', {
            detail: `It takes ${allowed.join(', ')}.`,
            headers: { Allow: allowed.join(', ') },
          })
    return { operation: unknown, execute: () => Promise.reject(problem) }
  }

  /** A page's request has a small body, of a length that is told; whatever else would fill the memory is refused. */
  function refusedBody({ method, headers }: IncomingMessage): DoorAnswer | undefined {
    if (method === 'GET' || method === 'HEAD') return undefined
    const length = headers['content-length']
    if (headers['transfer-encoding'] === undefined && Number(length ?? 0) <= largestForm) return undefined
    const problem = new Problem(
      'too_large',
      `At most ${largestForm.toLocaleString('en')} bytes are taken here, and their number in Content-Length.`,
    )
    return refusedPage(problem, { Connection: 'close' })
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = request.url ?? '/'
    const address = clientAddress(request.socket.remoteAddress, textOf(request.headers['x-forwarded-for']), proxies())
    const found = router.find((request.method ?? 'GET') as HTTPMethod, url)
    const isHead = request.method === 'HEAD'
    if (found) {
      const useCase: UseCase = found.store
      const params = Object.fromEntries(Object.entries(found.params).map(([name, value]) => [name, value ?? '']))
      boundBody(request, response, useCase.operation.upload !== undefined, most)
      const asked = doorRequest(request, most)
      const isLocal = isLocalRequest(request.socket.remoteAddress, asked.headers)
      return send(response, await handle(useCase, asked, { params, address, isLocal }), isHead, most)
    }
    boundBody(request, response, false, most)
    const [path = '/'] = url.split('?', 1)
    if (isApi(path))
      return send(
        response,
        await handle(nobody(url), doorRequest(request, most), { params: {}, address }),
        isHead,
        most,
      )
    const refused = isDecodable(path)
      ? refusedBody(request)
      : refusedPage(new Problem('bad_request', 'The escapes in the address are not UTF-8.'))
    if (refused) return send(response, refused, isHead, most)
    if (path.startsWith('/api/auth/'))
      for (const [name, value] of Object.entries(uncountedHeaders())) response.setHeader(name, value)
    return clientAddresses.run(address, () => pages(request, response))
  }
}
