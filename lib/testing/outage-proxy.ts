import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from './ports.ts'

export interface OutageProxy {
  port: number
  /** From now on connections are refused, and those that exist are reset: an outage as clients see it. Safe to repeat. */
  stop(): Promise<void>
  /** Connections pass again, on the same port. */
  start(): Promise<void>
}

/** Stands in front of a server whose restart takes long. It passes everything on until it is stopped. */
export async function outageProxy(target: number): Promise<OutageProxy> {
  const port = await freePort()
  const sockets = new Set<Socket>()
  let server: Server | undefined
  const track = (socket: Socket): Socket => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket))
    return socket
  }
  const start = async () => {
    if (server) return
    server = createServer((given) => {
      const client = track(given)
      const upstream = track(connect(target, '127.0.0.1'))
      client.on('close', () => upstream.destroy())
      upstream.on('close', () => client.destroy())
      client.pipe(upstream).pipe(client)
    }).listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await start()
  return {
    port,
    start,
    async stop() {
      const stopped = server
      server = undefined
      if (!stopped) return
      const closed = once(stopped, 'close')
      stopped.close()
      for (const socket of sockets) socket.resetAndDestroy()
      await closed
    },
  }
}
