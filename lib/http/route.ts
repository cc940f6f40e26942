import type { UseCase } from '#lib/kernel/use-case.ts'
import type { ApiRequest, ApiResponse } from './api-request.ts'
import { clientAddresses } from './client-sockets.ts'
import type { Handle } from './handle.ts'

/** Next leaves `params` undefined if the path has none. */
type RouteContext = { params: Promise<Record<string, string | string[]> | undefined> }
export type RouteHandler = (request: Request, context: RouteContext) => Promise<Response>

/** Pulls pieces as fast as the client reads. */
function encoded(pieces: AsyncIterable<string | Uint8Array>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const iterator = pieces[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
    },
    async cancel() {
      await iterator.return?.()
    },
  })
}

function toResponse({ status, headers, body }: ApiResponse): Response {
  const isWhole = body === null || typeof body === 'string' || body instanceof Uint8Array
  const content = isWhole ? (body as BodyInit | null) : encoded(body)
  return new Response(content, { status, headers })
}

/** Text with invalid percent-encoding is returned unchanged, and the operation's schema rejects it. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Next's route handlers. Without a socket in this process the address is unknown, and all clients without a token share one rate limit. */
export const createRoute =
  (handle: Handle) =>
  (useCase: UseCase): RouteHandler =>
  async (request, { params }) => {
    const named = Object.entries((await params) ?? {}).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join('/') : decoded(value),
    ])
    return toResponse(
      await handle(useCase, request, {
        params: Object.fromEntries(named),
        address: clientAddresses.getStore() ?? 'unknown',
      }),
    )
  }

/** A route handler of an address that is no operation. */
export const createPlainRoute =
  (endpoint: (request: ApiRequest, address: string) => Promise<ApiResponse>) =>
  async (request: Request): Promise<Response> =>
    toResponse(await endpoint(request, clientAddresses.getStore() ?? 'unknown'))
