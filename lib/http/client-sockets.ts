import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { clientAddress, type TrustedProxies } from '#lib/access/client-address.ts'
import { headerText } from './api-request.ts'

/** The client's address for Next's pages and routes, which have no access to the socket. */
export const clientAddresses = new AsyncLocalStorage<string>()

/** Set by a page request that fails because a store does not answer. Next reports every failed page as an internal error. */
export const pageFaults = new AsyncLocalStorage<{ isUnavailable: boolean }>()

const started = (message: unknown): { request: IncomingMessage; socket: Socket } | undefined => {
  const { request, socket } = message as { request: IncomingMessage; socket: unknown }
  return socket instanceof Socket ? { request, socket } : undefined
}

/**
 * Sets {@link clientAddresses} when plain Next runs the server. Next gives its handlers no socket, and an `X-Forwarded-For` that the
 * client may have written. Node publishes each request of this process with its socket before a handler runs.
 */
export function followClientSockets(proxies: () => TrustedProxies): void {
  subscribe('http.server.request.start', (message) => {
    const arrived = started(message)
    if (!arrived) return
    const { request, socket } = arrived
    clientAddresses.enterWith(
      clientAddress(socket.remoteAddress, headerText(request.headers['x-forwarded-for']), proxies()),
    )
  })
}
