import pg from 'pg'
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'
import { type Limiter, type Standing, UNREACHABLE, WINDOW_SECONDS } from './limiter.ts'
import { type LimiterEvents, limiterPatience, withFallback } from './limiter-fallback.ts'

type StoredWindow = { points: number; expire: string | number | bigint }

/** Reads the end of a window as the row has it (`msBeforeNext` is an instant then): time left, measured here, would differ by request. */
class Windows extends RateLimiterPostgres {
  /** The library's hook for what its statements return. */
  protected _getRateLimiterRes(_key: string, _points: number, { rows: [row] }: { rows: [StoredWindow] }) {
    return new RateLimiterRes(0, Number(row.expire), row.points)
  }
}

const standingOf = (found: RateLimiterRes): Standing => ({
  consumed: found.consumedPoints,
  resetAt: found.msBeforeNext,
})

/** Connections for the limits alone: one that hangs is dropped within `patience`, and requests never queue behind long transactions. */
export const limitsPool = (connectionString: string, { max = 5, patience = limiterPatience } = {}): pg.Pool =>
  new pg.Pool({
    connectionString,
    max,
    connectionTimeoutMillis: patience * 0.9,
    query_timeout: patience * 0.9,
    application_name: 'kp-limits',
  })

/**
 * Limits that processes share through the table `rate_limit_windows`: one upsert, one round trip, no transaction around it. The pool
 * is the caller's, to be made with {@link limitsPool} and to be ended after `close`. Replicas whose clocks differ by a second open
 * the next window that much early or late; the count of each window stays exact.
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
  pool.on('error', () => {}) // an idle connection that breaks would end the process; the next statement tells
  return withFallback(
    {
      store: 'postgres',
      consume: async (key) => standingOf(await windows.consume(key)),
      async peek(key) {
        const found = await windows.get(key)
        return found ? standingOf(found) : undefined
      },
      reset() {},
      // The pool is the caller's, and so is its end; until then its connections may still break.
      async close() {},
    },
    events,
    patience,
  )
}

/** Deletes windows that have ended; gives their number. `now` is system time, as the limiter's: a clock put forward would end open windows. */
export async function purgeExpiredWindows(pool: Pick<pg.Pool, 'query'>, now: Date): Promise<number> {
  const { rowCount } = await pool.query('DELETE FROM rate_limit_windows WHERE expire <= $1', [now.getTime()])
  return rowCount ?? 0
}
