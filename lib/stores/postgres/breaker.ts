import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { errorCode } from '#lib/kernel/error-code.ts'

/** Thrown instead of returning a connection while the database does not respond. */
class DatabaseSilent extends Error {
  readonly code = 'ETIMEDOUT'
  constructor() {
    super('The database does not answer; a probe in the background looks for it.')
    this.name = 'DatabaseSilent'
  }
}

export interface BreakerOptions {
  /** After a connection was in use for this many milliseconds, the breaker probes the server. */
  slow: number
  /** The time limit of a probe in milliseconds. The breaker opens after two failed probes in a row. */
  probe: number
}

const probesBeforeOpen = 2
/** Milliseconds between two probes of a server that does not respond. */
const betweenProbes = 500
/** Milliseconds without further probes after a response. */
const trustedFor = 5_000

/** Any response, including an error, shows that the server is alive, except that it is starting up or shutting down (57P01 to 57P03). */
const isAnswer = (error: unknown): boolean => {
  const code = errorCode(error) ?? ''
  return /^[0-9A-Z]{5}$/.test(code) && !/^57P0[1-3]$/.test(code) && !code.startsWith('E')
}

async function answers(connectionString: string | undefined, most: number): Promise<boolean> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: most, query_timeout: most })
  client.on('error', () => {})
  const gaveUp = new AbortController()
  try {
    const asked = client.connect().then(() => client.query('SELECT 1'))
    asked.catch(() => {})
    const late = delay(most, 'late' as const, { signal: gaveUp.signal, ref: false })
    late.catch(() => {})
    return (await Promise.race([asked, late])) !== 'late'
  } catch (error) {
    return isAnswer(error)
  } finally {
    gaveUp.abort()
    // A frozen server would not respond to a regular disconnect either.
    destroy(client)
  }
}

/** pg does not type the socket of a client. */
function destroy(client: pg.ClientBase): void {
  const { connection } = client as pg.ClientBase & { connection?: { stream?: { destroy(): void } } }
  connection?.stream?.destroy()
}

/**
 * Prevents requests from waiting for a frozen or unreachable server. When a connection is in use for a long time, or none can be
 * obtained, it probes the server on a separate connection. If the server does not respond, all connections in use are closed, and new
 * requests are rejected immediately until a probe succeeds.
 */
export function breaker(pool: pg.Pool, { slow, probe }: BreakerOptions): { close(): void } {
  const borrowed = new Map<pg.PoolClient, number>()
  let isOpen = false
  let isClosed = false
  let probing: Promise<void> | undefined
  let answered = Number.NEGATIVE_INFINITY
  let waitingSince: number | undefined

  pool.on('acquire', (client) => borrowed.set(client, performance.now()))
  pool.on('release', (_error, client) => borrowed.delete(client))
  pool.on('remove', (client) => borrowed.delete(client))

  async function probeUntilAnswered(): Promise<void> {
    for (let failed = 0; !isClosed; ) {
      if (await answers(pool.options.connectionString, probe)) {
        isOpen = false
        answered = performance.now()
        return
      }
      failed++
      if (failed === probesBeforeOpen) {
        isOpen = true
        for (const client of borrowed.keys()) destroy(client)
      }
      if (isOpen) await delay(betweenProbes, undefined, { ref: false })
    }
  }
  const suspect = (): void => {
    if (probing || isClosed || performance.now() - answered < trustedFor) return
    probing = probeUntilAnswered().finally(() => {
      probing = undefined
    })
  }
  const watch = setInterval(() => {
    const now = performance.now()
    waitingSince = pool.waitingCount > 0 ? (waitingSince ?? now) : undefined
    const oldest = Math.min(waitingSince ?? now, ...borrowed.values())
    if (now - oldest > slow) suspect()
  }, slow / 4).unref()

  const connect = pool.connect.bind(pool) as pg.Pool['connect']
  type Callback = Parameters<pg.Pool['connect']>[0]
  // The pool's own query() also calls it, with a callback.
  pool.connect = ((callback?: Callback) => {
    if (!isOpen) return callback ? connect(callback) : connect()
    if (!callback) return Promise.reject(new DatabaseSilent())
    process.nextTick(() => callback(new DatabaseSilent(), undefined, () => {}))
    return undefined
  }) as pg.Pool['connect']

  return {
    close() {
      isClosed = true
      clearInterval(watch)
    },
  }
}
