import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { freeTestPort } from './ports.ts'

/** A connection that a test can cut: clients see an outage, and the server keeps its data. */
export interface TcpProxy {
  /** The server's URL through the proxy. */
  url: string
  /** Ends all connections and rejects new ones. */
  cut(): void
  restore(): Promise<void>
  /** Stops forwarding, like a frozen server. Connections stay open, and new ones are accepted. */
  freeze(): void
  /** Resumes forwarding, including waiting data. */
  thaw(): void
  close(): void
}

export async function tcpProxy(serverUrl: string): Promise<TcpProxy> {
  const url = new URL(serverUrl)
  const folder = url.searchParams.get('host')
  // The test PostgreSQL listens on a Unix socket.
  const server =
    folder === null
      ? { host: url.hostname, port: Number(url.port) }
      : { path: `${folder}/.s.PGSQL.${url.port || 5432}` }
  const port = await freeTestPort()
  const sockets = new Set<Socket>()
  const listener = createServer((client) => {
    const upstream = connect(server)
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.once('close', () => {
        sockets.delete(socket)
        end()
      })
      socket.on('error', end)
    }
    pairs.set(client, upstream)
    client.once('close', () => pairs.delete(client))
    if (!isFrozen) join(client, upstream)
  })
  const join = (client: Socket, upstream: Socket) => void client.pipe(upstream).pipe(client)
  const pairs = new Map<Socket, Socket>()
  let isFrozen = false
  const freeze = () => {
    isFrozen = true
    for (const [client, upstream] of pairs) {
      client.unpipe(upstream).pause()
      upstream.unpipe(client).pause()
    }
  }
  const thaw = () => {
    isFrozen = false
    for (const [client, upstream] of pairs) join(client, upstream)
  }
  const restore = async () => {
    if (!listener.listening) await once(listener.listen(port, '127.0.0.1'), 'listening')
  }
  const cut = () => {
    listener.close()
    for (const socket of sockets) socket.destroy()
  }
  await restore()
  url.searchParams.delete('host')
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return { url: url.href, cut, restore, freeze, thaw, close: cut }
}
