import type pg from 'pg'
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'
import { createPool } from '#lib/stores/postgres/pool.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { type Limiter, UNREACHABLE, WINDOW_SECONDS, type WindowRecord } from './limiter.ts'
import { type LimiterEvents, limiterPatience, withFallback } from './limiter-fallback.ts'
import { deleteEndedWindows } from './repository.ts'

type StoredWindow = { points: number; expire: string | number | bigint }

/**
 * Returns the end of a window as stored in the row (in `msBeforeNext`, as an instant): a time span measured here would differ between
 * requests.
 */
class Windows extends RateLimiterPostgres {
  /** The library's hook for the rows that its statements return. */
  protected _getRateLimiterRes(_key: string, _points: number, { rows: [row] }: { rows: [StoredWindow] }) {
    return new RateLimiterRes(0, Number(row.expire), row.points)
  }
}

const statusOf = (found: RateLimiterRes): WindowRecord => ({
  consumed: found.consumedPoints,
  resetAt: found.msBeforeNext,
})

/** Connections for rate limits only: a hanging one is dropped within `patience`, and requests never wait for long transactions. */
export const limitsPool = (
  connectionString: string,
  { max = 5, patience = limiterPatience, isPooled = false } = {},
): pg.Pool =>
  createPool(
    {
      connectionString,
      max,
      connectionTimeoutMillis: patience * 0.9,
      query_timeout: patience * 0.9,
      application_name: 'kp-limits',
    },
    { isPooled },
  )

/**
 * Limits that processes share through the table `rate_limit_windows`: one upsert and one round trip, without a transaction. The caller
 * creates the pool with {@link limitsPool} and ends it after `close`. Replicas whose clocks differ by a second open the next window that
 * much earlier or later; the count of each window stays exact.
 */
export function postgresLimiter(pool: pg.Pool, events?: LimiterEvents, patience?: number): Limiter {
  const windows = new Windows({
    storeClient: pool,
    storeType: 'pool',
    tableName: 'rate_limit_windows',
    tableCreated: true,
    clearExpiredByTimeout: false, // the worker purges, once for all replicas
    keyPrefix: '',
    points: UNREACHABLE,
    duration: WINDOW_SECONDS,
  })
  return withFallback(
    {
      store: 'postgres',
      consume: async (key) => statusOf(await windows.consume(key)),
      async peek(key) {
        const found = await windows.get(key)
        return found ? statusOf(found) : undefined
      },
      reset() {},
      // The caller ends the pool; until then its connections may still break.
      async close() {},
    },
    events,
    patience,
  )
}

/**
 * Deletes windows that have ended; returns how many. `now` is system time, like the limiter's: with a business clock set ahead, it would
 * delete open windows.
 */
export const purgeExpiredWindows = (on: Queryable, now: Date): Promise<number> =>
  deleteEndedWindows(on, { now: String(now.getTime()) })
