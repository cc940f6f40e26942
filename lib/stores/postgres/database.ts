import { AsyncLocalStorage } from 'node:async_hooks'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type Prisma, PrismaClient } from '../../../generated/prisma/client.ts'
import { breaker } from './breaker.ts'
import { hasSqlState } from './fault.ts'

declare module '#lib/kernel/context.ts' {
  /** A transaction is Prisma's; domains touch their own tables through it. */
  interface Transaction extends Prisma.TransactionClient {}
}

/** SQLSTATE classes and codes that mean the database is not there or cannot take work now. */
const unavailable = /^(08...|57P0[1-3]|57014|53[0-9A-Z]{3}|25006)$/
const network = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'ENOTFOUND', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN'])
const prismaDown = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028'])

/** As Prisma's adapter calls faults of the connection. */
const adapterDown = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections'])
const saysDown =
  /Connection terminated|Query read timeout|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|server closed the connection|Can't reach database server|not queryable/i

/** Whether the error, or one that it wraps, is what `isIt` looks for; Prisma and its adapter wrap what the driver threw. */
function isWithin(error: unknown, isIt: (one: Record<string, unknown>) => boolean, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > 5) return false
  const one = error as Record<string, unknown>
  if (isIt(one)) return true
  const { cause, meta } = one
  const wrapped = typeof meta === 'object' && meta !== null && 'driverAdapterError' in meta && meta.driverAdapterError
  return isWithin(cause, isIt, depth + 1) || isWithin(wrapped, isIt, depth + 1)
}

/** Whether the error says that the database went away or takes no work, rather than that we asked it something wrong. */
export const isDatabaseDown = (error: unknown): boolean =>
  isWithin(error, (one) => {
    const codes = [one.code, one.originalCode].map(String)
    if (codes.some((code) => unavailable.test(code) || network.has(code) || prismaDown.has(code))) return true
    return adapterDown.has(String(one.kind)) || (one instanceof Error && saysDown.test(one.message))
  })

/** disk_full */
const isFull = (error: unknown): boolean =>
  isWithin(error, ({ code, originalCode }) => code === '53100' || originalCode === '53100')
/** How long readiness reports a full disk after the last refused write, in milliseconds. */
const fullFor = 30_000
let fullAt = Number.NEGATIVE_INFINITY
/** Whether the database refused a write lately because its disk is full. */
export const isDiskFull = (): boolean => performance.now() - fullAt < fullFor
function full(cause: unknown): Problem {
  fullAt = performance.now()
  return new Problem('unavailable', {
    detail: 'The disk of the database is full. Nothing of this was kept; send it again later.',
    headers: { 'Retry-After': '60' },
    cause,
  })
}

/** deadlock_detected, serialization_failure, lock_not_available; as PostgreSQL and as Prisma call them. */
const givenUp = new Set(['40P01', '40001', '55P03', 'P2034', 'TransactionWriteConflict'])

/** Whether the database gave the transaction up for another's sake: nothing of it was kept, and it may be tried again. */
export const isGivenUp = (error: unknown): boolean =>
  isWithin(error, ({ code, originalCode, kind }) =>
    [code, originalCode, kind].some((name) => givenUp.has(String(name))),
  )

/** What the error means to whoever asked: `fenced` by the write fence, `erased` for an id that is never taken again, `unavailable` when the database went away or gave it up, else itself. */
export const asProblem = (error: unknown): unknown =>
  Problem.is(error)
    ? error
    : hasSqlState(error, 'KP423')
      ? new Problem(
          'fenced',
          'An erasure is under way: nothing more is written for whom it is about. Nothing of this was kept.',
        )
      : hasSqlState(error, 'KP410')
        ? new Problem(
            'erased',
            'Something with this id was erased, and the id is never used again. Nothing of this was kept.',
          )
        : isGivenUp(error)
          ? new Problem('unavailable', {
              detail: 'Others were changing the same; nothing of this was kept. Send it again.',
              headers: { 'Retry-After': '1' },
              cause: error,
            })
          : isFull(error)
            ? full(error)
            : isDatabaseDown(error)
              ? new Problem('unavailable', {
                  detail:
                    'The database does not answer. Whether this was carried out is not known: look before you repeat it, or repeat it with the same Idempotency-Key.',
                  headers: { 'Retry-After': '5' },
                  cause: error,
                })
              : error

/** The connection that a transaction has; it is another's as soon as the pool has it back, also while its transaction's code still runs. */
interface Loan {
  connection: pg.PoolClient
  isOver: boolean
  /** Milliseconds that a statement of it may take, where it is another's time than everybody's. */
  longest: number | undefined
}
/** Of a transaction that is given up for another's sake. */
const mostTries = 3
const loans = new WeakMap<Transaction, Loan>()

