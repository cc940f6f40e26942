import { AsyncLocalStorage } from 'node:async_hooks'
import { PrismaPg } from '@prisma/adapter-pg'
import type pg from 'pg'
import type { Transaction } from '#lib/kernel/context.ts'
import { traceStatement } from '#lib/kernel/tracing.ts'
import { type Prisma, PrismaClient } from '../../../generated/prisma/client.ts'
import { breaker } from './breaker.ts'
import { hasSqlState } from './fault.ts'
import { createPool } from './pool.ts'
import { asProblem, isGivenUp } from './problems.ts'
import { type Settings, sessionPools } from './session-pools.ts'
import { type Loan, lendTo, type RunQuery, runWith } from './statement.ts'

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

export interface DatabaseOptions {
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
