import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { tierLimits } from '#lib/domains/tokens/rules.ts'
import type { Measuring } from '#lib/kernel/measure.ts'

export const WINDOW_SECONDS = 60
/** Disables the library's own limit: limits differ from token to token, so the count is compared here. */
export const UNREACHABLE = Number.MAX_SAFE_INTEGER

export interface RateLimitWindow {
  limit: number
  /** Requests counted in this window, including rejected ones. */
  consumed: number
  remaining: number
  /** When the window ends: the same instant for all of its requests, on every replica. */
  resetAt: Date
  /** Returned by `consume`: whether this request is within the limit. Returned by `peek`: whether the next request would be. */
  allowed: boolean
}

/**
 * Counts requests in fixed windows of one minute; a key's window opens with its first request. Exact under concurrency. It uses system
 * time, not the business clock. A key has at most 200 characters.
 */
export interface Limiter {
  readonly store: 'memory' | 'postgres' | 'redis'
  /** Counts one request in the key's window. Never throws when a store is down. */
  consume(key: string, limit: number): Promise<RateLimitWindow>
  /** The current window, without counting; if none is open, one that would open now. */
  peek(key: string, limit: number): Promise<RateLimitWindow>
  /** True while the shared store is down and limits are per process. */
  readonly degraded: boolean
  close(): Promise<void>
}

/** A store's record of an open window; `resetAt` in Unix milliseconds. */
export interface WindowRecord {
  consumed: number
  resetAt: number
}

const windowOf = (limit: number, { consumed, resetAt }: WindowRecord, allowed: boolean): RateLimitWindow => ({
  limit,
  consumed,
  remaining: Math.max(0, limit - consumed),
  resetAt: new Date(resetAt),
  allowed,
})

/** The window of a request that was counted. */
export const consumedWindow = (limit: number, record: WindowRecord): RateLimitWindow =>
  windowOf(limit, record, record.consumed <= limit)

/** The window as `peek` returns it. */
export function peekedWindow(limit: number, record: WindowRecord | undefined): RateLimitWindow {
  const shown = record ?? { consumed: 0, resetAt: Date.now() + WINDOW_SECONDS * 1000 }
  return windowOf(limit, shown, shown.consumed < limit)
}

/** Limits of one process. A key is deleted when its window ends, so memory is bounded by one minute's keys. */
export function memoryLimiter(): Limiter {
  const counter = new RateLimiterMemory({ points: UNREACHABLE, duration: WINDOW_SECONDS })

  // The library returns the remaining time of a window, computed synchronously. If the clock shows the same millisecond before and after,
  // the end is exact; otherwise `get`, which does not count, is repeated.
  async function state(key: string, ask: () => Promise<RateLimiterRes | null>): Promise<WindowRecord | undefined> {
    let asked = Date.now()
    let answer = ask()
    while (Date.now() !== asked) {
      asked = Date.now()
      answer = counter.get(key)
    }
    const found = await answer
    return found && found.msBeforeNext > 0
      ? { consumed: found.consumedPoints, resetAt: asked + found.msBeforeNext }
      : undefined
  }

  return {
    store: 'memory',
    degraded: false,
    async consume(key, limit) {
      const fresh = { consumed: 1, resetAt: Date.now() + WINDOW_SECONDS * 1000 }
      return consumedWindow(limit, (await state(key, () => counter.consume(key))) ?? fresh)
    },
    peek: async (key, limit) => peekedWindow(limit, await state(key, () => counter.get(key))),
    close: async () => {},
  }
}

/** Reports whether the limits are shared by all processes. */
export const limiterMeasures = (limiter: Limiter): Measuring => ({
  name: 'limits',
  measure: async () => [
    {
      name: 'kp_limits_degraded',
      help: '1 if limits are counted per process because their store does not answer, otherwise 0',
      type: 'gauge',
      samples: [{ value: limiter.degraded ? 1 : 0 }],
    },
  ],
})

type RequestClass = 'read' | 'write'

/** An unused window of an address, for responses to requests that no window counts. */
export function uncountedWindow(requestClass: RequestClass): RateLimitWindow {
  const limit = requestClass === 'read' ? tierLimits.anonymous.reads : tierLimits.anonymous.writes
  return { limit, consumed: 0, remaining: limit, resetAt: new Date(Date.now() + 60_000), allowed: true }
}

/**
 * The limit headers of a response: the customary three (`X-RateLimit-Reset` in Unix seconds), the pair of
 * draft-ietf-httpapi-ratelimit-headers (structured fields, RFC 9651: `q` and `r` in requests, `w` and `t` in seconds), and `Retry-After`
 * in seconds for a rejected request (RFC 9110 §10.2.3). `now` is system time, like the limiter's.
 */
export function limitHeaders(
  window: RateLimitWindow,
  requestClass: RequestClass,
  now = new Date(),
): Record<string, string> {
  const left = Math.ceil((window.resetAt.getTime() - now.getTime()) / 1000)
  const wait = Math.min(WINDOW_SECONDS, Math.max(1, left)) // also if the clocks of two machines differ
  return {
    'X-RateLimit-Limit': String(window.limit),
    'X-RateLimit-Remaining': String(window.remaining),
    'X-RateLimit-Reset': String(Math.ceil(window.resetAt.getTime() / 1000)),
    'RateLimit-Policy': `"${requestClass}";q=${window.limit};w=${WINDOW_SECONDS}`,
    RateLimit: `"${requestClass}";r=${window.remaining};t=${wait}`,
    ...(!window.allowed && { 'Retry-After': String(wait) }),
  }
}
