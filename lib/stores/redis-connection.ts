import { setTimeout as delay } from 'node:timers/promises'
import { type Sentinels, sentinelsOf } from '#lib/config/sentinels.ts'

interface ServerAddress {
  host: string
  port: number
}

/** Milliseconds that a replica has to confirm what the primary wrote. */
const replicating = 1_000
/** Milliseconds that a Sentinel has to answer at the end of a search: longer than for a connection, because the search would be repeated. */
const answering = 3_000

class NoPrimary extends Error {
  readonly code = 'no primary'
}

/** The result of `work`, which a server that hangs would never give. @throws NoPrimary after `patience` milliseconds */
async function inTime<T>(patience: number, work: Promise<T>): Promise<T> {
  const end = new AbortController()
  const late = delay(patience, undefined, { signal: end.signal, ref: false }).then(() => {
    throw new NoPrimary('no answer in time')
  })
  late.catch(() => {})
  work.catch(() => {}) // may fail after its time
  try {
    return await Promise.race([work, late])
  } finally {
    end.abort()
  }
}

/** The answers of the Sentinels that answer within `patience` milliseconds. */
async function askSentinels<T>(
  { addresses, url }: Sentinels,
  patience: number,
  question: (send: (...command: string[]) => Promise<unknown>) => Promise<T>,
): Promise<T[]> {
  const { createClient } = await import('@redis/client')
  const password = url.searchParams.get('sentinel_password')
  const ask = async ({ host, port }: ServerAddress): Promise<T> => {
    const client = createClient({
      RESP: 2,
      disableOfflineQueue: true,
      ...(password !== null && { password }),
      socket: {
        host,
        port,
        connectTimeout: patience,
        reconnectStrategy: false,
        ...(url.protocol === 'rediss:' && { tls: true }),
      },
    })
    client.on('error', () => {}) // the call reports it
    try {
      return await inTime(
        patience,
        client.connect().then(() => question((...command) => client.sendCommand(command))),
      )
    } finally {
      client.destroy()
    }
  }
  const answers = await Promise.allSettled(addresses.map(ask))
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
}

const textsOf = (answer: unknown): string[] => (Array.isArray(answer) ? answer.map(String) : [])

/** The address that most of all Sentinels name, so that those on the wrong side of a split network do not decide. @throws NoPrimary */
async function primaryOf(sentinels: Sentinels, patience: number): Promise<ServerAddress> {
  const named = await askSentinels(sentinels, patience, async (send) =>
    JSON.stringify(textsOf(await send('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', sentinels.name))),
  )
  for (const one of new Set(named)) {
    const [host, port] = textsOf(JSON.parse(one))
    if (
      host !== undefined &&
      port !== undefined &&
      named.filter((other) => other === one).length * 2 > sentinels.addresses.length
    )
      return { host, port: Number(port) }
  }
  throw new NoPrimary('most Sentinels do not name the same primary')
}

/** The largest number of replicas that a Sentinel considers up: it could promote any of them. @throws NoPrimary unless most Sentinels answer */
async function replicasOf(sentinels: Sentinels, patience: number): Promise<number> {
  const counts = await askSentinels(sentinels, patience, async (send) => {
    const replicas = await send('SENTINEL', 'REPLICAS', sentinels.name)
    return (Array.isArray(replicas) ? replicas : []).filter((replica) => {
      const fields = textsOf(replica)
      return !/down|disconnected/.test(fields[fields.indexOf('flags') + 1] ?? '')
    }).length
  })
  if (counts.length * 2 <= sentinels.addresses.length) throw new NoPrimary('most Sentinels do not list the replicas')
  return Math.max(...counts)
}

const isSame = (one: ServerAddress, other: ServerAddress): boolean => one.host === other.host && one.port === other.port

/** The part of a client of node-redis that this file uses. */
interface Commands {
  sendCommand(command: readonly string[]): Promise<unknown>
}

