import { Problem } from '#lib/kernel/problem.ts'
import { hasSqlState } from './fault.ts'

/** SQLSTATE classes and codes of a database that is unreachable or cannot accept work now. */
const unavailable = /^(08...|57P0[1-3]|57014|53[0-9A-Z]{3}|25006)$/
const network = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'ENOTFOUND', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN'])
const prismaDown = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028'])

/** The names of connection errors in Prisma's adapter. */
const adapterDown = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TooManyConnections'])
const saysDown =
  /Connection terminated|Query read timeout|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|server closed the connection|Can't reach database server|not queryable/i

/** Whether `isIt` matches the error or one that it wraps; Prisma and its adapter wrap the driver's errors. */
function isWithin(error: unknown, isIt: (one: Record<string, unknown>) => boolean, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > 5) return false
  const one = error as Record<string, unknown>
  if (isIt(one)) return true
  const { cause, meta } = one
  const wrapped = typeof meta === 'object' && meta !== null && 'driverAdapterError' in meta && meta.driverAdapterError
  return isWithin(cause, isIt, depth + 1) || isWithin(wrapped, isIt, depth + 1)
}

/** Whether the database is unreachable or rejects work, as opposed to an error in our query. */
export const isDatabaseDown = (error: unknown): boolean =>
  isWithin(error, (one) => {
    const codes = [one.code, one.originalCode].map(String)
    if (codes.some((code) => unavailable.test(code) || network.has(code) || prismaDown.has(code))) return true
    return adapterDown.has(String(one.kind)) || (one instanceof Error && saysDown.test(one.message))
  })

/** disk_full */
const isFull = (error: unknown): boolean =>
  isWithin(error, ({ code, originalCode }) => code === '53100' || originalCode === '53100')
/** For how many milliseconds after a rejected write readiness reports a full disk. */
const fullFor = 30_000
let fullAt = Number.NEGATIVE_INFINITY
/** Whether the database recently rejected a write because its disk is full. */
export const isDiskFull = (): boolean => performance.now() - fullAt < fullFor
function full(cause: unknown): Problem {
  fullAt = performance.now()
  return new Problem('unavailable', {
    detail: 'The database disk is full, so nothing was stored. Send the request again later.',
    headers: { 'Retry-After': '60' },
    cause,
  })
}

/** deadlock_detected, serialization_failure, lock_not_available, by the names of PostgreSQL and of Prisma. */
const givenUp = new Set(['40P01', '40001', '55P03', 'P2034', 'TransactionWriteConflict'])

/** Whether the database aborted the transaction because of another one: nothing was stored, and it can be retried. */
export const isGivenUp = (error: unknown): boolean =>
  isWithin(error, ({ code, originalCode, kind }) =>
    [code, originalCode, kind].some((name) => givenUp.has(String(name))),
  )

/**
 * Converts an error for the caller: `fenced` for the write fence, `erased` for an id that can never be used again, `unavailable` if the
 * database is unreachable or aborted the transaction; other errors are returned unchanged.
 */
export const asProblem = (error: unknown): unknown =>
  Problem.is(error)
    ? error
    : hasSqlState(error, 'KP423')
      ? new Problem(
          'fenced',
          'Data about this person or agent is being erased, so nothing was stored. Wait until the erasure is complete.',
        )
      : hasSqlState(error, 'KP410')
        ? new Problem(
            'erased',
            'A record with this id was erased, and its id cannot be used again. Nothing was stored. Use a new id.',
          )
        : isGivenUp(error)
          ? new Problem('unavailable', {
              detail:
                'Another request changed the same data at the same time, so nothing was stored. Send the request again.',
              headers: { 'Retry-After': '1' },
              cause: error,
            })
          : isFull(error)
            ? full(error)
            : isDatabaseDown(error)
              ? new Problem('unavailable', {
                  detail:
                    'The database does not answer, so the result of this request is unknown. Check whether it took effect before you repeat it, or repeat it with the same Idempotency-Key.',
                  headers: { 'Retry-After': '5' },
                  cause: error,
                })
              : error
