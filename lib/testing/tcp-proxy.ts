import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { freePort } from './ports.ts'

/** A connection to a server that a test can cut: clients see an outage, and the server keeps its data. */
export interface TcpProxy {
  /** The URL of the server, through the proxy. */
  url: string
  /** Ends all connections and refuses new ones. */
  cut(): void
  restore(): Promise<void>
  close(): void
}

export async function tcpProxy(serverUrl: string): Promise<TcpProxy> {
  const url = new URL(serverUrl)
  const folder = url.searchParams.get('host')
  // PostgreSQL of the tests listens on a Unix socket.
  const server =
    folder === null
      ? { host: url.hostname, port: Number(url.port) }
      : { path: `${folder}/.s.PGSQL.${url.port || 5432}` }
  const port = await freePort()
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
    client.pipe(upstream).pipe(client)
  })
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
  return { url: url.href, cut, restore, close: cut }
}