/**
 * One statement of an open transaction, on its connection and past Prisma, which spends more on a parameter of megabytes than the
 * database does. Prepared once per connection under its name. Never beside another statement of the same transaction. Throws
 * `unavailable` when the transaction took too long and was rolled back.
 */
export async function queryWithin<R extends pg.QueryResultRow>(
  tx: Transaction,
  name: string,
  text: string,
  values: readonly unknown[],
): Promise<R[]> {
  const loan = loans.get(tx)
  if (!loan) throw new Error(`"${name}" was asked for outside a transaction of ours`)
  if (loan.isOver)
    throw new Problem('unavailable', {
      detail: 'It took too long, so nothing of it was kept. Send less at once, or send it again later.',
      headers: { 'Retry-After': '5' },
    })
  const asked = { name, text, values: [...values], ...(loan.longest !== undefined && { query_timeout: loan.longest }) }
  return (await loan.connection.query<R>(asked)).rows
}

/** Our tables through two hands on one pool: Prisma, and plain SQL where a round trip counts. */
export interface Database {
  prisma: PrismaClient
  pool: pg.Pool
  /** One statement; with a name it is prepared once per connection. Throws `unavailable` when the database is down. */
  query<R extends pg.QueryResultRow>(name: string | undefined, text: string, values?: readonly unknown[]): Promise<R[]>
  /**
   * One that the database gives up for another's sake is run again, so `run` keeps nothing of a former try. `longest`: milliseconds that it
   * may take, for what waits for a store of others; each keeps a connection for so long, so few may run at once. `isSnapshot`: all its
   * statements see what was committed when the first began.
   */
  transaction<T>(run: (tx: Transaction) => Promise<T>, how?: { longest?: number; isSnapshot?: boolean }): Promise<T>
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** Connections of this process at most. */
  max?: number
  /** How long a transaction may take before it is rolled back, in milliseconds. */
  longest?: number
  /** How long a statement or a transaction waits for a free connection, in milliseconds. */
  patience?: number
  /**
   * Throws where code inside a transaction asks for a second connection: as many such requests as there are connections would wait for
   * each other. For development and tests.
   */
  isGuarded?: boolean
}

/** How long a transaction that may take longer than others waits for a lock, in milliseconds. */
const longestLock = 15_000

/** Opens nothing until the first query. */
export function openDatabase(
  url: string,
  { max = 10, longest = 15_000, patience = 5_000, isGuarded = false }: DatabaseOptions = {},
): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: patience,
    // A server that froze, or a network that swallows, is noticed: nobody waits longer.
    query_timeout: 20_000,
    statement_timeout: 15_000,
    // Before its transaction's own end, which could not say what it waited for.
    lock_timeout: Math.max(longest - 1_000, longest / 2),
    keepAlive: true,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: false,
  })
  // An idle connection that the server ends is no error of ours: the pool opens another.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  // A patience that is longer than usual belongs to a slow machine.
  const watched = breaker(pool, { slow: Math.max(2_000, patience * 0.4), probe: Math.max(2_000, patience * 0.4) })
  const inTransaction = new AsyncLocalStorage<boolean>()
  const opening = new AsyncLocalStorage<{ loan?: Loan; longest: number | undefined }>()
  // Prisma takes a transaction's connection from here, where it is noted for those who need it themselves.
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
  const lender = new Proxy(pool, {
    get(_, name) {
      if (name === 'connect') return lend
      const member: unknown = Reflect.get(pool, name)
      return typeof member === 'function' ? member.bind(pool) : member
    },
  })
  const prisma = new PrismaClient({
    adapter: new PrismaPg(lender),
    transactionOptions: { maxWait: patience, timeout: longest },
  })

  return {
    prisma,
    pool,
    async query(name, text, values = []) {
      if (isGuarded && inTransaction.getStore())
        throw new Error(`"${name ?? text}" asks for a second connection inside a transaction`)
      try {
        return (await pool.query({ ...(name !== undefined && { name }), text, values: [...values] })).rows
      } catch (error) {
        throw asProblem(error)
      }
    },
    async transaction(run, { longest: given, isSnapshot = false } = {}) {
      for (let tries = 1; ; tries++) {
        const asked: { loan?: Loan; longest: number | undefined } = { longest: given }
        const begun = async (tx: Transaction) => {
          if (asked.loan) loans.set(tx, asked.loan)
          // It waits for a store, not for others' locks.
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
          // Who waited for a lock so long has waited long enough.
          const isWorthRepeating = isGivenUp(error) && !hasSqlState(error, '55P03')
          if (tries === mostTries || !isWorthRepeating) throw asProblem(error)
        }
      }
    },
    async close() {
      watched.close()
      await prisma.$disconnect()
      await pool.end()
    },
  }
}
