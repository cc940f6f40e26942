import type { Socket } from 'node:net'
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
  /** After a connection was in use, or a request waited for one, for this many milliseconds, the breaker probes the server. */
  slow: number
  /** The time limit of a probe in milliseconds. The breaker opens after two failed probes in a row: within `slow * 1.25 + probe * 2`. */
  probe: number
}

const probesBeforeOpen = 2
/** Milliseconds between two probes of a server that does not respond. */
const betweenProbes = 500
/** Milliseconds between two looks at the time limit of a probe. */
const tick = 50
/** Milliseconds for a regular disconnect. */
const goodbye = 1_000

/** Any response, including an error, shows that the server is alive, except that it is starting up or shutting down (57P01 to 57P03). */
const isAnswer = (error: unknown): boolean => {
  const code = errorCode(error) ?? ''
  return /^[0-9A-Z]{5}$/.test(code) && !/^57P0[1-3]$/.test(code) && !code.startsWith('E')
}

/** Resolves after `max` milliseconds in which this process could receive a response: while it computes, no time passes. */
async function lateAfter(max: number, signal: AbortSignal): Promise<'late'> {
  for (let waited = 0; waited < max; ) {
    const began = performance.now()
    await delay(tick, undefined, { signal, ref: false })
    waited += Math.min(performance.now() - began, 2 * tick)
  }
  return 'late'
}

/** pg does not type the socket of a client. */
const socketOf = (client: pg.ClientBase): Pick<Socket, 'destroy' | 'unref'> | undefined =>
  (client as pg.ClientBase & { connection?: { stream?: Socket } }).connection?.stream
const destroy = (client: pg.ClientBase): void => void socketOf(client)?.destroy()

/**
 * Probes the server on a connection of its own, which stays open: on a machine under load, opening one takes long although the server
 * is alive.
 */
function prober(connectionString: string | undefined) {
  let retained: pg.Client | undefined
  let opening: Promise<unknown> | undefined
  let isClosed = false
  const opened = new Set<pg.Client>()

  function keep(client: pg.Client): void {
    if (isClosed || retained) destroy(client)
    else retained = client
  }
  function open(): pg.Client {
    const client = new pg.Client({ connectionString })
    opened.add(client)
    // The server may close it while it is idle.
    client
      .on('error', () => {})
      .once('end', () => {
        opened.delete(client)
        if (retained === client) retained = undefined
      })
    return client
  }
  /** The connection does not keep the process alive. */
  const connected = (client: pg.Client): Promise<unknown> => client.connect().then(() => socketOf(client)?.unref())

  /** Whether the server responds within `max` milliseconds. Never runs concurrently. */
  async function answers(max: number): Promise<boolean> {
    const known = retained
    const client = known ?? open()
    retained = undefined
    const gaveUp = new AbortController()
    try {
      const asked = (known ? Promise.resolve() : connected(client)).then(() => client.query('SELECT 1'))
      asked.catch(() => {})
      const late = lateAfter(max, gaveUp.signal)
      late.catch(() => {})
      if ((await Promise.race([asked, late])) !== 'late') {
        keep(client)
        return true
      }
      // A frozen server would not respond to a regular disconnect either.
      destroy(client)
      return false
    } catch (error) {
      destroy(client)
      return isAnswer(error) || (known !== undefined && answers(max))
    } finally {
      gaveUp.abort()
    }
  }

  return {
    answers,
    /** Opens the connection before it is needed. */
    prepare(): void {
      if (retained || opening || isClosed) return
      const client = open()
      opening = connected(client)
        .then(
          () => keep(client),
          () => destroy(client),
        )
        .finally(() => {
          opening = undefined
        })
    },
    async close(): Promise<void> {
      isClosed = true
      const ended = Promise.all([opening, ...[...opened].map((client) => client.end())]).catch(() => {})
      // The timer keeps the process alive: nothing else may, and a process without work ends before its last statements.
      const isOver = new AbortController()
      const late = delay(goodbye, undefined, { signal: isOver.signal }).catch(() => {})
      await Promise.race([ended, late])
      isOver.abort()
      for (const client of opened) destroy(client)
    },
  }
}

type ConnectCallback = Parameters<pg.Pool['connect']>[0]
/** The pool's own query() also calls connect(), with a callback. */
function replaceConnect(pool: pg.Pool, connect: (callback: ConnectCallback) => void): void {
  pool.connect = ((callback?: ConnectCallback) => {
    if (callback) return connect(callback)
    return new Promise<pg.PoolClient>((connected, failed) => {
      connect((error, client) => (client ? connected(client) : failed(error)))
    })
  }) as pg.Pool['connect']
}

/**
 * Prevents requests from waiting for a frozen or unreachable server. When a connection is in use for a long time, or none can be
 * obtained, it probes the server on a separate connection. If the server does not respond, all connections in use are closed, and waiting
 * and new requests are rejected immediately until a probe succeeds.
 */
export function breaker(pool: pg.Pool, { slow, probe }: BreakerOptions): { close(): Promise<void> } {
  const borrowed = new Map<pg.PoolClient, number>()
  /** Requests that wait for a connection, and since when. */
  const waiting = new Map<(error: Error) => void, number>()
  const server = prober(pool.options.connectionString)
  let isOpen = false
  let isClosed = false
  let probing: Promise<void> | undefined
  let answered = Number.NEGATIVE_INFINITY

  pool.on('connect', server.prepare)
  pool.on('acquire', (client) => borrowed.set(client, performance.now()))
  pool.on('release', (_error, client) => borrowed.delete(client))
  pool.on('remove', (client) => borrowed.delete(client))

  async function probeUntilAnswered(): Promise<void> {
    for (let failed = 0; !isClosed; ) {
      if (await server.answers(probe)) {
        isOpen = false
        answered = performance.now()
        return
      }
      failed++
      if (failed === probesBeforeOpen) {
        isOpen = true
        for (const client of borrowed.keys()) destroy(client)
        for (const refuse of [...waiting.keys()]) refuse(new DatabaseSilent())
      }
      if (isOpen) await delay(betweenProbes, undefined, { ref: false })
    }
  }
  const suspect = (): void => {
    if (probing || isClosed) return
    probing = probeUntilAnswered().finally(() => {
      probing = undefined
    })
  }
  const watch = setInterval(() => {
    const now = performance.now()
    // Both are in order of time.
    const [waited = now] = waiting.values()
    const [lent = now] = borrowed.values()
    const oldest = Math.min(waited, lent)
    // The last response shows that the server was alive then.
    if (now - Math.max(oldest, answered) > slow) suspect()
  }, slow / 4).unref()

  const connect: (callback: ConnectCallback) => void = pool.connect.bind(pool)
  /** Calls back once: with a connection, or with an error as soon as the breaker opens. */
  function connectUnlessSilent(callback: ConnectCallback): void {
    if (isOpen) {
      process.nextTick(() => callback(new DatabaseSilent(), undefined, () => {}))
      return
    }
    const refuse = (error: Error) => {
      waiting.delete(refuse)
      callback(error, undefined, () => {})
    }
    waiting.set(refuse, performance.now())
    connect((error, client, release) => {
      if (waiting.delete(refuse)) callback(error, client, release)
      else if (client) release() // the request was rejected in the meantime
    })
  }
  replaceConnect(pool, connectUnlessSilent)

  return {
    close() {
      isClosed = true
      clearInterval(watch)
      return server.close()
    },
  }
}
