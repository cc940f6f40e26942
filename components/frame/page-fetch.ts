/** Statuses with which a proxy answers while the server behind it is down. */
const proxyFailures = new Set([502, 503, 504])
const isOfRouter = (headers: HeadersInit | undefined): boolean => {
  const given = new Headers(headers)
  return given.has('rsc') || given.has('next-action')
}

/**
 * A fetch that treats the answer of a proxy without its server as a lost connection, for requests of the router. The router waits until
 * the connection is back (`experimental.useOffline`). For any other answer it would leave the page, and typed text would be lost.
 */
export const fetchForRouter =
  (original: typeof fetch): typeof fetch =>
  async (input, init) => {
    const response = await original(input, init)
    const isPage = response.headers.get('content-type')?.startsWith('text/x-component') ?? false
    if (!isPage && proxyFailures.has(response.status) && isOfRouter(init?.headers))
      throw new TypeError(`The server behind the proxy did not answer (${response.status}).`)
    return response
  }
