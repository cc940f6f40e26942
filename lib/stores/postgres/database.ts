import { AsyncLocalStorage } from 'node:async_hooks'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import type { Transaction } from '#lib/kernel/context.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { traceStatement } from '#lib/kernel/tracing.ts'
import { type Prisma, PrismaClient } from '../../../generated/prisma/client.ts'
import { hasSqlState } from './fault.ts'
import { createPool } from './pool.ts'
import { asProblem, isGivenUp } from './problems.ts'
import { type Settings, sessionPools } from './session-pools.ts'
import { type Loan, lendTo, type RunQuery, runWith } from './statement.ts'

/** Thrown instead of returning a connection while the database does not respond. */
class DatabaseSilent extends Error {
  readonly code = 'ETIMEDOUT'
  constructor() {
    super('The database does not answer; a probe in the background looks for it.')
    this.name = 'DatabaseSilent'
  }
}

interface BreakerOptions {
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

declare module '#lib/kernel/context.ts' {
  /** A Prisma transaction, through which domains access their tables. */
  interface Transaction extends Prisma.TransactionClient {}
}

/**
 * Identifies the server process and the database in it. It differs after a failover, a restore and a restart, behind the same address. Every
 * role may ask for it.
 */
const askIdentity = `SELECT concat_ws('/', extract(epoch FROM pg_postmaster_start_time()),
  (SELECT oid FROM pg_database WHERE datname = current_database())) AS server`

/** How often a transaction is attempted when the database aborts it because of another one. */
const maxTries = 3
/** Access to our tables through one pool: Prisma, and plain SQL where each round trip matters. */
export interface Database {
  prisma: PrismaClient
  pool: pg.Pool
  /** The address without a pooler, for connections outside the pools: behind one, they would wait for each other's transactions. */
  directUrl: string
  /** Runs one statement; with a name it is prepared once per connection. @throws `unavailable` if the database is down */
  query<R extends pg.QueryResultRow>(name: string | undefined, text: string, values?: readonly unknown[]): Promise<R[]>
  /**
   * Runs a transaction and retries it if the database aborts it because of another one, so `run` must not keep state between attempts.
   * `longest`: its time limit in milliseconds, for transactions that wait for an external store. Each holds a connection that long, so
   * few may run concurrently. `isSnapshot`: all statements see the state at the first one.
   */
  transaction<T>(run: (tx: Transaction) => Promise<T>, how?: { longest?: number; isSnapshot?: boolean }): Promise<T>
  /**
   * Increases whenever another server may have begun to answer: an open connection ended unexpectedly, or a new one leads to a server that
   * was not seen before. A pooler changes servers without either; of the connections beside it, both are noticed.
   */
  serverEpoch(): number
  /**
   * How many servers were seen to answer after the first one. It increases before the first statement on a connection to a server that was
   * not seen before. Behind a pooler it remains 0: a connection does not tell which server answers its statements.
   */
  servers(): number
  /** Lends a connection that keeps its session, for locks that end with it; the caller releases it. @throws if the database is down */
  session(): Promise<pg.PoolClient>
  /** Runs single read-only statements on connections that are kept for these settings. @throws `unavailable` if the database is down */
  withSettings(settings: Settings): RunQuery
  close(): Promise<void>
}

interface DatabaseOptions {
  /** The maximum number of connections for transactions and statements. Statements with settings have half as many of their own. */
  max?: number
  /** The time limit of a transaction before it is rolled back, in milliseconds. */
  longest?: number
  /** How long a statement or transaction waits for a free connection, in milliseconds. */
  patience?: number
  /**
   * Throws if code inside a transaction requests a second connection: as many such requests as there are connections would deadlock. For
   * development and tests.
   */
  isGuarded?: boolean
  /** The address of the database itself, if `url` leads to a pooler in transaction mode. */
  directUrl?: string | undefined
}

/** How long a transaction with a raised time limit waits for a lock, in milliseconds. */
const longestLock = 15_000

/** A transaction that is being opened, until it has a connection. */
interface OpeningTransaction {
  loan?: Loan
  longest: number | undefined
}
/** The pool for Prisma. It records the connection of a transaction, for {@link queryWithin}. */
function lendingPool(pool: pg.Pool, opening: AsyncLocalStorage<OpeningTransaction>): pg.Pool {
  const lend = async (): Promise<pg.PoolClient> => {
    const connection = await pool.connect()
    const asked = opening.getStore()
    if (asked && !asked.loan) {
      const loan = { connection, isOver: false, longest: asked.longest }
      asked.loan = loan
      const { release } = connection
      connection.release = (...how) => {
        loan.isOver = true
        release.apply(connection, how)
      }
    }
    return connection
  }
  return new Proxy(pool, {
    get(_, name) {
      if (name === 'connect') return lend
      const member: unknown = Reflect.get(pool, name)
      return typeof member === 'function' ? member.bind(pool) : member
    },
  })
}

type PoolLimits = Required<Pick<DatabaseOptions, 'max' | 'longest' | 'patience'>>
function openPool(
  url: string,
  {
    max,
    longest,
    patience,
    isPooled = false,
    ...how
  }: PoolLimits & Pick<pg.PoolConfig, 'min' | 'onConnect'> & { isPooled?: boolean },
): pg.Pool {
  return createPool(
    {
      ...how,
      connectionString: url,
      max,
      connectionTimeoutMillis: patience,
      // Detects a frozen server or a network that drops packets.
      query_timeout: 20_000,
      // A pooler refuses settings of a session. It makes these itself (docs/configuration.md).
      ...(!isPooled && {
        statement_timeout: 15_000,
        // Shorter than the transaction's own time limit, whose error could not name the lock as the reason.
        lock_timeout: Math.max(longest - 1_000, longest / 2),
      }),
      keepAlive: true,
      // A connection takes 3 to 8 MiB of the server and 5 ms to open.
      idleTimeoutMillis: 10_000,
      allowExitOnIdle: false,
    },
    { isPooled },
  )
}

/** Connects at the first query. */
export function openDatabase(
  url: string,
  { max = 10, longest = 15_000, patience = 5_000, isGuarded = false, directUrl }: DatabaseOptions = {},
): Database {
  const isPooled = directUrl !== undefined && directUrl !== url
  let lost = 0
  /** Of all pools: each notices the same failover or restart, at its next connection. */
  const seen = new Set<string>()
  const later = () => Math.max(0, seen.size - 1)
  const opened = (address: string, { onConnect, ...how }: Parameters<typeof openPool>[1]) =>
    openPool(address, {
      ...how,
      onConnect: async (client) => {
        await onConnect?.(client)
        // Before the first statement on it. A connection never changes its server, except behind a pooler.
        if (how.isPooled) return
        for (const { server } of (await client.query<{ server: string }>(askIdentity)).rows) seen.add(server)
      },
    }).on('connect', (client) => client.on('error', () => lost++))
  const pool = opened(url, { max, longest, patience, isPooled })
  const direct = isPooled ? opened(directUrl, { max: Math.ceil(max / 2), longest, patience }) : undefined
  // A frozen server is refused within two seconds. A longer patience than usual means a slow machine.
  const limits = { slow: Math.max(400, patience * 0.08), probe: Math.max(600, patience * 0.12) }
  const watched = breaker(pool, limits)
  const sessions = sessionPools((onConnect) => {
    const own = opened(directUrl ?? url, { max: Math.ceil(max / 2), min: 1, longest, patience, onConnect })
    return { pool: own, watched: breaker(own, limits) }
  })
  const inTransaction = new AsyncLocalStorage<boolean>()
  const opening = new AsyncLocalStorage<OpeningTransaction>()
  const prisma = new PrismaClient({
    adapter: new PrismaPg(lendingPool(pool, opening)),
    transactionOptions: { maxWait: patience, timeout: longest },
  })

  function refuseInTransaction(asked: string): void {
    if (isGuarded && inTransaction.getStore())
      throw new Error(`"${asked}" requests a second connection inside a transaction`)
  }
  async function run<R extends pg.QueryResultRow>(
    name: string | undefined,
    text: string,
    values: readonly unknown[],
  ): Promise<pg.QueryResult<R>> {
    refuseInTransaction(name ?? text)
    try {
      return await traceStatement(name, () =>
        pool.query<R>({ ...(name !== undefined && { name }), text, values: [...values] }),
      )
    } catch (error) {
      throw asProblem(error)
    }
  }

  const database: Database = {
    prisma,
    pool,
    directUrl: directUrl ?? url,
    query: async <R extends pg.QueryResultRow>(
      name: string | undefined,
      text: string,
      values: readonly unknown[] = [],
    ) => (await run<R>(name, text, values)).rows,
    async transaction(run, { longest: given, isSnapshot = false } = {}) {
      for (let tries = 1; ; tries++) {
        const asked: OpeningTransaction = { longest: given }
        const begun = async (tx: Transaction) => {
          if (asked.loan) lendTo(tx, asked.loan)
          // It may wait long for a store, but not for locks.
          if (given !== undefined)
            await tx.$executeRaw`SELECT set_config('statement_timeout', ${String(given)}, true), set_config('lock_timeout', ${String(longestLock)}, true)`
          return isGuarded ? inTransaction.run(true, () => run(tx)) : run(tx)
        }
        try {
          return await opening.run(asked, () =>
            prisma.$transaction(begun, {
              ...(given !== undefined && { timeout: given }),
              ...(isSnapshot && { isolationLevel: 'RepeatableRead' }),
            }),
          )
        } catch (error) {
          // A transaction that waited for a lock until the time limit is not retried.
          const isWorthRepeating = isGivenUp(error) && !hasSqlState(error, '55P03')
          if (tries === maxTries || !isWorthRepeating) throw asProblem(error)
        }
      }
    },
    serverEpoch: () => lost + later(),
    servers: () => (isPooled ? 0 : later()),
    session: () => (direct ?? pool).connect(),
    withSettings: (settings) => async (text, values, name) => {
      refuseInTransaction(name ?? text)
      return sessions.run(settings, text, values, name)
    },
    async close() {
      await Promise.all([watched.close(), sessions.close()])
      await prisma.$disconnect()
      await Promise.all([pool.end(), direct?.end()])
    },
  }
  runWith(database, run)
  runWith(prisma, run)
  return database
}