/**
 * Finds the primary of the Sentinels. A server that was a primary before may answer as one after it came back, with old data or none, so
 * the Sentinels are asked again after the connection: a server counts as the primary only if it says so itself and most Sentinels do.
 */
function sentinelPrimary(sentinels: Sentinels, patience: number) {
  async function check(
    server: ServerAddress,
    client: Commands,
    longest = Math.max(patience, answering),
  ): Promise<void> {
    const [role] = textsOf(await client.sendCommand(['ROLE']))
    if (role !== 'master') throw new NoPrimary('the server is a replica')
    if (!isSame(await primaryOf(sentinels, longest), server)) throw new NoPrimary('another server is the primary')
  }
  return {
    find: () => primaryOf(sentinels, patience),
    urlOf({ host, port }: ServerAddress): string {
      const url = new URL(sentinels.url)
      url.host = `${host.includes(':') ? `[${host}]` : host}:${port}`
      url.search = ''
      return url.href
    },
    /** @throws NoPrimary unless the connected server is the primary */
    check,
    /**
     * Waits until each replica that could be promoted has everything that the primary wrote, deletions included.
     * @throws NoPrimary if one does not confirm it, or the connected server is not the primary any more
     */
    async confirm(server: ServerAddress, client: Commands): Promise<void> {
      await check(server, client)
      const count = await replicasOf(sentinels, Math.max(patience, answering))
      if (count === 0) return
      // WAIT counts from the last write of its own connection. The name is one of a limit, so no search returns it.
      await client.sendCommand(['SET', 'kp:limit:confirmed', '', 'EX', '60'])
      const confirmed = Number(await client.sendCommand(['WAIT', String(count), String(replicating)]))
      if (confirmed < count) throw new NoPrimary('a replica lags behind')
    },
  }
}

/**
 * Connects to the server of `url`, which it reconnects to by itself, or to the primary that its Sentinels name: then a lost connection is
 * over, and the next one may lead to another server. Loads the client at the first use: most installations have no Redis.
 *
 * @throws if there is no primary
 */
export async function connectRedis(
  url: string,
  { connectTimeout, onError = () => {} }: { connectTimeout: number; onError?: (error: unknown) => void },
) {
  const { createClient } = await import('@redis/client')
  const sentinels = sentinelsOf(url)
  const primary = sentinels && sentinelPrimary(sentinels, connectTimeout)
  const server = await primary?.find()
  const client = createClient({
    url: primary && server ? primary.urlOf(server) : url,
    disableOfflineQueue: true, // without a connection a command fails immediately instead of waiting for one
    socket: {
      connectTimeout,
      reconnectStrategy: server ? false : (retries) => Math.min(50 * 2 ** retries, 1000),
    },
  })
  client.on('error', onError)
  const opened = client.connect()
  opened.catch(() => {}) // rejects if it is destroyed before it is connected; commands report the error
  const close = () => {
    if (client.isOpen) client.destroy()
  }
  if (primary && server)
    try {
      const checked = opened.then(() => primary.check(server, client, connectTimeout))
      await inTime(connectTimeout * 3, checked) // it connects twice, to the server and to the Sentinels
    } catch (error) {
      close()
      throw error
    }
  return {
    client,
    opened,
    close,
    /** Whether it cannot be used any more. */
    isOver: () => server !== undefined && !client.isOpen,
    /** Ends it if the server says that it is not the primary any more. */
    refused(reason: string): void {
      if (server && reason === 'READONLY') close()
    },
    /** @throws unless the server is still the primary; writes nothing, and without Sentinels does nothing */
    async check(): Promise<void> {
      if (primary && server) await primary.check(server, client)
    },
    /** @throws unless a failover now would keep everything that was written and deleted; without Sentinels it does nothing */
    async confirm(): Promise<void> {
      if (primary && server) await primary.confirm(server, client)
    },
  }
}
